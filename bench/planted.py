"""Secrets as vendors document them and people write them down, drawn at random, each within some text.

Written from the vendors' descriptions of their formats, not from the patterns of `carrel.screen`, so that the
two can disagree. In a form `<B62*36>` stands for 36 drawn characters, `<B62*20-40>` for that many, and
`<password>` for what people and generators make up; between ⟦ and ⟧ stands the secret, else it is all of it.
"""
# ruff: noqa: RUF001 - signs of Chinese are meant

import json
import random
import re
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import NamedTuple

from carrel.screen.secrets import find

ALPHABETS = {
    "DIG": string.digits,
    "HEX": "0123456789abcdef",
    "HEXUP": "0123456789ABCDEF",
    "LOW": string.ascii_lowercase,
    "LOWDIG": string.ascii_lowercase + string.digits,
    "UP": string.ascii_uppercase,
    "UPDIG": string.ascii_uppercase + string.digits,
    "B32": string.ascii_uppercase + "234567",
    "BECH": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "B62": string.ascii_letters + string.digits,
    "B64": string.ascii_letters + string.digits + "+/",
    "B64U": string.ascii_letters + string.digits + "-_",
    "TILDE": string.ascii_letters + string.digits + "-_.~",
    "MARKED": string.ascii_letters + string.digits + "!#%^*()-_=+@",
}
DRAWN = re.compile(r"<(\w+)(?:\*(\d+)(?:-(\d+))?)?>")

