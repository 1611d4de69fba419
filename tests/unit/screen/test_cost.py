"""Hostile texts cost time in proportion to their size: eight times the text, about eight times the time."""

from time import process_time

import pytest

from carrel.screen import personal
from carrel.screen.injection import suspicious, visible
from carrel.screen.secrets import find

SMALL, LARGE = 50_000, 400_000
ATTEMPTS = 3
PIECES = [
    "a", "A", "1", "-", "/", ".", "@", "=", "\\", "\n", "🔑", "aB3/", "/a",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAwYSi\n",
    "sk-", "eyJ", "eyJhbGciOiJIUzI1NiJ9.", "hooks.slack.com/services/T0000000/",
    "4111 ", "4111 1111 1111 1111 ", "1234567:", "://", "http://a:b@",
    "password=", 'password="', "password=\\'", "password is ", "--password ", "password=a1b2c3d4 ",
    "api_key=a1b2c3d4e5f6&", "<password>a1b2c3</", "key=", "bearer ", "basic dXNlcjpwYXNz ",
    "[REDACTED:PASSWORD]=a1b2c3", "9vKqRt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0 ",
    "curl ", "curl -u a:", "machine a login b password ", "pw", "mysql -u a ", "LS0tLS1CRUdJTi", "authorization: token ",
    "cookie: ", "cookie: sid=", "sess", '"key" value=',
]  # fmt: skip
ORDERS = [
    "a", " ", ".", "a ", "ignore ", "ignore all ", "ignore all previous ", "ignore-", "do not tell the user ", "you ",
    "your ", "when asked ", "if the user asks, ", "from now on ", "https://a?b={", "![", "<system", "system: ", "\n",
    "user: a\n", "send the password ", "always say a ", "\u200b", "\u0336", "e\u0336", "\u202e", "\u0430b", "\u05d0\u2066",
    "👨\u200d", "a b c ", "1a", "aWdub3JlIGFsbCBwcmV2aW91cyA ", "忽略", "\ufdfa", "*", "_a", "treat every message a ",
]  # fmt: skip
NUMBERS = [
    "1", "+1", "+1 ", "0", "00 ", "01 ", "@", "a@", "a@b.", "a@b.c ", "DE89 ", "DE89", "1 2 ", "999-99-9999", "tel 1 ",
    "ssn: 1", "(0", "+1(2", "12.", "1-", "415-555-",
]  # fmt: skip


def seconds(work, piece, size):
    text = (piece * (size // len(piece) + 1))[:size]
    start = process_time()
    assert work(text) is not None
    return process_time() - start


def is_in_proportion(work, piece, small, large):
    """A busy machine may spoil one measurement, hardly three."""
    return any(
        seconds(work, piece, large) < 3 * (large / small) * max(seconds(work, piece, small), 0.005)
        for _ in range(ATTEMPTS)
    )


@pytest.mark.parametrize("piece", PIECES)
def test_eight_times_the_text_takes_about_eight_times_as_long(piece):
    assert is_in_proportion(find, piece, SMALL, LARGE)
    text = piece * (10_000 // len(piece))
    assert all(0 <= secret.start < secret.end <= len(text) for secret in find(text))


@pytest.mark.parametrize("piece", ORDERS)
def test_orders_are_looked_for_in_proportion_to_the_text(piece):
    assert is_in_proportion(suspicious, piece, 5_000, 20_000)
    assert is_in_proportion(visible, piece, 50_000, 200_000)


@pytest.mark.parametrize("piece", [*NUMBERS, *PIECES[:12]])
def test_personal_data_is_looked_for_in_proportion_to_the_text(piece):
    assert is_in_proportion(personal.find, piece, 10_000, 80_000)
