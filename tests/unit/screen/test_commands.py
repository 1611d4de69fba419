"""Passwords behind short flags, in files of logins, in other languages, and keys within keys."""

from base64 import b64encode
from unicodedata import combining, normalize

import pytest

from carrel.screen.secrets import redact, redact_value

PASSWORD = "[REDACTED:PASSWORD]"
LINE = "MIIEowIBAAKCAQEAwYSiPeJLSi6k8J4msjqtUwCbfzerOiCQ2bx7Qk29ZbLmN4pR"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("curl -u tom:hunter2x https://h/api", f"curl -u tom:{PASSWORD} https://h/api"),
        ("curl -s -X POST --user 'tom:hunter2x' https://h", f"curl -s -X POST --user 'tom:{PASSWORD}' https://h"),
        ("sshpass -p 'hunter2x' ssh tom@h", f"sshpass -p '{PASSWORD}' ssh tom@h"),
        ("docker login -u tom -p hunter2x r.io", f"docker login -u tom -p {PASSWORD} r.io"),
        ("mysql -u root -phunter2x shop", f"mysql -u root -p{PASSWORD} shop"),
        ("redis-cli -h cache -a hunter2x ping", f"redis-cli -h cache -a {PASSWORD} ping"),
        ("openssl rsa -passin pass:hunter2x -in k", f"openssl rsa -passin pass:{PASSWORD} -in k"),
        ("machine h login tom password hunter2x", f"machine h login tom password {PASSWORD}"),
    ],
)  # fmt: skip
def test_a_password_behind_a_flag_is_replaced(text, expected):
    assert redact(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "curl -u tom https://h/api",
        "curl -u tom:$PASSWORD https://h",
        'curl -u "$USER:$TOKEN2" https://h',
        "curl -X POST https://h:8080/a1b2",
        "docker login -u tom --password-stdin r.io",
        "docker run -p 8080:80 web1",
        "mysql -u root -p shop2",
        "mysql --protocol=tcp -P 3306",
        "ssh -p 2222 tom@host1",
        "the login password field2 is checked",
        "redis-cli -h cache1 ping",
    ],
)
def test_other_flags_and_variables_stay(text):
    assert redact(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Das Passwort ist hunter2x",
        "La contraseña es hunter2x",
        "mot de passe : hunter2x",
        "A senha é hunter2x",
        "密码：hunter2x",  # noqa: RUF001
        "密码是hunter2x",
        "パスワードは hunter2x",
        "비밀번호: hunter2x",
        "Пароль: hunter2x",
        "pw: hunter2x",
    ],
)
def test_a_password_is_named_in_many_languages(text):
    assert redact(text).text == text.replace("hunter2x", PASSWORD)


@pytest.mark.parametrize("name", ["La contraseña es", "lösenord:", "hasło:"])
def test_a_password_is_named_with_accents_apart_and_without_them(name):
    apart = normalize("NFD", name)
    bare = "".join(each for each in apart.replace("ł", "l") if not combining(each))
    assert [redact(f"{each} hunter2x").text for each in (apart, bare)] == [
        f"{apart} {PASSWORD}",
        f"{bare} {PASSWORD}",
    ]


def test_the_key_of_a_value_may_be_in_another_language():
    assert redact_value({"contraseña": "hunter2x"}) == ({"contraseña": PASSWORD}, ("password",))


@pytest.mark.parametrize("what", ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_a_key_whose_armour_is_in_base64_is_replaced(what):
    key = b64encode(f"-----BEGIN {what}-----\n{LINE}\n-----END {what}-----\n".encode()).decode()
    assert redact(f"client-key-data: {key}\n").text == "client-key-data: [REDACTED:PRIVATE_KEY]\n"


def test_a_certificate_in_base64_stays():
    certificate = b64encode(f"-----BEGIN CERTIFICATE-----\n{LINE}\n".encode()).decode()
    assert redact(f"certificate-authority-data: {certificate}").kinds == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: token 9628b22e239afc076ac7da998404b1044a78e8e9", "Authorization: token [REDACTED:BEARER_TOKEN]"),
        ('"auth": "dG9tOmh1bnRlcjI="', '"auth": "[REDACTED:BASIC_AUTH]"'),
        ("_auth=dG9tOmh1bnRlcjI=", "_auth=[REDACTED:BASIC_AUTH]"),
        ("Cookie: a=1; sessionid=d9ne6qrurl6n1wsojcejv1pidql6j1s5", "Cookie: a=1; sessionid=[REDACTED:TOKEN]"),
        ('<add key="ApiKey" value="9876ee52fc0789968eaf392355df9f53" />', '<add key="ApiKey" value="[REDACTED:API_KEY]" />'),
        ("ENV DB_PASS hunter2x", f"ENV DB_PASS {PASSWORD}"),
        ("Cookie: theme=dark; lang=en", "Cookie: theme=dark; lang=en"),
        ("ENV DB_PASS_FILE /run/secrets/db1", "ENV DB_PASS_FILE /run/secrets/db1"),
        ("Authorization: token required", "Authorization: token required"),
        ('"auth": "required"', '"auth": "required"'),
    ],
)  # fmt: skip
def test_other_schemes_and_files_of_logins_are_known(text, expected):
    assert redact(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: Garden475!", f"password: {PASSWORD}"),
        ("password = Ember1010*", f"password = {PASSWORD}"),
        ("(password: Garden475)", f"(password: {PASSWORD})"),
        ("**password: Garden475**", f"**password: {PASSWORD}**"),
        ("password: monkey-river-candle-yellow-42", f"password: {PASSWORD}"),
        ("password: monkey2024", f"password: {PASSWORD}"),
        ("password = gXCIymhk7s9qa.J7ha", f"password = {PASSWORD}"),
        ("<password>dbFbSegORKUQGD</password>", f"<password>{PASSWORD}</password>"),
        ("password: settings.db.password2", "password: settings.db.password2"),
        ("password: see-the-vault", "password: see-the-vault"),
    ],
)
def test_a_password_is_told_from_prose_and_code(text, expected):
    assert redact(text).text == expected


def test_a_number_in_the_path_of_a_link_is_no_card():
    assert redact("https://sentry.io/4111111111111111/x").kinds == ()
    assert redact("https://pay.example.com/?card=4111111111111111").kinds == ("credit_card",)
    assert redact("card\\n4111 1111 1111 1111\\n").kinds == ("credit_card",)
