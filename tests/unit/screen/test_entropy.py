import random
import string

import pytest

from carrel.screen.entropy import bits, looks_random
from carrel.screen.secrets import redact

TOKEN = "9vKqRt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0"
LINE = "wYSiPeJLSi6k8J4msjqtUwCbfzerOiCQ2bx7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1e"


def test_bits_count_how_much_a_character_tells():
    assert bits("aaaa") == 0
    assert bits("abab") == 1
    assert bits("abcdefgh") == 3


@pytest.mark.parametrize("extra", ["", "+/", "-_"])
@pytest.mark.parametrize(("size", "share"), [(32, 0.9), (40, 0.95), (64, 0.97), (128, 0.97)])
def test_nearly_all_random_tokens_look_random(extra, size, share):
    draw = random.Random(size)
    alphabet = string.ascii_letters + string.digits + extra
    tokens = ["".join(draw.choices(alphabet, k=size)) for _ in range(400)]
    assert sum(map(looks_random, tokens)) >= share * 400


@pytest.mark.parametrize("size", [32, 40, 64, 128])
def test_no_hex_digest_looks_random_in_either_case(size):
    draw = random.Random(size)
    digests = ["".join(draw.choices("0123456789abcdef", k=size)) for _ in range(200)]
    assert not any(looks_random(digest) or looks_random(digest.upper()) for digest in digests)


def test_a_token_alone_is_replaced_and_its_padding_too():
    assert redact(f"it is {TOKEN}== now").text == "it is [REDACTED:HIGH_ENTROPY] now"
    assert redact(f"x\\n{TOKEN}\\n").text == "x\\n[REDACTED:HIGH_ENTROPY]\\n"


def test_a_token_within_a_link_or_under_a_name_that_says_so_stays():
    for text in (
        f"https://example.com/d/{TOKEN}/edit",
        f"example.com/d/{TOKEN}/edit",
        f'"archiveId": "{TOKEN}"',
        f"etag={TOKEN}",
        f"sha256-{TOKEN}",
        f"data:font/woff2;base64,{TOKEN}",
    ):
        assert redact(text).text == text


def test_lines_of_data_stay_and_a_single_line_does_not():
    data = f"Attached:\n\n{LINE}\n{LINE[::-1]}\n{LINE[:40]}\n"
    assert redact(data).text == data
    assert redact(f"Attached:\n\n{LINE}\n").text == "Attached:\n\n[REDACTED:HIGH_ENTROPY]\n"
    assert redact(f"{LINE} {LINE[::-1]}").text == "[REDACTED:HIGH_ENTROPY] [REDACTED:HIGH_ENTROPY]"


def test_what_is_too_long_for_a_token_is_data():
    assert looks_random(LINE * 4)
    assert not looks_random(LINE * 4 + "a")
