import json

import pytest

from carrel.screen.secrets import Redacted, Secret, find, redact, redact_value

ACCESS = "AK" + "IA" + "Z7QX2M4NPL5RT8WV"
GITHUB = "gh" + "p_" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q"
MARK = "[REDACTED:AWS_ACCESS_KEY]"


def test_a_secret_is_found_where_it_stands():
    text = f"first {ACCESS}, then {GITHUB}."
    assert find(text) == (
        Secret("aws_access_key", 6, 26),
        Secret("github_token", text.index(GITHUB), len(text) - 1),
    )
    assert [text[s.start : s.end] for s in find(text)] == [ACCESS, GITHUB]


def test_only_the_secret_is_replaced():
    assert redact(f'key "{ACCESS}" here') == Redacted(f'key "{MARK}" here', ("aws_access_key",))


def test_kinds_are_named_once_in_the_order_met():
    assert redact(f"{GITHUB} {ACCESS} {GITHUB}").kinds == ("github_token", "aws_access_key")


def test_text_without_a_secret_is_the_same_object():
    text = "Nothing to see here, only a long and ordinary sentence about keys."
    assert redact(text).text is text
    assert find("") == ()


@pytest.mark.parametrize(
    "between", [" ", "\n", ",", ";", "|", "\t", '","', "🔑", "\0", "\udcff", "、", "/", "="]
)
def test_two_secrets_with_hardly_anything_between_are_both_found(between):
    assert redact(f"{ACCESS}{between}{GITHUB}").text == f"{MARK}{between}[REDACTED:GITHUB_TOKEN]"


@pytest.mark.parametrize(
    "around", ["🔑", "é", "中", "\0", "\ud800", "\u200b", "\xa0", "*", "**", "_", "- ", ">"]
)
def test_anything_but_letters_and_digits_may_stand_next_to_a_secret(around):
    assert redact(f"{around}{ACCESS}{around}").text == f"{around}{MARK}{around}"


@pytest.mark.parametrize(
    "before", ["\\n", "\\t", "\\r\\n", '\\"', "\\u003d", "\\x3d", "%3D", "%20", "\x1b[32m", "\x1b[1;31m"]
)
def test_a_secret_is_found_right_behind_an_escape(before):
    assert redact(f"x{before}{ACCESS}").text == f"x{before}{MARK}"
    assert redact(f"x{before}{GITHUB}").text == f"x{before}[REDACTED:GITHUB_TOKEN]"


def test_a_secret_in_the_text_of_json_leaves_json():
    written = json.dumps(
        {"command": f'export A="{ACCESS}"\n{GITHUB}\nDB_PASSWORD=hunter2x\nls', "password": 'h"unter\\2!'}
    )
    for text in (written, json.dumps(written)):
        redacted = redact(text).text
        assert ACCESS not in redacted
        assert "hunter2x" not in redacted
        json.loads(redacted)


def test_a_secret_across_two_lines_is_not_found():
    assert find(f"{ACCESS[:10]}\n{ACCESS[10:]}") == ()


def test_the_more_specific_kind_counts():
    assert redact(f'api_key="{GITHUB}"').text == 'api_key="[REDACTED:GITHUB_TOKEN]"'
    assert redact(f"Authorization: Bearer {GITHUB}").kinds == ("github_token",)
    assert redact(f"https://x-access-token:{GITHUB}@github.com/a/b").kinds == ("github_token",)
    assert redact("sk-" + "ant-" + "a1" * 30).kinds == ("anthropic_key",)


def test_the_longer_of_two_that_are_equally_sure_counts():
    what = "PRIVATE KEY"
    key = f"-----BEGIN {what}-----\n{ACCESS}\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END {what}-----"
    assert find(key) == (Secret("private_key", 0, len(key)),)


@pytest.mark.parametrize(
    "text",
    [
        f"password={ACCESS} token: {GITHUB}",
        f"[REDACTED:{ACCESS}]",
        f"[REDACTED:PASSWORD]: {ACCESS}",
        "[REDACTED:PASSWORD]=a1b2c3d4",
        f"postgres://u:{ACCESS}@h and https://u:p4ss@h@h",
        'password="hunter2x" password=hunter2x,password=hunter2x',
        f"aB3{ACCESS}/9vKqRt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0/{ACCESS}",
    ],
)
def test_redacting_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once.text) == Redacted(once.text)