BY_FORM: dict[str, tuple[str, ...]] = {
    "AWS access key id": ("AKIA<B32*16>", "ASIA<B32*16>"),
    "GitHub classic token": ("ghp_<B62*36>", "gho_<B62*36>", "ghu_<B62*36>", "ghs_<B62*36>", "ghr_<B62*76>"),
    "GitHub fine-grained token": ("github_pat_<B62*22>_<B62*59>",),
    "GitLab token": (
        "glpat-<B64U*20>", "glpat-<B64U*27-40>.01.<LOWDIG*9>", "gldt-<B64U*20>", "glrt-<B64U*20>",
        "glptt-<HEX*40>",
        "glcbt-<HEX*2>_<B64U*20>", "glft-<B64U*20>", "glsoat-<B64U*20>", "GR1348941<B64U*20>",
    ),
    "Slack token": (
        "xoxb-<DIG*12>-<DIG*13>-<B62*24>", "xoxp-<DIG*12>-<DIG*12>-<DIG*13>-<HEX*32>",
        "xoxb-<DIG*11>-<B62*24>",
        "xapp-1-A<UPDIG*10>-<DIG*13>-<HEX*64>", "xoxe.xoxp-1-<B62*160>",
        "xoxs-<DIG*11>-<DIG*11>-<DIG*11>-<HEX*10>",
    ),
    "Slack webhook": (
        "https://hooks.slack.com/services/⟦T<UPDIG*8-10>/B<UPDIG*8-10>/<B62*24>⟧",
        "https://hooks.slack.com/workflows/⟦T<UPDIG*8>/A<UPDIG*8>/<DIG*18>/<B62*24>⟧",
    ),
    "Stripe key": ("sk_live_<B62*24>", "sk_live_51<B62*97>", "rk_live_<B62*24>", "sk_test_51<B62*97>",
    "whsec_<B62*32>"),
    "OpenAI key": (
        "sk-<B62*20>T3BlbkFJ<B62*20>", "sk-proj-<B64U*74>T3BlbkFJ<B64U*74>",
        "sk-svcacct-<B64U*58>T3BlbkFJ<B64U*58>",
        "sk-admin-<B64U*58>T3BlbkFJ<B64U*58>",
    ),
    "Anthropic key": ("sk-ant-api03-<B64U*93>AA", "sk-ant-admin01-<B64U*93>AA", "sk-ant-oat01-<B64U*93>AA"),
    "Google API key": ("AIzaSy<B64U*33>",),
    "Google OAuth": ("ya29.a0<B64U*120-200>", "GOCSPX-<B64U*28>", "1//0<LOWDIG*1><B64U*60-100>"),
    "Azure client secret": ("<B62*3>8Q~<TILDE*33><B62*1>",),
    "Twilio API key": ("SK<HEX*32>",),
    "SendGrid key": ("SG.<B64U*22>.<B64U*43>",),
    "npm token": ("npm_<B62*36>",),
    "PyPI token": ("pypi-AgEIcHlwaS5vcmc<B64U*140-170>",),
    "Heroku key": ("HRKU-AA<B64U*58>",),
    "DigitalOcean token": ("dop_v1_<HEX*64>", "doo_v1_<HEX*64>", "dor_v1_<HEX*64>"),
    "Discord bot token": ("M<B62*23>.<B64U*6>.<B64U*27>", "MT<B62*24>.G<B64U*5>.<B64U*38>"),
    "Discord webhook": (
        "https://discord.com/api/webhooks/⟦<DIG*18-19>/<B64U*68>⟧",
        "https://discordapp.com/api/webhooks/⟦<DIG*18>/<B64U*68>⟧",
    ),
    "Telegram bot token": ("<DIG*9-10>:AA<B64U*33>",
    "https://api.telegram.org/bot⟦<DIG*10>:AA<B64U*33>⟧/getMe"),
    "JSON Web Token": ("<jwt>",),
    "Hugging Face token": ("hf_<B62*34>", "api_org_<B62*34>"),
    "Databricks token": ("dapi<HEX*32>", "dapi<HEX*32>-2"),
    "Mailgun key": ("key-<HEX*32>", "<HEX*32>-<HEX*8>-<HEX*8>"),
    "Cloudflare origin CA key": ("v1.0-<HEX*24>-<HEX*146>",),
    "Shopify token": ("shpat_<HEX*32>", "shpss_<HEX*32>", "shpca_<HEX*32>", "shppa_<HEX*32>"),
    "Square token": ("EAAA<B64U*60>", "sq0atp-<B64U*22>", "sq0csp-<B64U*43>"),
    "New Relic key": ("NRAK-<UPDIG*27>", "NRII-<B64U*32>", "NRRA-<HEX*42>", "<HEX*36>NRAL"),
    "Sentry": (
        "https://⟦<HEX*32>⟧@o<DIG*6>.ingest.sentry.io/<DIG*7>",
        "https://⟦<HEX*32>⟧@o<DIG*7>.ingest.us.sentry.io/<DIG*16>",
        "sntryu_<HEX*64>", "sntrys_eyJ<B62*120-160>_<B64*43>",
    ),
    "Vault token": ("hvs.<B64U*90-110>", "hvb.<B64U*138-160>", "s.<B62*24>"),
    "age key": ("AGE-SECRET-KEY-1<BECH*58>",),
    "Mailchimp key": ("<HEX*32>-us<DIG*1>", "<HEX*32>-us1<DIG*1>"),
    "Notion token": ("ntn_<DIG*11><B62*35>", "secret_<B62*43>"),
    "Linear key": ("lin_api_<B62*40>",),
    "Postman key": ("PMAK-<HEX*24>-<HEX*34>",),
    "Grafana token": ("glsa_<B62*32>_<HEX*8>", "glc_eyJ<B62*80-120>"),
    "Docker token": ("dckr_pat_<B64U*27>", "dckr_oat_<B64U*32>"),
    "Terraform token": ("<B62*14>.atlasv1.<B64U*67>",),
    "Atlassian token": ("ATATT3xFfGF0<B64U*170>=<HEXUP*8>", "ATCTT3xFfGN0<B64U*170>=<HEXUP*8>"),
    "Airtable token": ("pat<B62*14>.<HEX*64>",),
    "Figma token": ("figd_<B64U*40>",),
    "Groq key": ("gsk_<B62*52>",),
    "xAI key": ("xai-<B62*80>",),
    "Perplexity key": ("pplx-<B62*48>",),
    "Replicate token": ("r8_<B62*37>",),
    "Supabase key": ("sbp_<HEX*40>", "sb_secret_<B64U*31>"),
    "Tailscale key": ("tskey-auth-k<B62*11>CNTRL-<B62*32>", "tskey-api-k<B62*11>CNTRL-<B62*32>"),
    "Doppler token": ("dp.pt.<B62*43>", "dp.st.prd.<B62*43>"),
    "Netlify token": ("nfp_<B62*36>",),
    "RubyGems key": ("rubygems_<HEX*48>",),
    "Pulumi token": ("pul-<HEX*40>",),
    "PlanetScale token": ("pscale_tkn_<B64U*43>", "pscale_pw_<B64U*43>"),
    "Facebook token": ("EAA<UP*1><B62*120-190>",),
    "Dropbox token": ("sl.<B64U*135>", "sl.u.<B64U*140-170>"),
    "Mapbox secret token": ("sk.eyJ1<B62*60-80>.<B64U*22>",),
    "Firebase server key": ("AAAA<B64U*7>:APA91b<B64U*134>",),
    "DeepSeek key": ("sk-<HEX*32>",),
    "Cloudflare token by its form": ("cfk_<B62*48>", "cfut_<B62*48>", "cfat_<B62*48>"),
    "Vercel token": ("vcp_<B62*56>", "vck_<B62*56>"),
    "Langfuse key": ("sk-lf-<uuid>",),
    "ElevenLabs key": ("sk_<HEX*48>",),
    "Resend key": ("re_<B62*8>_<B62*24>",),
    "Asana token": ("2/<DIG*16>/<DIG*16>:<HEX*32>", "1/<DIG*16>:<HEX*32>"),
    "CircleCI token": ("CCIPAT_<B62*22>_<HEX*40>",),
    "Dynatrace token": ("dt0c01.<UPDIG*24>.<UPDIG*64>",),
    "Sourcegraph token": ("sgp_<HEX*16>_<HEX*40>", "sgp_<HEX*40>"),
    "HubSpot token": ("pat-na1-<uuid>",),
    "Trello token": ("ATTA<HEX*64>",),
    "OpenRouter key": ("sk-or-v1-<HEX*64>",),
    "payment card": ("<card>",),
}  # fmt: skip
"""What is a secret wherever it stands."""

