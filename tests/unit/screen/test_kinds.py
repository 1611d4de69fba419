"""One planted secret for each kind, made of pieces so that no scanner trips over this file."""

import random
from base64 import b64encode

import pytest

from carrel.screen.secrets import KINDS, find, redact
from carrel.screen.shapes import SHAPES

DIGITS = "0123456789"
HEX = DIGITS + "abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + DIGITS
ANY = UPPER + "abcdefghijklmnopqrstuvwxyz"


def some(size, alphabet=ANY):
    """The same random characters in every run, with one of each sort at the start."""
    chosen = random.Random(size * 31 + len(alphabet))
    start = "".join(c for c in ("x7Q" if alphabet == ANY else "") if c in alphabet)
    return start + "".join(chosen.choices(alphabet, k=size - len(start)))


def dashed(*sizes):
    return "-".join(some(size, HEX) for size in sizes)


UUID = dashed(8, 4, 4, 4, 12)


def pem(what, size=320):
    body = some(size, ANY + "+/")
    lines = "\n".join(body[i : i + 64] for i in range(0, size, 64))
    return f"-----BEGIN {what}" + f"-----\n{lines}\n-----END {what}-----"


BY_FORM = {
    "age_secret_key": "AGE-SECRET-" + "KEY-1" + some(58, UPPER),
    "airtable_token": "pat" + some(14) + "." + some(64, HEX),
    "alibaba_access_key": "LT" + "AI" + some(20),
    "anthropic_key": "sk-" + "ant-" + "api03-" + some(80, ANY + "_-") + "AA",
    "artifactory_key": "AK" + "Cp" + some(69),
    "asana_token": "2/" + some(16, DIGITS) + "/" + some(16, DIGITS) + ":" + some(32, HEX),
    "atlassian_token": "ATA" + "TT3" + some(180) + "=" + "1A2B3C4D",
    "aws_access_key": "AK" + "IA" + some(16, UPPER),
    "aws_bedrock_key": "AB" + "SK" + some(128),
    "azure_client_secret": "abc" + "8Q~" + some(34),
    "bitbucket_token": "AT" + "BB" + some(32),
    "brevo_key": "xkey" + "sib-" + some(64, HEX) + "-" + some(16),
    "buildkite_token": "bk" + "ua_" + some(40, HEX),
    "circleci_token": "CCI" + "PAT_" + some(22) + "_" + some(40, HEX),
    "cloudflare_token": "v1.0-" + some(24, HEX) + "-" + some(146, HEX),
    "contentful_token": "CF" + "PAT-" + some(43),
    "credit_card": "4111 1111 " + "1111 1111",
    "databricks_token": "da" + "pi" + some(32, HEX),
    "digitalocean_token": "dop" + "_v1_" + some(64, HEX),
    "discord_token": "M" + some(23) + "." + some(6) + "." + some(38),
    "docker_token": "dckr" + "_pat_" + some(27),
    "doppler_token": "dp." + "st.dev." + some(43),
    "dropbox_token": "sl." + some(135),
    "dynatrace_token": "dt0" + "c01." + some(24, UPPER) + "." + some(64, UPPER),
    "e2b_key": "e2" + "b_" + some(40, HEX),
    "easypost_key": "EZ" + "AK" + some(54),
    "elevenlabs_key": "s" + "k_" + some(48, HEX),
    "facebook_token": "EA" + "AC" + some(120),
    "figma_token": "fig" + "d_" + some(40),
    "firebase_key": "AA" + "AA" + some(7) + ":APA" + "91b" + some(134),
    "firecrawl_key": "f" + "c-" + some(32, HEX),
    "fly_token": "fo" + "1_" + some(43),
    "github_app_token": "gh" + "s_" + some(36),
    "github_fine_grained_token": "github_" + "pat_" + some(22) + "_" + some(59),
    "github_oauth_token": "gh" + "o_" + some(36),
    "github_token": "gh" + "p_" + some(36),
    "gitlab_token": "gl" + "pat-" + some(20),
    "google_access_token": "ya" + "29." + some(120),
    "google_api_key": "AI" + "za" + some(35),
    "google_client_secret": "GOC" + "SPX-" + some(28),
    "google_refresh_token": "1/" + "/0" + some(60),
    "grafana_token": "gl" + "sa_" + some(32) + "_" + some(8, HEX),
    "groq_key": "gs" + "k_" + some(52),
    "heroku_key": "HR" + "KU-" + some(60),
    "high_entropy": "9v" + "Kq" + "Rt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0",
    "hubspot_token": "pat-" + "na1-" + UUID,
    "huggingface_token": "h" + "f_" + some(34),
    "jina_key": "ji" + "na_" + some(60),
    "jwt": "ey" + "J" + some(33) + ".ey" + "J" + some(60) + "." + some(43),
    "langfuse_key": "sk-" + "lf-" + UUID,
    "langsmith_key": "lsv2" + "_pt_" + some(32, HEX) + "_" + some(10, HEX),
    "linear_key": "lin_" + "api_" + some(40),
    "mailchimp_key": some(32, HEX) + "-us" + "12",
    "mailgun_key": "key" + "-" + some(32, HEX),
    "mapbox_token": "s" + "k.ey" + "J" + some(70) + "." + some(22),
    "neon_key": "na" + "pi_" + some(64, HEX),
    "netlify_token": "nf" + "p_" + some(36),
    "new_relic_key": "NR" + "AK-" + some(27, UPPER),
    "notion_token": "ntn" + "_" + some(46),
    "npm_token": "npm" + "_" + some(36),
    "nvidia_key": "nv" + "api-" + some(64),
    "onepassword_token": "ops" + "_ey" + "J" + some(200),
    "openai_key": "sk" + "-" + some(48),
    "openai_project_key": "sk-" + "proj-" + some(120, ANY + "_-"),
    "openrouter_key": "sk-" + "or-v1-" + some(64, HEX),
    "perplexity_key": "pp" + "lx-" + some(48),
    "pgp_private_key": pem("PGP PRIVATE " + "KEY BLOCK"),
    "pinecone_key": "pc" + "sk_" + some(6) + "_" + some(63),
    "plaid_token": "access-" + "production-" + UUID,
    "planetscale_token": "pscale" + "_tkn_" + some(43),
    "posthog_key": "ph" + "x_" + some(43),
    "postman_key": "PM" + "AK-" + some(24, HEX) + "-" + some(34, HEX),
    "prefect_key": "pn" + "u_" + some(36),
    "private_key": pem("RSA PRIVATE " + "KEY"),
    "pulumi_token": "pu" + "l-" + some(40, HEX),
    "pypi_token": "py" + "pi-AgE" + some(150),
    "render_key": "rn" + "d_" + some(32),
    "replicate_token": "r" + "8_" + some(37),
    "resend_key": "r" + "e_" + some(8) + "_" + some(24),
    "rubygems_key": "rubygems" + "_" + some(48, HEX),
    "sendgrid_key": "S" + "G." + some(22) + "." + some(43),
    "sentry_token": "sntr" + "yu_" + some(64, HEX),
    "shopify_token": "shp" + "at_" + some(32, HEX),
    "slack_token": "xo" + "xb-" + some(12, DIGITS) + "-" + some(24),
    "sonarqube_token": "sq" + "p_" + some(40, HEX),
    "sourcegraph_token": "sg" + "p_" + some(16, HEX) + "_" + some(40, HEX),
    "square_token": "sq0" + "atp-" + some(22),
    "ssh_private_key": pem("OPENSSH PRIVATE " + "KEY"),
    "stripe_live_key": "sk" + "_live_" + some(24),
    "stripe_test_key": "rk" + "_test_" + some(24),
    "supabase_key": "sb" + "p_" + some(40, HEX),
    "tailscale_key": "tskey" + "-auth-" + some(30),
    "tavily_key": "tv" + "ly-" + some(32),
    "telegram_bot_token": "110201543" + ":AA" + some(33),
    "terraform_token": some(14) + ".atlas" + "v1." + some(67),
    "trello_token": "AT" + "TA" + some(64, HEX),
    "twilio_key": "S" + "K" + some(32, HEX),
    "typeform_token": "tf" + "p_" + some(44) + "_" + some(14),
    "vault_token": "hv" + "s." + some(95),
    "vercel_token": "vc" + "p_" + some(56),
    "wandb_key": "wandb" + "_v1_" + some(60),
    "webhook_secret": "wh" + "sec_" + some(32),
    "xai_key": "xa" + "i-" + some(80),
    "yandex_key": "AQ" + "VN" + some(36),
}
"""What is a secret wherever it stands."""

