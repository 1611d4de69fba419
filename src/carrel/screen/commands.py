"""Passwords that programs take behind a short flag: `curl -u me:secret`, `sshpass -p secret`."""

import re
from collections.abc import Iterator

from carrel.screen import likely
from carrel.screen.candidate import NAMED, Candidate

_WORDS = r"(?:[^\s|;&]{1,200}+[ \t]{1,8}+){0,20}?"  # what stands between a program and its flag
_VALUE = r"(?:\"(?P<double>[^\"\r\n]{4,256})\"|'(?P<single>[^'\r\n]{4,256})'|(?P<bare>[^\s\"'|;&<>]{4,256}))"
_PAIR = (
    r"(?:\"[^\s:\"]{1,64}:(?P<double>[^\"\r\n]{4,256})\"|'[^\s:']{1,64}:(?P<single>[^'\r\n]{4,256})'"
    r"|[^\s:\"']{1,64}:(?P<bare>[^\s\"'|;&<>]{4,256}))"
)
_COMMANDS = tuple(
    (anchor, re.compile(form))
    for anchor, form in (
        (b"curl ", rf"curl[ \t]{{1,8}}+{_WORDS}(?:-u|--user|-U|--proxy-user)[ \t=]?{_PAIR}"),
        (b"wget ", rf"wget[ \t]{{1,8}}+{_WORDS}(?:--http-password|--password|--ftp-password)[ \t=]{_VALUE}"),
        (b"sshpass ", rf"sshpass[ \t]+(?:-v[ \t]+)?-p[ \t]?{_VALUE}"),
        (b" login ", rf"[ \t]login[ \t]{{1,8}}+{_WORDS}-p[ \t=]{_VALUE}"),
        (b"mysql", rf"mysql(?:dump|admin|import)?[ \t]{{1,8}}+{_WORDS}-p{_VALUE}"),
        (b"redis-cli ", rf"redis-cli[ \t]{{1,8}}+{_WORDS}-a[ \t]{_VALUE}"),
        (b"ldapsearch ", rf"ldapsearch[ \t]{{1,8}}+{_WORDS}-w[ \t]{_VALUE}"),
        (b"openssl ", rf"openssl[ \t]{{1,8}}+{_WORDS}-pass(?:in|out)?[ \t]pass:{_VALUE}"),
    )
)


def commands(text: str, plain: bytes) -> Iterator[Candidate]:
    """Yield what stands behind such a flag and looks like a password."""
    for anchor, form in _COMMANDS:
        start = plain.find(anchor)
        while start != -1:
            found = form.match(text, start)
            if found and found.lastgroup and likely.is_password(found[found.lastgroup], place="literal"):
                yield Candidate(NAMED, *found.span(found.lastgroup), "password")
            start = plain.find(anchor, start + 1)
