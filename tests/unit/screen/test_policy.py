import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.screen.policy import BlockedByPrivacy, Screen, Screened, apply

KEY = "gh" + "p_" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q"
TEXT = f"Mail tom@example.com the key {KEY}."


@pytest.mark.parametrize(
    ("secrets", "personal", "expected"),
    [
        ("allow", "allow", Screened(TEXT)),
        (
            "redact",
            "allow",
            Screened("Mail tom@example.com the key [REDACTED:GITHUB_TOKEN].", ("github_token",)),
        ),
        ("allow", "redact", Screened(f"Mail [REDACTED:EMAIL_ADDRESS] the key {KEY}.", ("email_address",))),
        (
            "redact",
            "redact",
            Screened(
                "Mail [REDACTED:EMAIL_ADDRESS] the key [REDACTED:GITHUB_TOKEN].",
                ("github_token", "email_address"),
            ),
        ),
        (
            "block",
            "allow",
            Screened(
                "Mail tom@example.com the key [REDACTED:GITHUB_TOKEN].", ("github_token",), blocked=True
            ),
        ),
        (
            "allow",
            "block",
            Screened(f"Mail [REDACTED:EMAIL_ADDRESS] the key {KEY}.", ("email_address",), blocked=True),
        ),
    ],
)
def test_each_policy_is_kept_by_itself(secrets, personal, expected):
    assert apply(TEXT, secrets=secrets, personal=personal) == expected


@pytest.mark.parametrize("policy", ["block", "redact", "allow"])
def test_what_holds_nothing_stays_the_same_object_and_is_not_blocked(policy):
    text = "Nothing but a plain sentence about keys and mail."
    screened = apply(text, secrets=policy, personal=policy)
    assert screened.text is text
    assert screened == Screened(text)


def test_a_card_is_a_secret_and_somebodys():
    text = "Pay with 4111 1111 1111 1111."
    for policies in ({"secrets": "redact", "personal": "allow"}, {"secrets": "allow", "personal": "redact"}):
        assert apply(text, **policies) == Screened("Pay with [REDACTED:CREDIT_CARD].", ("credit_card",))


def test_a_blocked_text_gives_nothing_away():
    screened = apply(TEXT, secrets="block", personal="block")
    assert screened.blocked
    assert KEY not in screened.text
    assert "tom@" not in screened.text


def test_screening_twice_changes_nothing():
    once = apply(TEXT, secrets="redact", personal="redact")
    assert apply(once.text, secrets="redact", personal="redact") == Screened(once.text)


def test_only_what_is_new_in_a_file_is_looked_at():
    old = f"# Mine\n\n- My key is {KEY}.\n"
    screen = Screen(personal="redact")
    assert screen.between(old, f"{old}- Plain.\n") == Screened(f"{old}- Plain.\n")
    told = screen.between(old, f"{old}- Mail tom@example.com.\n- Another {KEY}.\n")
    assert told.text == f"{old}- Mail [REDACTED:EMAIL_ADDRESS].\n- Another [REDACTED:GITHUB_TOKEN].\n"
    assert (told.found, told.blocked) == (("github_token", "email_address"), False)


def test_a_key_of_several_lines_is_found_between_lines_that_were_there():
    body = "\n".join(["MIIEowIBAAKCAQEA" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3" * 1] * 6)
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    told = Screen().between("one\ntwo\n", f"one\n{block}\ntwo\n")
    assert told.text == "one\n[REDACTED:PRIVATE_KEY]\ntwo\n"


def test_what_may_not_be_written_is_an_error_that_names_the_kinds_and_not_the_text():
    assert Screen().may(TEXT) == "Mail tom@example.com the key [REDACTED:GITHUB_TOKEN]."
    with pytest.raises(BlockedByPrivacy) as caught:
        Screen(secrets="block").may(TEXT)
    assert caught.value.kinds == ("github_token",)
    assert KEY not in f"{caught.value.message}{caught.value.hint}"
    assert Screen(secrets="block", personal="block").between(TEXT, TEXT) == Screened(TEXT)
    assert Screen(secrets="block").between("", TEXT).blocked


LINES = st.lists(st.sampled_from(["", "- a", "- b", f"- {KEY}", "- tom@example.com", "\r", "x\ud800"]))


@given(
    LINES, LINES, st.sampled_from(["block", "redact", "allow"]), st.sampled_from(["block", "redact", "allow"])
)
def test_lines_that_stood_there_stay_and_nothing_else_is_added(old, new, secrets, personal):
    told = Screen(secrets=secrets, personal=personal).between("\n".join(old), "\n".join(new))
    lines = told.text.split("\n")
    assert len(lines) == len("\n".join(new).split("\n"))
    for before, after in zip("\n".join(new).split("\n"), lines, strict=True):
        assert after == before or before not in "\n".join(old).split("\n")
    again = Screen(secrets=secrets, personal=personal).between("\n".join(old), told.text)
    assert again.text == told.text


def test_an_empty_line_within_a_key_is_no_sign_that_half_of_it_was_there():
    body = "\n".join(["mQINBF" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q"] * 6)
    block = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{body}\n=A1b2\n-----END PGP PRIVATE KEY BLOCK-----"
    told = Screen().between("one\n\ntwo\n", f"one\n\n{block}\n\ntwo\n")
    assert told.text == "one\n\n[REDACTED:PGP_PRIVATE_KEY]\n\ntwo\n"
