"""Numbers that states give to people: each has a form, and digits or letters that must fit the others.

A form is written with `9` for a digit and `A` for a capital letter. Those whose check is weak, and those that
have none, count only behind a name that says what they are, which `personal` looks after.
"""

from collections.abc import Callable
from datetime import date

from carrel.screen.cards import passes_luhn

_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_PPS = "WABCDEFGHIJKLMNOPQRSTUV"
_CURP = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
_PAIRS = ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
"""What a letter, or the digit of its place, counts at the odd places of an Italian code."""
_TIMES = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 4, 0, 6, 7, 8, 9, 5), (2, 3, 4, 0, 1, 7, 8, 9, 5, 6),
    (3, 4, 0, 1, 2, 8, 9, 5, 6, 7), (4, 0, 1, 2, 3, 9, 5, 6, 7, 8), (5, 9, 8, 7, 6, 0, 4, 3, 2, 1),
    (6, 5, 9, 8, 7, 1, 0, 4, 3, 2), (7, 6, 5, 9, 8, 2, 1, 0, 4, 3), (8, 7, 6, 5, 9, 3, 2, 1, 0, 4),
    (9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
)  # fmt: skip
_TURNS = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 5, 7, 6, 2, 8, 3, 0, 9, 4), (5, 8, 0, 3, 7, 9, 6, 1, 4, 2),
    (8, 9, 1, 6, 0, 4, 3, 5, 2, 7), (9, 4, 5, 3, 1, 2, 6, 8, 7, 0), (4, 2, 8, 6, 5, 7, 3, 9, 0, 1),
    (2, 7, 9, 3, 8, 0, 6, 4, 1, 5), (7, 0, 4, 6, 9, 1, 3, 2, 5, 8),
)  # fmt: skip
"""Verhoeff's tables."""