BY_CONTEXT: dict[str, tuple[str, ...]] = {
    "AWS secret key": (
        "aws_secret_access_key = ⟦<B64*40>⟧", "export AWS_SECRET_ACCESS_KEY=⟦<B64*40>⟧",
        '"SecretAccessKey": "⟦<B64*40>⟧",',
        "AWS_SESSION_TOKEN=⟦IQoJb3JpZ2luX2Vj<B64*300-400>==⟧", "secret_key: ⟦<B64*40>⟧ # aws",
    ),
    "Azure connection string": (
        "DefaultEndpointsProtocol=https;AccountName=<LOW*9>;AccountKey=⟦<B64*86>==⟧;EndpointSuffix=core.windows.net",
        "Endpoint=sb://<LOW*8>.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=⟦<B64*43>=⟧",
        "AccountEndpoint=https://<LOW*8>.documents.azure.com:443/;AccountKey=⟦<B64*86>==⟧;",
        "https://<LOW*9>.blob.core.windows.net/c?sv=2024-11-04&se=2030-01-01&sr=c&sp=rl&sig=⟦<B62*43>%3D⟧",
        "Server=tcp:<LOW*8>.database.windows.net,1433;User ID=sa;Password=⟦<password>⟧;Encrypt=True;",
    ),
    "Twilio auth token": ("TWILIO_AUTH_TOKEN=⟦<HEX*32>⟧", 'Client("AC<HEX*32>", auth_token="⟦<HEX*32>⟧")'),
    "npm login": ("//registry.npmjs.org/:_authToken=⟦<uuid>⟧", "//npm.example.org/:_password=⟦<B64*24>==⟧"),
    "Heroku API key": ("HEROKU_API_KEY=⟦<uuid>⟧", "heroku_api_key: '⟦<uuid>⟧'"),
    "Cloudflare token": (
        "CLOUDFLARE_API_TOKEN=⟦<B64U*40>⟧", "X-Auth-Key: ⟦<HEX*37>⟧", 'cloudflare_api_key = "⟦<HEX*37>⟧"',
    ),
    "Datadog key": ("DD_API_KEY=⟦<HEX*32>⟧", "datadog_app_key: ⟦<HEX*40>⟧", "DD-APPLICATION-KEY: ⟦<HEX*40>⟧"),
    "RSA key in PEM": ("<pem RSA PRIVATE KEY>", "<pem PRIVATE KEY>", "<pem ENCRYPTED PRIVATE KEY>"),
    "EC key in PEM": ("<pem EC PRIVATE KEY>", "<pem DSA PRIVATE KEY>"),
    "OpenSSH key": ("<pem OPENSSH PRIVATE KEY>",),
    "PGP key": ("<pem PGP PRIVATE KEY BLOCK>",),
    "service account of Google": ("<service account>",),
    "login in an address": (
        "https://<name>:⟦<password>⟧@example.com/feed.xml",
        "git clone https://<name>:⟦ghp_<B62*36>⟧@github.com/a/b.git",
        "ftp://<name>:⟦<password>⟧@files.example.org/", "http://<name>:⟦<password>⟧@10.0.0.7:8080/api",
    ),
    "address of a database": (
        "postgres://<name>:⟦<password>⟧@db.example.com:5432/app",
        "mysql://<name>:⟦<password>⟧@127.0.0.1/shop",
        "mongodb+srv://<name>:⟦<password>⟧@c0.ab1cd.mongodb.net/?w=majority",
        "redis://:⟦<password>⟧@cache:6379/0",
        "amqp://<name>:⟦<password>⟧@rabbit:5672/vhost",
        "postgresql+asyncpg://<name>:⟦<password>⟧@db/app?ssl=require",
        "jdbc:postgresql://db/app?user=<name>&password=⟦<B62*16>⟧",
        "host=db user=<name> password=⟦<password>⟧ dbname=app",
    ),
    "password in env": (
        "DB_PASSWORD=⟦<password>⟧", 'POSTGRES_PASSWORD="⟦<password>⟧"', "export SMTP_PASSWORD='⟦<password>⟧'",
        "REDIS_PASS=⟦<password>⟧", "ADMIN_PWD=⟦<password>⟧", "MYSQL_ROOT_PASSWORD=⟦<password>⟧",
    ),
    "password in YAML": (
        "password: ⟦<password>⟧", 'password: "⟦<password>⟧"', "  db_password: '⟦<password>⟧'",
        "- POSTGRES_PASSWORD=⟦<password>⟧",
        "ansible_ssh_pass: ⟦<password>⟧", "passphrase: ⟦<password>⟧",
    ),
    "password in JSON": (
        '{"user": "<name>", "password": "⟦<password>⟧"}', '"dbPassword":"⟦<password>⟧",',
        '"Password" : "⟦<password>⟧"',
    ),
    "password in TOML or INI": (
        'password = "⟦<password>⟧"', "password = ⟦<password>⟧", "smtp_pass = '⟦<password>⟧'",
        "spring.datasource.password=⟦<password>⟧",
    ),
    "password in a shell": (
        "mysql -u <name> --password=⟦<password>⟧ shop", "export PGPASSWORD=⟦<password>⟧",
        "sshpass -p '⟦<password>⟧' ssh <name>@host",
        "curl -u <name>:⟦<password>⟧ https://example.com/api",
        "docker login -u <name> -p ⟦<password>⟧ registry.example.com",
        "machine api.example.com login <name> password ⟦<password>⟧",
        "net use x: \\\\srv\\s /user:<name> --password ⟦<password>⟧",
    ),
    "password in prose": (
        "The password is ⟦<password>⟧ for now.", "Password: ⟦<password>⟧", "**Password:** `⟦<password>⟧`",
        "pw: ⟦<password>⟧",
        "Das Passwort ist ⟦<password>⟧.", "La contraseña es ⟦<password>⟧", "mot de passe : ⟦<password>⟧",
        "密码：⟦<password>⟧",
    ),
    "password in code": (
        'PASSWORD = "⟦<password>⟧"', "const password = '⟦<password>⟧';",
        'connect(user="<name>", password="⟦<password>⟧")',
        'String password = "⟦<password>⟧";', "<password>⟦<B62*14>⟧</password>", '$db_pass = "⟦<password>⟧";',
    ),
    "API key in a setting": (
        "API_KEY=⟦<B62*32>⟧", "api_key: ⟦<B62*32>⟧", '"apiKey": "⟦<HEX*32>⟧"', 'api-key = "⟦<B62*40>⟧"',
        "X-API-Key: ⟦<HEX*40>⟧", "ALGOLIA_ADMIN_KEY=⟦<HEX*32>⟧", "--api-key ⟦<B62*32>⟧",
        "?api_key=⟦<HEX*32>⟧&page=2",
    ),
    "secret in a setting": (
        "CLIENT_SECRET=⟦<B64U*32>⟧", "client_secret: ⟦<B62*40>⟧", '"clientSecret": "⟦<B64U*40>⟧"',
        "JWT_SECRET=⟦<HEX*64>⟧",
        'SECRET_KEY = "⟦<MARKED*50>⟧"', "secret_key_base: ⟦<HEX*128>⟧", "SESSION_SECRET='⟦<B64*43>=⟧'",
        "OAUTH_CONSUMER_SECRET=⟦<B62*50>⟧", "APP_KEY=base64:⟦<B64*43>=⟧",
    ),
    "token in a setting": (
        "ACCESS_TOKEN=⟦<B62*40>⟧", "token: ⟦<HEX*40>⟧", '"refresh_token": "⟦<B64U*64>⟧"',
        'auth_token = "⟦<B62*24>⟧"',
        "export CI_JOB_TOKEN=⟦<B62*20>⟧", "--token=⟦<B62*32>⟧", "Authorization: token ⟦<HEX*40>⟧",
        "BOT_TOKEN: '⟦<B64U*40>⟧'",
    ),
    "header": (
        "Authorization: Bearer ⟦<B62*32-64>⟧",
        'curl -H "Authorization: Bearer ⟦<B64U*43>⟧" https://api.example.com',
        "Authorization: Basic ⟦<login>⟧", '"auth": "⟦<login>⟧"',
        'headers={"Authorization": "Bearer ⟦<HEX*40>⟧"}',
    ),
    "kubeconfig": (
        "    client-key-data: ⟦<key in base64>⟧", "    token: ⟦<jwt>⟧", "    password: ⟦<HEX*32>⟧",
        "    token: ⟦<B62*48>⟧",
    ),
    "key named for its vendor": (
        "OKTA_API_TOKEN=⟦00<B64U*40>⟧", "SNYK_TOKEN=⟦<uuid>⟧", 'COHERE_API_KEY="⟦<B62*40>⟧"',
        "MAILJET_SECRET_KEY=⟦<HEX*32>⟧", "JENKINS_API_TOKEN=⟦11<HEX*32>⟧", "NEXTAUTH_SECRET=⟦<B64*43>=⟧",
        "ENCRYPTION_KEY=⟦<B64*43>=⟧", "SPLUNK_HEC_TOKEN=⟦<uuid>⟧", "JWT_SIGNING_KEY=⟦<HEX*64>⟧",
    ),
    "cookie": (
        "Cookie: lang=en; sessionid=⟦<LOWDIG*32>⟧",
        "Set-Cookie: connect.sid=⟦s%3A<B64U*32>.<B62*43>⟧; Path=/",
    ),
    "attribute of XML": (
        '<add key="ApiKey" value="⟦<HEX*32>⟧" />',
        '<property name="password" value="⟦<password>⟧"/>',
    ),
    "Dockerfile": ("ENV DB_PASS ⟦<password>⟧", "ENV API_TOKEN=⟦<B62*32>⟧", "ARG NPM_TOKEN=⟦npm_<B62*36>⟧"),
    "key of WireGuard": ("PrivateKey = ⟦<B64*43>=⟧", "PresharedKey = ⟦<B64*43>=⟧"),
}  # fmt: skip
"""What is a secret by what stands around it."""

