import pytest

from carrel.screen.policy import Screened, apply

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
