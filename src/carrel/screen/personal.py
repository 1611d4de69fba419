"""Is this somebody's? Find addresses of mail, telephones, accounts, cards and states' numbers in text.

Names, streets and addresses of machines are left alone: too many other things look like them.
"""
# ruff: noqa: RUF001 - signs of Chinese and Japanese are meant

import re
from collections.abc import Iterator
from string import ascii_uppercase, digits

from msgspec import Struct

from carrel.screen.cards import cards
from carrel.screen.ids import FORMS

__all__ = ["KINDS", "Personal", "find"]

KINDS: dict[str, str] = {
    "credit_card": "The number of a payment card: a known issuer, its length, and a right check digit.",
    "email_address": "An address of electronic mail.",
    "iban": "The number of a bank account: a known country, its length, and right check digits.",
    "national_id": "A number that a state gives to a person, with its check, or behind its name.",
    "phone_number": "A telephone number: international, as in North America, or behind a name that says so.",
}
"""A mark in a text shows a kind in upper case: `[REDACTED:EMAIL_ADDRESS]`."""

_LOCAL = re.compile(r"[\w.%+'-]{1,64}\Z")
_LOCAL_END = re.compile(r"[\w+-]")
_DOMAIN = re.compile(r"@(?:[\w-]{1,63}\.){1,8}(?P<top>[^\W\d_]{2,24})(?![\w-]|\.\w|:(?!\s)|/)")
_FILES = frozenset(
    ("css", "gif", "html", "jpeg", "jpg", "js", "json", "md", "png", "py", "svg", "ts", "txt", "webp")
)

_SHAPE = bytes(
    ord("9") if c in digits else ord("A") if c in ascii_uppercase else ord(c) if c in " -./" else 0
    for c in map(chr, range(256))
)
_SIGNS = str.maketrans("", "", " -./")
_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
    "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31,
    "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "XK": 20,
}  # fmt: skip
"""Of an account's number, by country."""
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?:[ ]?[A-Z0-9]{1,4}){3,8}(?![A-Za-z0-9])")
_IBAN_STARTS = (b"AA99A", b"AA999", b"AA99 ")

