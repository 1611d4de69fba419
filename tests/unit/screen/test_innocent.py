"""What must stay as it is: lines such as fill notes, code, logs and transcripts."""

import pytest

from carrel.screen.secrets import find, redact, redact_value

LINES = r"""
The password is required and must be changed every ninety days.
Password: see the vault, or ask Tom.
My password is still the same as last year.
She forgot the password: again.
The token: a small thing with a large meaning.
A secret: use less salt than the recipe says.
The key is under the mat; the other key: with the neighbours.
Keys, tokens and secrets belong into the vault, not into a transcript.
He is the bearer of good news and of basic authentication.
Basic understanding of the internationalization of telecommunication is required.
We pass the gate at 12:30:45 and leave at 14:05.
PASS: tests/unit/test_login2_works.py
FAILED tests/unit/context/test_assemble.py::test_the_prefix_stays_the_same[carrel-2] - AssertionError
tokens: 128000
max_tokens: 4096, total_tokens: 15234
"usage": {"input_tokens": 1523, "output_tokens": 87, "cache_read_input_tokens": 1400}
next_page_token: CAUQAA1234567890abcdef
"nextPageToken": "EAAaCwj7x6qYBhAB1234567890ABCDE"
eos_token: "<|endoftext|>", pad_token_id: 50256
token: null
token: None
secret: true
password: ""
password: ''
password=
password = None
DB_PASSWORD=required
DB_PASSWORD=$(cat /run/secrets/db)
password: undefined
api_key=${API_KEY}
api_key: $API_KEY
api_key = "{{ api_key }}"
api_key: <your key>
api_key = "YOUR_API_KEY_HERE_123"
apiKey: 'your-api-key-1234567890'
API_KEY=changeme123
API_KEY=xxxxxxxxxxxxxxxxxxxx
password: ********
password: xxxx
password="••••••••••"
SECRET_KEY = os.environ["DJANGO_SECRET_KEY_2"]
secret = config.secrets.get("db1")
token = self.tokens[0]
token = request.headers.get("X-Auth-Token2")
token: Optional[str] = None
password: str
def login(user: str, password: str) -> Token2:
login(user=user1, password=password1)
password = get_password(user1)
password = hash_password(form.password2)
if password == confirm_password:
const token = await getToken(client1);
token: ${{ secrets.GITHUB_TOKEN }}
password: !vault |
password: vault:secret/data/db#password1
api_key: op://Private/openai/api-key-2
secretKeyRef: {name: db-credentials-v2, key: password}
--token TOKEN --password PASSWORD
--password-file /run/secrets/db1
PWD=/home/tom/project1
pwd: /home/tom/project1/src
The password is base64-encoded, the token is RS256-signed.
password: bcrypt12
"password": "Password"
"password": "Passwort*"
"password": "Contraseña"
"forgotPassword": "Forgot?"
"password": {"type": "string", "minLength": 8}
"token": "string"
"secret_name": "prod/db1/password2"
arn:aws:secretsmanager:eu-west-1:123456789012:secret:MyTestSecret-a1b2c3
"AWS::IAM::AccessKey": "62d91b17309e76c8"
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer your-token-here-1234
Authorization: Basic realm
curl -u user https://example.com/api/v1/items?limit=50&offset=100
https://example.com:8080/path/to/page?query=some+words&lang=en#section-2
https://user@example.com/path
ssh://git@github.com:22/owner/repo.git
git@github.com:owner/repo.git
postgres://app:${DB_PASSWORD}@db/prod
postgres://app:<password>@db/prod
postgres://app:****@db/prod
postgres://localhost:5432/mydb
redis://cache:6379/0
mongodb://USER:PASSWORD@host/db
https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf
docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms
https://github.com/nodejs/node/blob/1a83ad6a693f851199608ae957ac5d4f76871485/Makefile#L10-L20
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
Merge: 1a83ad6 9fceb02
d41d8cd98f00b204e9800998ecf8427e  empty.txt
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
CF83E1357EEFB8BDF1542850D66D8007D620E4050B5715DC83F4A921D36CE9CE47D0D13C5D85F2B0FF8318D2877EEC2F63B931BD47417A81A538327AF927DA3E
"integrity": "sha512-7yuVI0MqZ7NE43imC8jH3IwGZlbPm0xkJYs7+2U48hXTsFSMqgGDvai0kLxyynKNT/waj+q1c1tzQ2fR5vXbAA=="
golang.org/x/text v0.3.0/go.mod h1:NqM8EUOU14njkJ3fqMW+pc6Ldnwhi/IjpwHt7yyuwOQ=
script-src 'sha256-B2yPHKaXnvFWtRChIbabYmUBFZdVfKKXHbWtWidDVF8=';
"CodeSha256": "5tT2qgzYUHoqwR616pZ2dpkn/0J1FrzJmlKidWaaCgk="
256 SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 tom@laptop (ED25519)
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl tom@laptop
550e8400-e29b-41d4-a716-446655440000
urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8
01ARZ3NDEKTSV4RRFFQ69G5FAV and 01HGW2N7EHJVJ4CJ999RRS2E97
2026-03-04T12:30:45.123456+00:00 1700000000000 1700000000000000000
request_id=req_011CSHoEeqs5C35K2UUqR7FyAbCdEf123456 status=200
call_abc123DEF456ghi789JKL012 toolu_01A09q90qw90lq917835lq9AbCdE1234
chatcmpl-9x8Yz7AbCdEfGhIjKlMnOpQrStUv1 msg_01XFDUDYJgAACzvnptvVoYEL
"session": "s-2026-03-04-planning-with-martha-and-tom"
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
![dot](data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7)
SGVsbG8gd29ybGQhIFRoaXMgaXMgYSB0ZXN0IDEyMw==
=?utf-8?b?R3LDvMOfZSBhdXMgTcO8bmNoZW4gdW5kIHZpZWwgR2zDvGNrIDIwMjY=?=
src/carrel/workspace/layouts/openclaw.yaml and src/carrel/context/assemble.py
/home/tom/Projects/2026/Carrel-V2/node_modules/@types/node/v18/index.d.ts
C:\Users\Tom\AppData\Local\Programs\Python\Python311\python.exe
/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30
/nix/store/0c2wy4gdkzyrv7z3r9yqjzc8cm2s1g5q-glibc-2.38/lib/ld-linux-x86-64.so.2
getUserAccountByIdentifierV2FromDatabaseOrCache(AbstractSingletonProxyFactoryBean2)
org.springframework.security.oauth2.client.OAuth2AuthorizedClientManagerImpl2
ELBSecurityPolicy-TLS13-1-2-Ext1-PQ-2025-09
GL_COMPRESSED_SRGB8_ALPHA8_ASTC_8x8_KHR = 0x93D7
NID_id_GostR3410_2001_CryptoPro_A_ParamSet
test_a_session_of_50000_entries_lists_and_pages_without_being_read_whole
claude-3-5-sonnet-20241022-v2:0 gpt-4o-mini-2024-07-18 text-embedding-3-small
sk-estimator-doc-link sk-container-id-1 sk-toggleable__label-arrow-fitted
npm_config_registry npm_lifecycle_event pypi-attestations-2026
github_pat_ is how they begin, AKIA too, and xoxb- for bots.
-----BEGIN PRIVATE KEY----- is the first line and -----END PRIVATE KEY----- the last.
if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):
-----BEGIN CERTIFICATE----- MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ -----END CERTIFICATE-----
0000 0000 0000 0000 and 0000000000000000
4111 1111 1111 1112 and 4111111111111112
4000 1200 3000 5000 6000 7000 8000
1234567890123456 9876543210987654
+49 170 1234567, 555-0123-4567, DE89 3704 0044 0532 0130 00
3.141592653589793238 2.718281828459045 0.4111111111111111
bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa
0x52908400098527886E0F7030069857D2E4169EE7
QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPV51
pk_live_51HabcDEFghiJKLmnoPQRstuVWXyz0123456789
| `api_key` | string | the key, such as `sk-...` |
- [ ] rotate `DB_PASSWORD` (see docs/secrets.md#rotation)
<input type="password" name="password" placeholder="Password">
<label for="token">Token</label>
SELECT password, token FROM users WHERE id = $1 AND token = ?;
UPDATE users SET password = :password WHERE id = :id1
eyJ is how a token begins, as in eyJ...
[REDACTED:PASSWORD]: nothing is left of it
password: [REDACTED:PASSWORD]
https://tom:[REDACTED:URL_PASSWORD]@example.com/x
""".strip().split("\n")


@pytest.mark.parametrize("line", LINES)
def test_an_innocent_line_stays_as_it_is(line):
    assert redact(line).text == line
    assert redact(line).kinds == ()


def test_all_of_them_together_stay_as_they_are():
    text = "\n".join(LINES)
    assert [text[found.start : found.end] for found in find(text)] == []
    assert redact(text).text is text


def test_innocent_values_come_back_as_the_same_object():
    value = {
        "lines": LINES,
        "password": "see the vault",
        "token": None,
        "secret": True,
        "api_key": "${API_KEY}",
        "max_tokens": "4096",
        "passwords": ["Required", "Optional"],
        "properties": {"password": {"type": "string", "description": "At least 8 characters"}},
        "env": [{"name": "DB_PASSWORD", "value": "$(cat /run/secrets/db1)"}],
    }
    redacted, kinds = redact_value(value)
    assert redacted is value
    assert kinds == ()
