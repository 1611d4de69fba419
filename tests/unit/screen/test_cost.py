"""Hostile texts cost time in proportion to their size: four times the text, about four times the time."""

from time import process_time

import pytest

from carrel.screen.secrets import find

SMALL, LARGE = 250_000, 1_000_000
ATTEMPTS = 3
PIECES = [
    "a", "A", "1", "-", "/", ".", "@", "=", "\\", "\n", "🔑", "aB3/", "/a",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAwYSi\n",
    "sk-", "eyJ", "eyJhbGciOiJIUzI1NiJ9.", "hooks.slack.com/services/T0000000/",
    "4111 ", "4111 1111 1111 1111 ", "1234567:", "://", "http://a:b@",
    "password=", 'password="', "password=\\'", "password is ", "--password ", "password=a1b2c3d4 ",
    "api_key=a1b2c3d4e5f6&", "<password>a1b2c3</", "key=", "bearer ", "basic dXNlcjpwYXNz ",
    "[REDACTED:PASSWORD]=a1b2c3", "9vKqRt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0 ",
]  # fmt: skip


def seconds(piece, size):
    text = (piece * (size // len(piece) + 1))[:size]
    start = process_time()
    found = find(text)
    spent = process_time() - start
    assert all(0 <= secret.start < secret.end <= size for secret in found)
    return spent


@pytest.mark.parametrize("piece", PIECES)
def test_four_times_the_text_takes_about_four_times_as_long(piece):
    """A busy machine may spoil one measurement, hardly three."""
    assert any(seconds(piece, LARGE) < 12 * max(seconds(piece, SMALL), 0.005) for _ in range(ATTEMPTS))
