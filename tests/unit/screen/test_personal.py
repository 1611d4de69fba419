# ruff: noqa: RUF001 - signs of Chinese are meant

from itertools import pairwise

import pytest

from carrel.screen.personal import KINDS, Personal, find

NUMBERS = {
    "iban": [
        "DE89 3704 0044 0532 0130 00",
        "DE89370400440532013000",
        "GB29 NWBK 6016 1331 9268 19",
        "FR14 2004 1010 0505 0001 3M02 606",
        "NO93 8601 1117 947",
        "AT61 1904 3002 3457 3201",
    ],
    "phone_number": [
        "+43 660 1234567",
        "+1 (415) 555-0123",
        "+14155550123",
        "+32(0)36 4056224",
        "0049 170 1234567",
        "(415) 555-0123",
        "415-555-0123",
        "03 84 02 15 73",
        "(0316) 123456",
    ],
    "email_address": ["tom@example.com", "a.b+c@mail.example.co.uk", "anna_weber@example.museum", "j\u00f6rg@b\u00fccher.de"],
    "national_id": [
        "078-05-1120",
        "AB 12 34 56 C",
        "943 476 5919",
        "86 095 742 719",
        "44051401359",
        "12345678Z",
        "X1234567L",
        "1 85 05 78 006 084 91",
        "RSSMRA85T10A562S",
        "85.07.30-033.28",
        "811228-9874",
        "131052-308T",
        "756.9217.0769.85",
        "1234567T",
        "736028/5163",
        "8001015009087",
        "2341 2341 2346",
        "11010519491231002X",
        "529.982.247-25",
        "HEGG560427MVZRRL04",
    ],
    "credit_card": ["4111 1111 1111 1111", "378282246310005"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "number"), [(kind, n) for kind, numbers in NUMBERS.items() for n in numbers]
)
def test_a_number_is_found_where_it_stands(kind, number):
    for before, after in (
        ("", ""),
        ("Mine is ", ", thanks."),
        ("(", ")"),
        ("- ", "\nnext"),
        ("电话：", "。"),
    ):
        text = f"{before}{number}{after}"
        assert find(text) == (Personal(kind, len(before), len(before) + len(number)),)


def test_every_kind_has_a_sample_and_a_sentence():
    assert set(NUMBERS) == set(KINDS)
    assert all(sentence.endswith(".") for sentence in KINDS.values())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("phone: 1234567", "1234567"),
        ("Tel. 660 123 45 67", "660 123 45 67"),
        ("Handy 0660/1234567", "0660/1234567"),
        ("手机：13330215736", "13330215736"),
    ],
)
def test_a_name_makes_any_number_a_telephones(text, number):
    start = text.index(number)
    assert find(text) == (Personal("phone_number", start, start + len(number)),)


@pytest.mark.parametrize(
    ("text", "number"), [("BSN: 123456782", "123456782"), ("passport no: C01X00T47", "C01X00T47")]
)
def test_a_name_makes_any_number_a_states(text, number):
    start = text.index(number)
    assert find(text) == (Personal("national_id", start, start + len(number)),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no number at all",
        "2026-03-04 12:30:45",
        "04.03.2026 14:05",
        "01.02.2026",
        "version 1.2.3.4 and 10.0.0.1",
        "Boston, MA 02110-1301, USA",
        "1234567890",
        "12345678901",
        "550e8400-e29b-41d4-a716-446655440000",
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "DE89 3704 0044 0532 0130 01",
        "XX89 3704 0044 0532 0130 00",
        "4111 1111 1111 1112",
        "12345678A",
        "000-12-3456",
        "git@github.com:owner/repo.git",
        "ssh://git@github.com/owner/repo.git",
        "npm install @types/node@18.2.1",
        "icon@2x.png and logo@3x.webp",
        "@decorator.name def f(): ...",
        "user@localhost",
        "x = a+1234567890",
        "3.14159265358979 +1.12345679",
        "order 0000-0000-0000",
        "1,234,567,890",
        "10 000 000",
        "tokens: 128000",
        "sha256=0123456789",
        "https://sentry.io/organizations/4505000000000000/",
    ],
)
def test_other_numbers_and_signs_stay(text):
    assert find(text) == ()


def test_many_are_found_in_order_and_apart():
    text = "tom@example.com, +43 660 1234567, DE89 3704 0044 0532 0130 00; anna@example.com"
    found = find(text)
    assert [each.kind for each in found] == ["email_address", "phone_number", "iban", "email_address"]
    assert all(a.end <= b.start for a, b in pairwise(found))