AROUND = (
    "{}", "Use {} for now.", "key {}", "`{}`", '"{}"', "'{}'", "- staging: {}", "| prod | {} |", "({})",
    "<code>{}</code>",
    "curl -H 'X-Key: {}' https://api.example.com/v1", "He sent me {}, and it still works.", "credential={}",
    "value: {}",
    "2026-03-04 12:30:45 INFO connecting with {}", "> {}", '{{"value":"{}"}}', "export FOO={}",
    "Der Schlüssel lautet {}.",
    "密钥是 {}。", "La clave es «{}».", "rotate {};", "old:{}", "x={} y=2", "[{}]",
    "first line\n{}\nlast line",
    '{{\\"key\\": \\"{}\\"}}', "the key\\n{}\\nis here", "{}, {{}}", "*{}*",
)  # fmt: skip
"""Where a secret that is known by its form may stand."""
LINES = (
    "{}", "# settings\n{}\n", "```\n{}\n```", "first: 1\n{}\nlast: 2", "    {}",
    "Here it is:\n\n{}\n\nDo not lose it.",
    "> {}", "{}  ", "- name: app\n{}", "\ufeff{}\r\n", "x\r\n{}\r\ny", "为了部署：\n{}\n",
)  # fmt: skip
"""Where a line that gives a secret away may stand."""