BY_CONTEXT = {
    "api_key": ('api_key = "', some(20), '"'),
    "aws_secret_key": ("aws_secret_access_key = ", some(36) + "/+aB", "\n"),
    "aws_session_token": ("export AWS_SESSION_TOKEN=", some(300), ""),
    "azure_sas": ("https://a.blob.core.windows.net/c?sv=2024&sig=", some(43) + "%3D", "&se=2030"),
    "azure_storage_key": (
        "AccountName=mine;AccountKey=",
        some(86) + "==",
        ";EndpointSuffix=core.windows.net",
    ),
    "basic_auth": ("Authorization: Basic ", b64encode(b"tom:correct-horse").decode(), "\r\n"),
    "bearer_token": ("Authorization: Bearer ", some(24), "' https://example.com"),
    "cloudflare_token": ("CLOUDFLARE_API_TOKEN=", some(40), "\n"),
    "database_password": ("postgresql+psycopg://app:", "s3cr3t-Pa55", "@db.example.com:5432/prod"),
    "datadog_key": ("DD_API_KEY=", some(32, HEX), "\n"),
    "discord_webhook": ("https://discord.com/api/webhooks/", some(18, DIGITS) + "/" + some(68), ")"),
    "heroku_key": ("The heroku api key is ", UUID, "."),
    "password": ("password: ", "hunter2", "\n"),
    "secret": ('"client_secret": "', some(24), '",'),
    "sentry_dsn": ("https://", some(32, HEX), "@o123456.ingest.sentry.io/4500000000000000"),
    "slack_webhook": ("https://hooks.slack.com/services/", "T0A1B2C3D/" + "B0A1B2C3D/" + some(24), ">"),
    "teams_webhook": (
        "https://x.webhook.office.com/webhookb2/",
        UUID + "/" + some(32, HEX) + "/" + UUID,
        "",
    ),
    "token": ("?page=2&token=", some(20), "&sort=asc"),
    "twilio_key": ("TWILIO_AUTH_TOKEN=", some(32, HEX), "\n"),
    "url_password": ("https://tom:", "pa55w0rd", "@example.com/feed"),
}
"""What is a secret by what stands before it, which stays."""


