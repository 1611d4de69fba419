"""The forms that vendors give their keys: what is a secret at sight, without context and without a guess.

Each is linear: what repeats is one class of characters taken to its end, and a form is only tried where a
word begins. `KINDS` says in words what each one is.
"""

import re
from collections.abc import Iterator
from functools import cache

from carrel.screen import entropy
from carrel.screen.candidate import CERTAIN, GUESSED, Candidate

SHORTEST = 20
"""No form is shorter, so that ordinary words are never looked at."""

_END = r"(?![A-Za-z0-9])"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

SHAPES: dict[str, str] = {
    "age_secret_key": rf"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{{50,}}+{_END}",
    "airtable_token": r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
    "alibaba_access_key": rf"LTAI[A-Za-z0-9]{{16,20}}+{_END}",
    "anthropic_key": r"sk-ant-[\w-]{20,}+",
    "asana_token": r"[12]/[0-9]{10,}+(?:/[0-9]{10,}+)?:[0-9a-f]{32}",
    "artifactory_key": r"AKCp[A-Za-z0-9]{60,}+",
    "atlassian_token": r"AT[A-Z]{2}T3[\w-]{50,}+(?:=[0-9A-F]{8})?",
    "aws_access_key": rf"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}{_END}",
    "aws_bedrock_key": r"ABSK[A-Za-z0-9+/]{100,}+={0,2}",
    "azure_client_secret": r"[\w.~-]{3}[0-9]Q~[\w.~-]{31,34}(?![\w~])",
    "azure_sas": r"[\w%+/-]{40,}+={0,2}",
    "bitbucket_token": r"ATBB[A-Za-z0-9]{28,}+",
    "brevo_key": r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    "buildkite_token": rf"bkua_[0-9a-f]{{40}}{_END}",
    "circleci_token": rf"CCI(?:PAT|PRJ)_[A-Za-z0-9]{{20,}}+_[0-9a-f]{{40}}{_END}",
    "cloudflare_token": rf"v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{100,}}+|cf(?:k|at|ut)_[A-Za-z0-9]{{40,}}+{_END}",
    "contentful_token": r"CFPAT-[\w-]{40,}+",
    "databricks_token": rf"dapi[0-9a-f]{{32}}(?:-[0-9]{{1,2}})?{_END}",
    "digitalocean_token": rf"do[opr]_v1_[0-9a-f]{{64}}{_END}",
    "discord_token": r"[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,}+",
    "discord_webhook": r"[0-9]{15,21}/[\w-]{50,}+",
    "docker_token": r"dckr_(?:pat|oat)_[\w-]{20,}+",
    "doppler_token": r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]++\.)?[A-Za-z0-9]{40,}+",
    "dropbox_token": r"sl\.(?:u\.)?[\w-]{120,}+",
    "dynatrace_token": rf"dt0[a-z][0-9]{{2}}\.[A-Z0-9]{{24}}\.[A-Z0-9]{{64}}{_END}",
    "e2b_key": rf"e2b_[0-9a-f]{{40}}{_END}",
    "easypost_key": rf"EZ[AT]K[A-Za-z0-9]{{54}}{_END}",
    "elevenlabs_key": rf"sk_[0-9a-f]{{48}}{_END}",
    "square_token": r"sq0(?:atp|csp)-[\w-]{22,}+|EAAA(?<![+/].{4})[\w-]{60}(?![\w-])",
    "facebook_token": r"EAA[A-Z](?<![+/].{4})[A-Za-z0-9]{60,}+",
    "figma_token": r"fig[dor]_[\w-]{36,}+",
    "firebase_key": r"AAAA[\w-]{7}:APA91b[\w-]{100,}+",
    "firecrawl_key": rf"fc-[0-9a-f]{{32}}{_END}",
    "fly_token": r"fo1_[\w-]{40,}+|fm[12]_[A-Za-z0-9+/]{60,}+={0,2}",
    "github_app_token": (
        rf"gh[usr]_[A-Za-z0-9]{{30,255}}+{_END}"
        rf"|ghs_[0-9]{{1,12}}_eyJ[\w-]{{20,}}+(?:\.[\w-]++){{0,2}}"
    ),
    "github_fine_grained_token": r"github_pat_\w{40,}+",
    "github_oauth_token": rf"gho_[A-Za-z0-9]{{30,255}}+{_END}",
    "github_token": rf"ghp_[A-Za-z0-9]{{30,255}}+{_END}",
    "gitlab_token": (
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[\w-]{20,}+(?:\.[\w-]++){0,2}"
        r"|GR1348941[\w-]{20}(?![\w-])"
    ),
    "google_access_token": r"ya29\.[\w-]{20,}+",
    "google_api_key": r"AIza[\w-]{30,}+",
    "google_client_secret": r"GOCSPX-[\w-]{20,}+",
    "google_refresh_token": r"1//0[\w-]{30,}+",
    "grafana_token": r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_eyJ[\w+/-]{30,}+={0,2}",
    "groq_key": r"gsk_[A-Za-z0-9]{40,}+",
    "heroku_key": r"HRKU-[\w-]{30,}+",
    "hubspot_token": rf"pat-(?:na|eu|ap)[0-9]-{_UUID}",
    "huggingface_token": r"hf_[A-Za-z0-9]{30,}+|api_org_[A-Za-z0-9]{30,}+",
    "jina_key": r"jina_[\w-]{60,}+",
    "jwt": r"eyJ[\w-]{10,}+\.(?:eyJ[\w-]{6,}+(?:\.[\w-]*+)?|[\w-]*+(?:\.[\w-]{8,}+){3})",
    "langfuse_key": rf"sk-lf-{_UUID}",
    "langsmith_key": rf"lsv2_(?:pt|sk)_[0-9a-f]{{32}}_[0-9a-f]{{10}}{_END}",
    "linear_key": r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+",
    "mailchimp_key": rf"[0-9a-f]{{32}}-us[0-9]{{1,2}}{_END}",
    "mailgun_key": (
        rf"key-(?=[a-z]*+[0-9])[0-9a-z]{{32}}{_END}"
        rf"|[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}{_END}"
    ),
    "mapbox_token": r"[st]k\.eyJ[\w-]{30,}+\.[\w-]{20,}+",
    "neon_key": rf"napi_[a-z0-9]{{50,}}+{_END}",
    "netlify_token": rf"nfp_[A-Za-z0-9]{{36,}}+{_END}",
    "new_relic_key": (
        rf"NRAK-[A-Z0-9]{{27}}{_END}|NRII-[\w-]{{32}}(?![\w-])|NRRA-[0-9a-f]{{42}}{_END}|[0-9a-f]{{36}}NRAL{_END}"
    ),
    "notion_token": rf"secret_[A-Za-z0-9]{{40,}}+{_END}|ntn_[A-Za-z0-9]{{40,}}+{_END}",
    "npm_token": rf"npm_[A-Za-z0-9]{{30,}}+{_END}",
    "nvidia_key": r"nvapi-[\w-]{50,}+",
    "onepassword_token": r"ops_eyJ[\w+/-]{100,}+={0,2}",
    "openai_project_key": r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,}+",
    "openrouter_key": r"sk-or-(?:v1-)?[A-Za-z0-9]{32,}+",
    "openai_key": r"sk-(?=[A-Za-z]*+[0-9]|[A-Za-z]{32})[A-Za-z0-9]{20,}+",
    "perplexity_key": r"pplx-[A-Za-z0-9]{40,}+",
    "pinecone_key": r"pcsk_[A-Za-z0-9]{4,}+_[A-Za-z0-9]{40,}+",
    "plaid_token": rf"access-(?:sandbox|development|production)-{_UUID}",
    "planetscale_token": r"pscale_(?:tkn|pw|oauth)_[\w-]{30,}+",
    "postman_key": rf"PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}{_END}",
    "posthog_key": rf"phx_[A-Za-z0-9]{{32,}}+{_END}",
    "prefect_key": rf"pn[bu]_[A-Za-z0-9]{{36}}{_END}",
    "pulumi_token": rf"pul-[0-9a-f]{{40}}{_END}",
    "pypi_token": r"pypi-AgE[\w-]{30,}+",
    "render_key": rf"rnd_[A-Za-z0-9]{{28,}}+{_END}",
    "replicate_token": rf"r8_[A-Za-z0-9]{{37}}{_END}",
    "resend_key": rf"re_[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_END}",
    "rubygems_key": rf"rubygems_[0-9a-f]{{48}}{_END}",
    "sendgrid_key": r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    "sentry_dsn": r"[0-9a-f]{32}(?=@\w)",
    "sentry_token": r"sntrys_[\w+/]{50,}+={0,2}|sntryu_[0-9a-f]{64}",
    "shopify_token": rf"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}{_END}",
    "slack_token": r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{15,}+|xapp-[0-9]-[A-Za-z0-9-]{20,}+",
    "slack_webhook": r"[TE][A-Z0-9]{6,}+(?:/[A-Za-z0-9]{6,}+){2,4}",
    "sonarqube_token": rf"sq[pau]_[0-9a-f]{{40}}{_END}",
    "sourcegraph_token": rf"sgp_(?:[0-9a-f]{{16}}_|local_)?[0-9a-f]{{40}}{_END}",
    "stripe_live_key": r"[sr]k_live_[A-Za-z0-9]{16,}+",
    "stripe_test_key": r"[sr]k_test_[A-Za-z0-9]{16,}+",
    "supabase_key": r"sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,}+",
    "tailscale_key": r"tskey-(?:auth|api|client|scim|webhook)-[\w-]{16,}+",
    "tavily_key": r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}+",
    "teams_webhook": r"[0-9a-f-]{36}/[0-9a-f]{32}/[0-9a-f-]{36}",
    "telegram_bot_token": r"[0-9]{6,11}:(?=[\w-]{0,34}[A-Z])[\w-]{35}(?![\w-])",
    "terraform_token": r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}+",
    "trello_token": rf"ATTA[0-9a-f]{{64}}{_END}",
    "twilio_key": rf"SK[0-9a-f]{{32}}{_END}",
    "typeform_token": r"tfp_[\w-]{30,}+(?:[.][\w-]++)?",
    "vault_token": (
        r"hv[sbr]\.[\w-]{24,}+"
        rf"|s\.(?=(?:[A-Za-z]*+[0-9]){{2}}|(?:[a-z0-9]*+[A-Z]){{6}})[A-Za-z0-9]{{24}}{_END}"
    ),
    "vercel_token": rf"vc[aikpr]_[A-Za-z0-9]{{24,}}+{_END}",
    "wandb_key": r"wandb_v1_[\w-]{40,}+",
    "webhook_secret": r"whsec_[A-Za-z0-9+/]{24,}+={0,2}",
    "xai_key": r"xai-[A-Za-z0-9]{60,}+",
    "yandex_key": r"AQVN[\w-]{35,38}(?![\w-])|y0_[\w-]{50,}+",
}
"""A pattern for each kind, the first that fits counts."""