WORDS = (
    "autumn", "bicycle", "candle", "dolphin", "ember", "forest", "garden", "harbor", "island", "jungle",
    "kitten", "lantern", "meadow", "nectar", "orchid", "pepper", "quartz",
    "river", "saddle", "thunder", "umbrella",
    "velvet", "willow", "yellow", "zebra", "summer", "winter", "dragon", "monkey", "shadow",
)  # fmt: skip
NAMES = ("admin", "app", "deploy", "root", "tom", "svc-build", "maria", "postgres", "user1", "backup_job")


class Planted(NamedTuple):
    """A text, and the characters of it that are secret."""

    kind: str
    form: str
    text: str
    start: int
    end: int


def planted(each: int, seed: int = 20_260) -> Iterator[Planted]:
    """Draw so many samples of each kind, the same for a seed."""
    draw = random.Random(seed)
    for kinds, places in ((BY_FORM, AROUND), (BY_CONTEXT, LINES)):
        for kind, forms in kinds.items():
            for number in range(each):
                form = forms[number % len(forms)]
                yield _placed(kind, form, filled(form, draw), draw.choice(places))


def is_covered(sample: Planted) -> bool:
    """Tell whether each character of a secret is found."""
    place = sample.start
    for found in find(sample.text):
        if found.start <= place < found.end:
            place = found.end
    return place >= sample.end