_INTERNATIONAL = re.compile(
    r"(?<![\w+.=-])(?<![0-9] )(?:\((?=\+[0-9]{1,3}\))\+[0-9]++\)|(?:\+|00(?=[1-9][0-9]{0,2}[ ./(-]))[1-9]"
    r"(?!\.[0-9]+(?![0-9 ./-]))[0-9]*+)(?:[ ./-]{1,2}(?:\([0-9]++\)|[0-9]++)|\([0-9]++\)[ -]?[0-9]*+){0,8}+"
    r"(?![\w-]|\.[0-9])"
)
_NATIONAL = re.compile(
    r"(?<![\w.+/:-])(?<![0-9] )(?![0-9]{2}[./-][0-9]{2}[./-]|[0-9]{5}-[0-9]{4}(?![0-9]| [0-9]))"
    r"(?:\(0[0-9]{1,4}\)[ -]{0,2}[0-9]++|0[1-9][0-9]{0,4}+(?=[ ./-]))"
    r"(?:[ ./-]{1,2}[0-9]{2,8}+){0,5}+(?![\w:-]|[./][0-9])"
)
"""With the zero that is dialled before an area, and signs between; neither a day nor a postal code."""
_AMERICAN = re.compile(
    r"(?<![\w./-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-. ])[2-9][0-9]{2}[-. ][0-9]{4}(?![\w-]|\.[0-9])"
)
_AMERICAN_FORMS = (b"999-999-9999", b"999.999.9999", b"999 999 9999", b"999\0 999-9999", b"999\0999-9999")
_CALLED = re.compile(
    r"(?:(?<![a-z])(?:(?:tele)?(?:phone|fon|fono|fone)|tel|mobile|cell|fax|handy|mobil|whatsapp|movil|móvil|celular"
    r"|téléphone|portable)|電話|电话|手机)(?:[ ]?(?:number|nummer|numero|número|no|nr))?\.?[ \t]{0,3}"
    r"(?:is|ist|es|est|[:=：#])?[ \t]{0,3}(?P<number>\(?[0-9](?:[ ./()-]{0,2}[0-9]){5,14})(?![\w-]|\.[0-9])",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?<![A-Za-z])(?:ssn|social security(?: number)?|nino?|national insurance(?: number)?|nif|nie|dni|bsn"
    r"|tfn|sin|svnr|pesel|cpf|curp|aadhaar|pan|steuer-?id(?:nr|entifikationsnummer)?|steuernummer"
    r"|sozialversicherungsnummer|personnummer|codice fiscale|passport(?: number| no)?|reisepass(?:nummer)?"
    r"|personalausweis(?:nummer)?|national id|tax id|id card|身份证(?:号码?)?|マイナンバー)\.?[ \t]{0,2}"
    r"(?:is|ist|es|[:=：#])[ \t]{0,2}(?P<number>[A-Z0-9](?:[ ./-]?[A-Z0-9]){6,19})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_LEAST_DIGITS, _MOST_DIGITS = 7, 15
_ENOUGH_OF_AN_ID = 5


class Personal(Struct, frozen=True):
    """One piece of personal data: what it is, and the characters that it takes."""

    kind: str
    start: int
    end: int


def find(text: str) -> tuple[Personal, ...]:
    """Return the personal data of a text in order; no two overlap."""
    chosen: list[Personal] = []
    for found in sorted(_candidates(text), key=lambda p: (p.start, -p.end)):
        if not chosen or found.start >= chosen[-1].end:
            chosen.append(found)
    return tuple(chosen)


def _candidates(text: str) -> Iterator[Personal]:
    plain = text.encode("latin-1", "replace")
    yield from _mails(text)
    yield from (Personal(c.kind, c.start, c.end) for c in cards(text, plain))
    shape = plain.translate(_SHAPE)
    if b"9" not in shape:
        return
    yield from _accounts(text, shape)
    yield from _ids(text, shape)
    yield from _phones(text, shape)


def _mails(text: str) -> Iterator[Personal]:
    at = text.find("@")
    while at != -1:
        is_led = _LOCAL_END.match(text, max(0, at - 1), at)
        local = _LOCAL.search(text, max(0, at - 64), at) if is_led else None
        domain = _DOMAIN.match(text, at) if local else None
        if (
            local
            and domain
            and domain["top"].lower() not in _FILES
            and not text.startswith("//", local.start() - 2)
        ):
            start = local.start() + len(local[0]) - len(local[0].lstrip(".'%-"))
            if start < at:
                yield Personal("email_address", start, domain.end())
        at = text.find("@", at + 1)


def _accounts(text: str, shape: bytes) -> Iterator[Personal]:
    for form in _IBAN_STARTS:
        start = shape.find(form)
        while start != -1:
            found = None if text[start - 1 : start].isalnum() else _IBAN.match(text, start)
            end = _end_of_account(found[0]) if found else 0
            if end:
                yield Personal("iban", start, start + end)
            start = shape.find(form, start + 1)


def _end_of_account(number: str) -> int:
    """Return how many characters of it are an account's, none where its check digits are wrong."""
    wanted = _LENGTHS.get(number[:2], 0)
    taken = 0
    for place, character in enumerate(number, 1):
        taken += character != " "
        if taken == wanted and not number[place : place + 1].isalnum():
            plain = number[:place].replace(" ", "")
            moved = plain[4:] + plain[:4]
            return place if int("".join(str(int(c, 36)) for c in moved)) % 97 == 1 else 0
    return 0


def _ids(text: str, shape: bytes) -> Iterator[Personal]:
    for form, check in FORMS:
        start = shape.find(form.encode())
        while start != -1:
            end = start + len(form)
            if _stands_alone(text, start, end) and check(text[start:end].translate(_SIGNS)):
                yield Personal("national_id", start, end)
            start = shape.find(form.encode(), start + 1)
    for named in _NAMED.finditer(text):
        if sum(map(str.isdigit, named["number"])) >= _ENOUGH_OF_AN_ID:
            yield Personal("national_id", *named.span("number"))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether a number is no part of a longer one, of a word or of a link."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if (
        before[-1:].isalnum()
        or after[:1].isalnum()
        or before[-1:] in ("_", "/", "=", "-", ".")
        or after[:1] in ("_", "/", "-")
    ):
        return False
    is_row = (before[-1:] == " " and before[:1].isdigit()) or (
        after[:1] in (" ", ".") and after[1:].isdigit()
    )
    return not is_row


def _phones(text: str, shape: bytes) -> Iterator[Personal]:
    if "+" in text or "00" in text:
        for found in _INTERNATIONAL.finditer(text):
            least = _LEAST_DIGITS + 4 if found[0].startswith("00") else _LEAST_DIGITS
            if least < sum(map(str.isdigit, found[0])) <= _MOST_DIGITS:
                yield Personal("phone_number", *found.span())
    for found in _NATIONAL.finditer(text):
        if _LEAST_DIGITS + 1 < sum(map(str.isdigit, found[0])) < _MOST_DIGITS - 2:
            yield Personal("phone_number", *found.span())
    if any(form in shape for form in _AMERICAN_FORMS):
        yield from (Personal("phone_number", *found.span()) for found in _AMERICAN.finditer(text))
    yield from (Personal("phone_number", *found.span("number")) for found in _CALLED.finditer(text))
