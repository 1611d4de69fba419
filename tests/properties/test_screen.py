import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.screen.cards import passes_luhn
from carrel.screen.secrets import Redacted, find, redact, redact_value
from carrel.screen.shapes import SHAPES

BEFORE = {
    "azure_sas": "https://a.blob.core.windows.net/c?sig=",
    "discord_webhook": "https://discord.com/api/webhooks/",
    "slack_webhook": "https://hooks.slack.com/services/",
    "teams_webhook": "https://x.webhook.office.com/webhookb2/",
}
"""What must stand before some of the forms."""

BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
PIECES = [
    "password", "PASSWORD", "token", "api_key", "secret", "Bearer ", "Basic ", "Authorization: ", "is", "--", "=", ":",
    " ", "\n", '"', "'", "`", "\\", "\\n", "/", "+", "-", "_", ".", "@", "://", "http://", "[", "]", "[REDACTED:", "<", ">",
    "&", ";", ",", "hunter2", "a1b2c3d4", "AKIA", "sk-", "ant-", "eyJ", "ghp_", "4111 1111", "1111", BEGIN, END,
    "Z7QX2M4NPL5RT8WV", "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q", "0123456789abcdef", "dG9tOmh1bnRlcjI=", "é", "🔑", "\0",
    "\udcff", "%3D", "\x1b[32m",
]  # fmt: skip
"""What secrets and their surroundings are made of."""

hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=24).map("".join)
words = st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=8), max_size=6).map(" ".join)


@st.composite
def keys(draw):
    """A key in some vendor's form, and what stands before it."""
    kind = draw(st.sampled_from(sorted(SHAPES.keys() - {"sentry_dsn", "telegram_bot_token"})))
    return BEFORE.get(kind, ""), draw(st.from_regex(re.compile(SHAPES[kind], re.ASCII), fullmatch=True))


@st.composite
def numbers(draw):
    """The number of a card."""
    digits = draw(st.sampled_from(["4", "51", "2221", "6011", "3530", "62"]))
    digits += draw(st.text("0123456789", min_size=15 - len(digits), max_size=15 - len(digits)))
    digits = next(digits + last for last in "0123456789" if passes_luhn(digits + last))
    gap = draw(st.sampled_from(["", " ", "-"]))
    return gap.join(digits[i : i + 4] for i in range(0, 16, 4))


@given(hostile)
@settings(max_examples=300, deadline=None)
@example("[REDACTED:PASSWORD]=a1b2c3d4")
@example("password=a1b2c3d4password=a1b2c3d4")
def test_redacting_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once.text) == Redacted(once.text)


@given(hostile)
@settings(max_examples=300, deadline=None)
def test_secrets_are_in_order_apart_and_within_the_text(text):
    found = find(text)
    places = [place for secret in found for place in (secret.start, secret.end)]
    assert places == sorted(places)
    assert all(secret.start < secret.end for secret in found)
    assert not places or (places[0] >= 0 and places[-1] <= len(text))


@given(hostile)
@settings(max_examples=300, deadline=None)
def test_what_is_not_a_secret_keeps_its_characters(text):
    redacted = redact(text).text
    kept = [re.escape(part) for part in re.split(r"\[REDACTED:[A-Z_]+\]", redacted)]
    assert re.fullmatch("(?:.+|)".join(kept), text, re.DOTALL)


@given(words, keys(), words)
@settings(max_examples=200, deadline=None)
def test_a_key_between_any_words_is_found_and_gone(before, key, after):
    lead, secret = key
    text = f"{before} {lead}{secret} {after}"
    start = len(before) + 1 + len(lead)
    assert any(start <= found.start and found.end <= start + len(secret) for found in find(text))
    assert secret not in redact(text).text
    assert redact(text).text.startswith(f"{before} {lead}[REDACTED:")
    assert redact(text).text.endswith(f" {after}")


@given(words, numbers(), words)
@settings(max_examples=100, deadline=None)
def test_a_card_between_any_words_is_found_where_it_stands(before, number, after):
    text = f"{before} {number} {after}"
    assert redact(text).text == f"{before} [REDACTED:CREDIT_CARD] {after}"
    assert find(text)[0].start == len(before) + 1


@given(words, st.text("ABCDEFabcdef0123456789+/", min_size=64, max_size=400), words)
@settings(max_examples=50, deadline=None)
def test_a_private_key_between_any_words_is_gone(before, body, after):
    lines = "\n".join(body[i : i + 64] for i in range(0, len(body), 64))
    text = f"{before}\n{BEGIN}\n{lines}\n{END}\n{after}"
    assert redact(text).text == f"{before}\n[REDACTED:PRIVATE_KEY]\n{after}"


@given(st.sampled_from(["password", "DB_PASSWORD", "apiKey", "client_secret", "auth-token"]), st.uuids())
@settings(max_examples=50, deadline=None)
def test_what_a_key_of_json_calls_a_secret_is_gone(key, secret):
    redacted, kinds = redact_value({"outer": [{key: str(secret)}]})
    assert str(secret) not in str(redacted)
    assert len(kinds) == 1


@given(st.lists(words | st.uuids().map(str) | st.integers().map(str) | st.datetimes().map(str)).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_words_ids_and_times_stay_as_they_are(text):
    assert redact(text).text == text or "CREDIT_CARD" in redact(text).text


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
nested = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4)
)


@given(nested)
@settings(max_examples=100, deadline=None)
def test_a_value_without_secrets_is_the_same_object(value):
    assert redact_value(value)[0] is value
    assert redact_value(value)[1] == ()


@given(nested, hostile, hostile)
@settings(max_examples=100, deadline=None)
def test_a_value_is_redacted_as_its_texts_are(value, key, text):
    whole = {"a": value, "b": [text, {"c": text}]}
    redacted, kinds = redact_value(whole)
    assert redacted["a"] is value
    assert redacted["b"] == [redact(text).text, {"c": redact(text).text}]
    assert kinds == redact(text).kinds
    again, more = redact_value(redact_value({key: text})[0])
    assert more == ()
    assert list(again) == [redact(key).text]


@pytest.mark.parametrize("size", [0, 1, 5, 19, 20, 31, 32, 255, 256, 257, 2047, 2048, 2049])
def test_no_size_of_a_word_is_too_small_or_too_large(size):
    text = "aB3" * 700
    assert redact(text[:size]).text in (text[:size], "[REDACTED:HIGH_ENTROPY]")
