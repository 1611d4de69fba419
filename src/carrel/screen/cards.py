"""Numbers of payment cards: issuer's prefix and length, the groups that people write, Luhn's check digit."""

import re
from collections.abc import Iterator

from carrel.screen.candidate import CERTAIN, Candidate

_DIGITS = bytes(
    ord("9") if chr(byte) in "0123456789" else 32 if chr(byte) in " -" else 0 for byte in range(256)
)
_FORMS = (b"9999 9999 9999 9999", b"9999 999999 9999", b"9" * 14)
_RUN = re.compile(r"[0-9]++")
_IN_LINK = re.compile(r"://[^\s\"'<>()`?]{1,200}/\Z")
_NUMBER = re.compile(
    # It begins neither within a longer number nor within a row of a table.
    r"(?:(?<![A-Za-z0-9_.-])|(?<=\\[nrt]))(?<![0-9]{4}[ -])"
    r"(?:[0-9]{14,16}+|[0-9]{4}(?P<gap>[ -])"
    r"(?:[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{4}|[0-9]{6}(?P=gap)[0-9]{4,5}))"
    r"(?![A-Za-z0-9_]|\.[0-9]|-|[ ][0-9]{4}(?![0-9]))"
)
_ISSUERS = re.compile(
    r"4[0-9]{15}"  # Visa
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
    r"|3[47][0-9]{13}"  # American Express
    r"|3(?:0[0-5]|[689][0-9])[0-9]{11}"  # Diners Club
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}"  # Discover
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}"  # JCB
    r"|62[0-9]{14}"  # UnionPay
)
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""Twice a digit, and of that the sum of its digits."""


def passes_luhn(digits: str) -> bool:
    """Tell whether the last digit is the check digit of the others."""
    values = [int(digit) for digit in reversed(digits)]
    return (sum(values[::2]) + sum(_DOUBLED[value] for value in values[1::2])) % 10 == 0


def cards(text: str, plain: bytes) -> Iterator[Candidate]:
    """Yield the numbers of cards, in one piece or in the groups of their issuer."""
    shape = plain.translate(_DIGITS)
    for form in _FORMS:
        start = shape.find(form)
        while start != -1:
            number = _NUMBER.match(text, start)
            if number and _is_card(number[0]) and not _IN_LINK.search(text, max(0, start - 256), start):
                yield Candidate(CERTAIN, *number.span(), "credit_card")
            run = _RUN.match(text, start)
            start = shape.find(form, run.end() if run else start + 1)


def _is_card(number: str) -> bool:
    digits = number.replace(" ", "").replace("-", "")
    return _ISSUERS.fullmatch(digits) is not None and passes_luhn(digits)