def _placed(kind: str, form: str, line: str, place: str) -> Planted:
    before, _, after = place.partition("{}")
    before, after = before.replace("{{", "{").replace("}}", "}"), after.replace("{{", "{").replace("}}", "}")
    lead, opened, rest = line.partition("⟦")
    secret, _, tail = rest.partition("⟧") if opened else (line, "", "")
    lead = before + (lead if opened else "")
    return Planted(kind, form, lead + secret + tail + after, len(lead), len(lead) + len(secret))


def filled(form: str, draw: random.Random) -> str:
    """A form with characters drawn for what it leaves open."""
    for name, made in MADE.items():
        while name in form and not (name == "<password>" and "</password>" in form):
            form = form.replace(name, made(draw), 1)
    for what in re.findall(r"<pem ([A-Z ]+)>", form):
        form = form.replace(f"<pem {what}>", _pem(what, draw))

    def drawn(match: re.Match[str]) -> str:
        if match[1] not in ALPHABETS:
            return match[0]
        least = int(match[2])
        return _some(ALPHABETS[match[1]], draw.randint(least, int(match[3] or least)), draw)

    return DRAWN.sub(drawn, form)


def _some(alphabet: str, size: int, draw: random.Random) -> str:
    return "".join(draw.choices(alphabet, k=size))


