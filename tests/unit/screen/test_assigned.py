import pytest

from carrel.screen.secrets import find, redact

PASSWORD, API_KEY, TOKEN, SECRET = (
    "[REDACTED:PASSWORD]",
    "[REDACTED:API_KEY]",
    "[REDACTED:TOKEN]",
    "[REDACTED:SECRET]",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: hunter2", f"password: {PASSWORD}"),
        ("- 18:28 [note] ENV DB_PASS Willow620%", f"- 18:28 [note] ENV DB_PASS {PASSWORD}"),
        ("- 18:28 [note] machine a.b login m password hunter2x",
         f"- 18:28 [note] machine a.b login m password {PASSWORD}"),
        ("Password: Tr0ub4dor&3.", f"Password: {PASSWORD}."),
        ("**Password:** hunter2x", f"**Password:** {PASSWORD}"),
        ("- `password`: `hunter2x`", f"- `password`: `{PASSWORD}`"),
        ("my password is hunter2, ok?", f"my password is {PASSWORD}, ok?"),
        ("the password was: hunter2x!", f"the password was: {PASSWORD}!"),
        ("DB_PASSWORD=supersecret", f"DB_PASSWORD={PASSWORD}"),
        ("PASSWORD=hunter2!", f"PASSWORD={PASSWORD}"),
        ("export DB_PASSWORD=a&b;c1", f"export DB_PASSWORD={PASSWORD}"),
        ("db.password=hunter2x\nnext", f"db.password={PASSWORD}\nnext"),
        ("password = 'hunter 2x'", "password = 'hunter 2x'"),
        ("password = 'it\\'s-a-secr3t'", f"password = '{PASSWORD}'"),
        ('{"password":"hunter2x","user":"tom"}', f'{{"password":"{PASSWORD}","user":"tom"}}'),
        ('{\\"password\\": \\"hunter2x\\"}', f'{{\\"password\\": \\"{PASSWORD}\\"}}'),
        ("password=hunter2x&user=tom", f"password={PASSWORD}&user=tom"),
        ("user=tom,password=hunter2x,host=h", f"user=tom,password={PASSWORD},host=h"),
        ('password="hunter2x', f'password="{PASSWORD}'),
        ("mysql --password hunter2x -u tom", f"mysql --password {PASSWORD} -u tom"),
        ("mysql --password=hunter2x -u tom", f"mysql --password={PASSWORD} -u tom"),
        ("<password>hunter2x</password>", f"<password>{PASSWORD}</password>"),
        ("PASSWORD2=hunter2x", f"PASSWORD2={PASSWORD}"),
        ("passwort: sw0rdfish", f"passwort: {PASSWORD}"),
        ("dbPass: 'sw0rdfish'", f"dbPass: '{PASSWORD}'"),
        ("pwd=sw0rdfish", f"pwd={PASSWORD}"),
        ("password: 482913", f"password: {PASSWORD}"),
        ("api_key = abcd1234efgh5678ijkl", f"api_key = {API_KEY}"),
        ("api key: abcd1234efgh5678ijkl", f"api key: {API_KEY}"),
        ("config['api_key'] = 'abcd1234efgh5678'", f"config['api_key'] = '{API_KEY}'"),
        ("x-api-key: 0b5cbf8a4f3d4d0c9d6e1f2a3b4c5d6e", f"x-api-key: {API_KEY}"),
        ('apiKey => "abcd1234efgh5678"', f'apiKey => "{API_KEY}"'),
        ("ACCESS_TOKEN=a1b2c3d4e5f6", f"ACCESS_TOKEN={TOKEN}"),
        ("//registry.npmjs.org/:_authToken=550e8400-e29b-41d4-a716-446655440000", f"//registry.npmjs.org/:_authToken={TOKEN}"),
        ("client_secret: b'x7Qk29ZbLmN4pRtV'", f"client_secret: b'{SECRET}'"),
        ("secret=s3cr3tv4lue99", f"secret={SECRET}"),
        ("DB_PASSWORD=hunter2x\\nDB_USER=tom", f"DB_PASSWORD={PASSWORD}\\nDB_USER=tom"),
    ],
)  # fmt: skip
def test_what_is_given_to_a_name_is_replaced_and_the_rest_stays(text, expected):
    assert redact(text).text == expected


@pytest.mark.parametrize("sign", ["=", ": ", " = ", ":", " := ", " => ", " == "])
@pytest.mark.parametrize("name", ["password", "Password", "DB_PASSWORD", "dbPassword", "user-password"])
def test_names_come_in_any_case_and_with_any_sign(name, sign):
    assert redact(f'{name}{sign}"hunter2x"').text == f'{name}{sign}"{PASSWORD}"'


@pytest.mark.parametrize("vendor", ["aws_secret_key", "heroku_key"])
def test_a_vendor_must_be_named_and_its_form_be_right(vendor):
    forty, uuid = "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q/+aB", "01234567-89ab-cdef-0123-456789abcdef"
    value = forty if vendor == "aws_secret_key" else uuid
    name = "aws_secret_access_key" if vendor == "aws_secret_key" else "heroku_api_key"
    assert [s.kind for s in find(f"{name} = {value}")] == [vendor]
    assert [s.kind for s in find(f"{name} = {value[1:]}")] == ["api_key"]
    assert [s.kind for s in find(f"my_api_key = {value}")] == ["api_key"]


def test_a_login_in_base64_must_hold_a_colon():
    assert redact("Basic dG9tOmh1bnRlcjI=").text == "Basic [REDACTED:BASIC_AUTH]"
    assert redact("Basic dG9taHVudGVyMg==").kinds == ()


def test_a_bearer_outside_of_a_header_must_show_more():
    assert redact("Authorization: Bearer a1b2c3d4e5").kinds == ("bearer_token",)
    assert redact("the bearer a1b2c3d4e5").kinds == ()
    assert redact("bearer x7Qk29ZbLmN4pRtVwY").kinds == ("bearer_token",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://app:p@ss:w0rd@db/prod", "postgres://app:[REDACTED:DATABASE_PASSWORD]@db/prod"),
        ("redis://:s3cret@cache:6379", "redis://:[REDACTED:DATABASE_PASSWORD]@cache:6379"),
        ("MONGODB+SRV://u:p4ss@h", "MONGODB+SRV://u:[REDACTED:DATABASE_PASSWORD]@h"),
        ("jdbc:mysql://u:p4ss@h", "jdbc:mysql://u:[REDACTED:DATABASE_PASSWORD]@h"),
        ("https://tom:p4ss@h https://ann:w0rd@h", "https://tom:[REDACTED:URL_PASSWORD]@h https://ann:[REDACTED:URL_PASSWORD]@h"),
        ("://u:p4ss@h", "://u:[REDACTED:URL_PASSWORD]@h"),
    ],
)  # fmt: skip
def test_of_an_address_only_the_password_is_replaced(text, expected):
    assert redact(text).text == expected