_BEFORE: dict[str, str] = {
    "azure_sas": r"(?<=sig=)",
    "discord_webhook": r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/",
    "sentry_dsn": r"(?<=://)",
    "slack_webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/",
    "teams_webhook": r"(?:IncomingWebhook|webhookb2)/",
    "telegram_bot_token": r"(?:bot)?",
}
"""What must stand before the secret, and stays."""

_LONG = b"\1" * SHORTEST
_WORD = bytes(
    1 if character.isascii() and (character.isalnum() or character in "_+/.:%~-") else 0
    for character in map(chr, range(256))
)
# A key may stand right behind the letters of an escape: \n, \u003d, \x3d, %3D, or the end of a colour.
_ESCAPE = r"(?:(?<=[\\%\[;])(?:[nrtbfv]|u[0-9a-fA-F]{4}|x?[0-9a-fA-F]{2}|[0-9]{1,3}m))?"
_GUESS = r"(?:(?<![\w+/-])|(?<=\\[nrtbfv]))(?=(?P<guess>[\w+/-]{32,}+={0,2}))"


def shaped(text: str, plain: bytes) -> Iterator[Candidate]:
    """Yield what has the form of a known key, and long tokens that look random.

    `plain` is the text with one byte for each character; the text begins with a newline.
    """
    words = plain.translate(_WORD)
    start = words.find(_LONG)
    while start != -1:
        end = words.find(b"\0", start)
        end = len(words) if end == -1 else end
        for match in _any_form().finditer(text, start - 1, end + 2):
            exact = _each_form().match(text, match.start("form")) if match["form"] else None
            if exact and exact.lastgroup:
                yield Candidate(CERTAIN, *exact.span(exact.lastgroup), exact.lastgroup)
            elif match["guess"] and entropy.is_secret(text, *match.span("guess")):
                yield Candidate(GUESSED, *match.span("guess"), "high_entropy")
        start = words.find(_LONG, end)


@cache
def _any_form() -> re.Pattern[str]:
    """Return the pattern that tries every form where a word begins.

    It does not tell which one it was: a group for each would make all of them several times slower.
    """
    forms = "|".join(
        f"{_BEFORE[kind]}(?:{form})" if kind in _BEFORE else form for kind, form in SHAPES.items()
    )
    # A form is tried as it stands first: in `[60...` the digits are not the end of a colour.
    return re.compile(
        rf"[^\w-](?:{_ESCAPE}?[_-]{{0,3}}(?P<form>{forms})|{_ESCAPE}[_-]{{0,3}}{_GUESS})", re.ASCII
    )


@cache
def _each_form() -> re.Pattern[str]:
    """Return the pattern that tells by the name of its group which form it was."""
    forms = (f"{_BEFORE.get(kind, '')}(?P<{kind}>{form})" for kind, form in SHAPES.items())
    return re.compile("|".join(forms), re.ASCII)