def _password(draw: random.Random) -> str:
    """What generators and people make: never a plain word, which nobody can tell from one."""
    word = draw.choice(WORDS)
    return draw.choice(
        (
            lambda: _some(ALPHABETS["B62"], draw.randint(10, 24), draw) + draw.choice(string.digits),
            lambda: (
                _some(ALPHABETS["B62"] + "!#%^*_-.", draw.randint(10, 20), draw)
                + draw.choice("!#%7")
                + word[:2]
            ),
            lambda: f"{word.title()}{draw.randint(1, 2026)}{draw.choice('!#*%')}",
            lambda: f"{word}{draw.randint(10, 9999)}",
            lambda: word.translate(str.maketrans("aeios", "43105")) + str(draw.randint(1, 99)),
            lambda: _some(ALPHABETS["HEX"], 32, draw),
            lambda: "-".join(draw.choices(WORDS, k=4)) + f"-{draw.randint(10, 99)}",
        )
    )()


def _uuid(draw: random.Random) -> str:
    return "-".join(_some(ALPHABETS["HEX"], size, draw) for size in (8, 4, 4, 4, 12))


def _jwt(draw: random.Random) -> str:
    """A header, claims and a signature, in base64 without padding."""
    head = {"alg": draw.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    claims = {
        "sub": _some(ALPHABETS["DIG"], 10, draw),
        "name": draw.choice(NAMES),
        "iat": draw.randint(10**9, 2 * 10**9),
    }
    parts = (urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
    return b".".join(part.rstrip(b"=") for part in parts).decode() + "." + _some(ALPHABETS["B64U"], 43, draw)


def _pem(what: str, draw: random.Random, newline: str = "") -> str:
    """Armour around lines of base64; a key of PGP has headers and a checksum."""
    body = _some(ALPHABETS["B64"], draw.randint(160, 1600), draw)
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    if "PGP" in what:
        lines = ["", *lines, "=" + _some(ALPHABETS["B64"], 4, draw)]
    newline = newline or draw.choice(("\n", "\n", "\n", "\\n", "\r\n", "\n    "))
    return newline.join((f"-----BEGIN {what}-----", *lines, f"-----END {what}-----"))


def _service_account(draw: random.Random) -> str:
    key = _pem("PRIVATE KEY", draw, newline="\\n")
    return f'{{"type": "service_account", "project_id": "p1", "private_key": "⟦{key}⟧\\n", "client_id": "1"}}'


def _key_in_base64(draw: random.Random) -> str:
    return b64encode(_pem("RSA PRIVATE KEY", draw, newline="\n").encode()).decode()


def _login(draw: random.Random) -> str:
    return b64encode(f"{draw.choice(NAMES)}:{_password(draw)}".encode()).decode()


def _card(draw: random.Random) -> str:
    """A number of a known issuer with the check digit that fits, as it is typed."""
    start, size = draw.choice((("4", 16), ("51", 16), ("2221", 16), ("6011", 16), ("37", 15)))
    digits = start + _some(string.digits, size - len(start) - 1, draw)
    doubled = [int(d) if at % 2 else sum(divmod(2 * int(d), 10)) for at, d in enumerate(reversed(digits))]
    digits += str(-sum(doubled) % 10)
    ends = (4, 10, 15) if size == 15 else (4, 8, 12, 16)
    groups = [digits[a:b] for a, b in zip((0, *ends), ends, strict=False)]
    return draw.choice(("", " ", "-")).join(groups)


MADE: dict[str, Callable[[random.Random], str]] = {
    "<service account>": _service_account,
    "<key in base64>": _key_in_base64,
    "<password>": _password,
    "<name>": lambda draw: draw.choice(NAMES),
    "<login>": _login,
    "<uuid>": _uuid,
    "<card>": _card,
    "<jwt>": _jwt,
}