def test_a_value_is_redacted_through_lists_and_objects():
    value = {"a": [f"x {ACCESS}", {"b": (GITHUB, 1, None, 2.5, True)}], ACCESS: "a name is no hiding place"}
    redacted, kinds = redact_value(value)
    assert redacted == {
        "a": [f"x {MARK}", {"b": ("[REDACTED:GITHUB_TOKEN]", 1, None, 2.5, True)}],
        MARK: "a name is no hiding place",
    }
    assert set(kinds) == {"aws_access_key", "github_token"}
    assert value["a"][0] == f"x {ACCESS}"


def test_what_holds_no_secret_comes_back_as_the_same_object():
    clean = {"text": "nothing", "list": [1, {"x": "y"}]}
    value = {"clean": clean, "other": [ACCESS]}
    redacted, _ = redact_value(value)
    assert redacted["clean"] is clean
    assert redact_value(clean) == (clean, ())
    assert redact_value(clean)[0] is clean


@pytest.mark.parametrize("value", [None, 3, 2.5, True, b"bytes", "short", [], {}])
def test_a_value_of_any_sort_is_welcome(value):
    assert redact_value(value) == (value, ())


def test_a_single_string_is_a_value_too():
    assert redact_value(ACCESS) == (MARK, ("aws_access_key",))


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("password", "hunter2-long-value", "password"),
        ("password", "hunter2", "password"),
        ("password", "correct-horse-battery-staple", "password"),
        ("dbPassword", 'p"ss\\w0rd!', "password"),
        ("SMTP_PASS", "sw0rdfish", "password"),
        ("smtpPass", "sw0rdfish", "password"),
        ("passphrase", "Tr0ub4dor&3", "password"),
        ("pin_password", "482913", "password"),
        ("api_key", "abcd1234efgh5678", "api_key"),
        ("X-Api-Key", "abcd1234efgh5678", "api_key"),
        ("apiKey", "0b5cbf8a4f3d4d0c9d6e1f2a3b4c5d6e", "api_key"),
        ("access_token", "550e8400-e29b-41d4-a716-446655440000", "token"),
        ("client_secret", "wJalrXUtnFEMIbPxRfiCYzQ", "secret"),
        ("SecretAccessKey", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY", "aws_secret_key"),
        ("HEROKU_API_KEY", "01234567-89ab-cdef-0123-456789abcdef", "heroku_key"),
    ],
)
def test_the_key_of_a_value_counts(key, value, kind):
    assert redact_value({key: value}) == ({key: f"[REDACTED:{kind.upper()}]"}, (kind,))
    assert redact_value({key: [value]}) == ({key: [f"[REDACTED:{kind.upper()}]"]}, (kind,))
    assert redact_value({"name": key, "value": value})[1] == (kind,)
    assert redact_value({key: {"value": value}})[1] == (kind,)


def test_the_scheme_of_an_authorization_stays():
    value = {"headers": {"Authorization": "Bearer abc123def", "authorization": "abc123def456"}}
    assert redact_value(value)[0] == {
        "headers": {
            "Authorization": "Bearer [REDACTED:BEARER_TOKEN]",
            "authorization": "[REDACTED:BEARER_TOKEN]",
        }
    }


@pytest.mark.parametrize(
    "key",
    [
        "description",
        "primary_key",
        "public_key",
        "tokenizer",
        "password_hint",
        "next_page_token",
        "k" * 500,
        "",
    ],
)
def test_other_keys_say_nothing_about_their_value(key):
    value = {key: "hunter2-long-value", 3: "hunter2-long-value"}
    assert redact_value(value)[0] is value


def test_redacting_a_value_twice_changes_nothing():
    once, _ = redact_value({"password": "hunter2-long-value", "x": [ACCESS, {"token": "a1b2c3d4e5f6"}]})
    assert redact_value(once)[0] is once


def test_a_value_may_be_nested_deeper_than_the_stack():
    value = ACCESS
    for _ in range(100_000):
        value = [value]
    redacted, kinds = redact_value(value)
    for _ in range(100_000):
        redacted = redacted[0]
    assert redacted == MARK
    assert kinds == ("aws_access_key",)


def test_a_value_that_is_shared_or_holds_itself_ends():
    shared = [ACCESS]
    value = {"a": shared, "b": shared, "c": [shared]}
    assert redact_value(value)[0] == {"a": [MARK], "b": [MARK], "c": [[MARK]]}
    endless = [ACCESS]
    endless.append(endless)
    assert redact_value(endless)[0][0] == MARK