def _summed(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _is_short_day(text: str, *, day_first: bool = False) -> bool:
    """Tell whether six digits are a day, of this century or the last."""
    first, month, last = int(text[:2]), int(text[2:4]), int(text[4:6])
    year, day = (last, first) if day_first else (first, last)
    return _is_day(1900 + year, month, day) or _is_day(2000 + year, month, day)


def _is_american(number: str) -> bool:
    area, group, serial = number[:3], number[3:5], number[5:]
    is_area = area not in ("000", "666") and (area < "900" or group >= "50")
    return is_area and group != "00" and serial != "0000"


def _is_british(number: str) -> bool:
    return (
        number[:2] not in _PAIRS
        and number[0] not in "DFIQUV"
        and number[1] not in "DFIOQUV"
        and number[-1] in "ABCD"
    )


def _is_of_nhs(number: str) -> bool:
    return len({*number}) > 1 and -_summed(number, (10, 9, 8, 7, 6, 5, 4, 3, 2)) % 11 == int(number[-1])


def _is_german(number: str) -> bool:
    """One digit of the first ten comes twice or thrice, and the last one checks all of them."""
    counts = sorted(number[:10].count(digit) for digit in {*number[:10]})
    if number[0] == "0" or counts[-1] not in (2, 3) or counts[-2:-1] == [2]:
        return False
    product = 10
    for digit in number[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(number[-1])


def _is_spanish(number: str) -> bool:
    digits = number[:-1].translate(str.maketrans("XYZ", "012"))
    return digits.isdigit() and _DNI[int(digits) % 23] == number[-1]


def _is_french(number: str) -> bool:
    """A month of 20 and more stands for one that is not known."""
    month = int(number[3:5])
    is_month = 0 < month < 13 or month >= 20  # noqa: PLR2004
    return number[0] in "12" and is_month and 97 - int(number[:13]) % 97 == int(number[13:])


def _is_italian(number: str) -> bool:
    places = [int(c) if c.isdigit() else ord(c) - ord("A") for c in number]
    return (sum(places[1:15:2]) + sum(_ODD[place] for place in places[:15:2])) % 26 == places[15]


def _is_belgian(number: str) -> bool:
    is_checked = any(97 - int(century + number[:9]) % 97 == int(number[9:]) for century in ("", "2"))
    return is_checked and _is_short_day(number[:6])


def _is_swedish(number: str) -> bool:
    short = number[-10:]
    return _is_short_day(short[:6]) and passes_luhn(short)


def _is_finnish(number: str) -> bool:
    return (
        _is_short_day(number[:6], day_first=True)
        and _HETU[int(number[:6] + number[-4:-1]) % 31] == number[-1]
    )


def _is_norwegian(number: str) -> bool:
    first = -_summed(number, (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11
    second = -_summed(number, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return _is_short_day(number[:6], day_first=True) and f"{first}{second}" == number[9:]


def _is_polish(number: str) -> bool:
    month = int(number[2:4]) % 20
    is_day = _is_short_day(f"{number[:2]}{month:02}{number[4:6]}")
    return is_day and -_summed(number, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10 == int(number[-1])


def _is_swiss(number: str) -> bool:
    return number.startswith("756") and -_summed(number, (1, 3) * 6) % 10 == int(number[-1])


def _is_irish(number: str) -> bool:
    total = _summed(number[:7], (8, 7, 6, 5, 4, 3, 2)) + (9 * (ord(number[8]) - 64) if len(number) > 8 else 0)  # noqa: PLR2004
    return _PPS[total % 23] == number[7]


def _is_czech(number: str) -> bool:
    month = int(number[2:4]) % 50 % 20
    return _is_short_day(f"{number[:2]}{month:02}{number[4:6]}") and int(number) % 11 == 0


def _is_romanian(number: str) -> bool:
    left = _summed(number, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return (
        number[0] in "12345678" and _is_short_day(number[1:7]) and left % 10 + left // 10 == int(number[-1])
    )


def _is_south_african(number: str) -> bool:
    return _is_short_day(number[:6]) and number[10] in "01" and passes_luhn(number)


def _is_indian(number: str) -> bool:
    check = 0
    for place, digit in enumerate(reversed(number)):
        check = _TIMES[check][_TURNS[place % 8][int(digit)]]
    return number[0] not in "01" and check == 0


def _is_chinese(number: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    is_day = number[6:8] in ("18", "19", "20") and _is_short_day(number[8:14])
    return is_day and "10X98765432"[_summed(number[:17], weights) % 11] == number[-1]


def _is_korean(number: str) -> bool:
    """Its last digit checked the others until 2020; since then only the day and the century are known."""
    return _is_short_day(number[:6]) and number[6] in "12345678"


def _is_brazilian(number: str) -> bool:
    def check(digits: str) -> int:
        return _summed(digits, tuple(range(len(digits) + 1, 1, -1))) * 10 % 11 % 10

    return len({*number}) > 1 and f"{check(number[:9])}{check(number[:10])}" == number[9:]


def _is_mexican(number: str) -> bool:
    total = sum(_CURP.index(c) * weight for c, weight in zip(number[:17], range(18, 1, -1), strict=True))
    return _is_short_day(number[4:10]) and number[10] in "HMX" and number[-1] == str(-total % 10)


FORMS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("999-99-9999", _is_american),
    ("AA 99 99 99 A", _is_british),
    ("AA999999A", _is_british),
    ("999 999 9999", _is_of_nhs),
    ("99 999 999 999", _is_german),
    (
        "99999999999",
        lambda n: any(check(n) for check in (_is_german, _is_polish, _is_norwegian, _is_belgian)),
    ),
    ("999999 99999", _is_norwegian),
    ("99999999A", _is_spanish),
    ("99999999-A", _is_spanish),
    ("A9999999A", _is_spanish),
    ("A-9999999-A", _is_spanish),
    ("9 99 99 99 999 999 99", _is_french),
    ("999999999999999", _is_french),
    ("AAAAAA99A99A999A", _is_italian),
    ("99.99.99-999.99", _is_belgian),
    ("999999-9999", lambda number: _is_swedish(number) or _is_finnish(number)),
    ("99999999-9999", _is_swedish),
    ("999999-999A", _is_finnish),
    ("999999A9999", _is_finnish),
    ("999999A999A", _is_finnish),
    ("999.9999.9999.99", _is_swiss),
    ("9999999A", _is_irish),
    ("9999999AA", _is_irish),
    ("999999/9999", _is_czech),
    ("9999999999999", lambda number: _is_romanian(number) or _is_south_african(number)),
    ("9999 9999 9999", _is_indian),
    ("999999999999999999", _is_chinese),
    ("99999999999999999A", _is_chinese),
    ("999999-9999999", _is_korean),
    ("999.999.999-99", _is_brazilian),
    ("AAAA999999AAAAAA99", _is_mexican),
    ("AAAA999999AAAAAAA9", _is_mexican),
)
"""A form, and the check of what it holds without spaces and signs."""