def mark(kind):
    return f"[REDACTED:{kind.upper()}]"


def test_every_kind_is_planted_here_and_there_are_many():
    assert set(BY_FORM) | set(BY_CONTEXT) == set(KINDS)
    assert set(SHAPES) <= set(KINDS)
    assert len(KINDS) >= 90


def test_every_kind_is_described_in_one_sentence():
    for kind, sentence in KINDS.items():
        assert kind == kind.lower()
        assert sentence[0].isupper()
        assert sentence.endswith(".")


@pytest.mark.parametrize("kind", sorted(BY_FORM))
def test_a_secret_is_known_by_its_form_wherever_it_stands(kind):
    secret = BY_FORM[kind]
    for before, after in (
        ("", ""),
        ("Use ", " for now."),
        ('{"x":"', '"}'),
        ("密钥", "。"),
        ("`", "`"),
        ("(", ")"),
    ):
        redacted = redact(before + secret + after)
        assert redacted.text == before + mark(kind) + after
        assert redacted.kinds == (kind,)


@pytest.mark.parametrize("kind", sorted(BY_CONTEXT))
def test_a_secret_is_known_by_what_stands_before_it(kind):
    before, secret, after = BY_CONTEXT[kind]
    redacted = redact(f"First.\n{before}{secret}{after}\nLast.")
    assert redacted.text == f"First.\n{before}{mark(kind)}{after}\nLast."
    assert redacted.kinds == (kind,)


@pytest.mark.parametrize("kind", sorted({*SHAPES} & {*BY_FORM}))
def test_a_form_that_is_cut_short_or_part_of_a_word_is_not_taken_for_the_whole(kind):
    secret = BY_FORM[kind]
    assert kind not in [found.kind for found in find(f"see {secret[:9]} there")]
    assert kind not in [found.kind for found in find(f"seeX{secret}")]
