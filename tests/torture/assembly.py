"""Row 6: the same files and inputs are the same bytes, everywhere; within budget, in order, with nothing left unsaid."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Self

from tests.torture.crowd import together
from tests.torture.prompts import Asked, faults, hidden
from tests.torture.rows import Defect, Meter, Row
from tests.torture.written import LAYOUTS, Desk, text, write_workspace

_TURKISH = "tr_TR.UTF-8"
"""Where a capital i has a dot, numbers have a comma, and days are called otherwise."""

PLACES: Sequence[dict[str, str]] = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Pacific/Apia"},
    {"PYTHONHASHSEED": "99", "LC_ALL": _TURKISH, "TZ": "America/St_Johns"},
)
"""What differs between machines and must make no difference."""

_ASKED, _TOLD = 0.1, 0.25
"""Of the workspaces, how many are asked a question too, for which an index has to be made, and how many have a session."""

_COUNTED = 0.1
"""Of the answers, of how many the tokens are counted again."""

_IN = "locale "
_EACH, _AT_ONCE = 20_000, 3
_NOW = "2026-04-24T23:30:00Z"
_TOTALS = (10, 60, 200, 700, 2_000, 6_000, 20_000)
_FILES = (None, None, None, 8, 30, 300, 3_000)


def assemble_everywhere(meter: Meter) -> None:
    """Let several at once assemble random workspaces, and tell of all together."""
    totals, places = Counter[str](), _places(meter)
    for each in together(meter, partial(_assemble_some, places), each=_EACH, most=_AT_ONCE):
        totals += each
    for told in ("with a search", "in a session that goes on", "with tokens counted again"):
        meter.figures[f"of these {told}"] = f"{totals[told]:,}"
    meter.figures["layouts"] = ", ".join(f"{name} {totals[name]:,}" for name in sorted(LAYOUTS))
    locales = {name.removeprefix(_IN) for name in totals if name.startswith(_IN)}
    meter.figures["locales"] = ", ".join(sorted(locales - {""}))
    if _TURKISH not in locales:
        meter.left_out.append(f"a locale with other rules: {_TURKISH} is not here, and cannot be made")


def _places(meter: Meter) -> list[dict[str, str]]:
    """Return where to assemble; a locale that this machine lacks is made in a folder of its own."""
    folder = meter.folder / "locales"
    folder.mkdir()
    words = ["localedef", "-i", _TURKISH.partition(".")[0], "-f", "UTF-8", str(folder / _TURKISH)]
    try:
        subprocess.run(words, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return list(PLACES)  # perhaps it is installed; who assembles there says so
    return [each | ({"LOCPATH": str(folder)} if each["LC_ALL"] == _TURKISH else {}) for each in PLACES]


def _assemble_some(environs: Sequence[dict[str, str]], meter: Meter) -> Counter[str]:
    """Assemble random workspaces in several processes that share nothing but the files."""
    chance, totals = random.Random(meter.seed), Counter[str]()
    with ExitStack() as stack:
        places = [stack.enter_context(_Place(each)) for each in environs]
        totals.update(f"{_IN}{place.locale}" for place in places)
        while meter.goes_on:
            homes = (f"home-{each['PYTHONHASHSEED']}" for each in environs)
            desk = write_workspace(meter.folder / "one", chance, homes)
            for told in _wrong(meter, desk, places, chance, totals):
                meter.check(is_kept=False, told=f"{meter.seed}/{meter.trials} {desk.layout} {told}")
            shutil.rmtree(meter.folder / "one")
    return totals


def _wrong(
    meter: Meter, desk: Desk, places: Sequence["_Place"], chance: random.Random, totals: Counter[str]
) -> Iterator[str]:
    """Ask two places all that is asked of a workspace, and yield what is wrong."""
    prefixes, said = dict[str, list[Any]](), list[dict[str, Any]]()
    for place in places:
        place.moves_on()
    for questions in _rounds(desk.layout, chance):
        two = (places[0], chance.choice(places[1:]))
        if talk := [each for each in questions if "said" in each]:
            places[0].ask(desk.root, talk)
            places[0].answers(len(talk))
            said += talk
        asked = [each for each in questions if "said" not in each]
        for place in two:  # both work at the same time
            place.ask(desk.root, asked)
        answers = [place.answers(len(asked)) for place in two]
        for question, *own in zip(asked, *answers, strict=True):
            is_counted = chance.random() < _COUNTED
            heard = _heard(said, question["scope"]) if question["session"] else []
            one = Asked(desk, **question, said=heard, is_counted=is_counted)
            yield from (f"{question}: {told}" for told in _faults(one, own, prefixes))
            totals["with a search"] += bool(one.query)
            totals["in a session that goes on"] += bool(one.session)
            totals["with tokens counted again"] += is_counted
        totals[desk.layout] += len(asked)
        meter.tried(len(asked))


def _heard(said: Sequence[dict[str, Any]], scope: str) -> list[tuple[str, str]]:
    """Return roles and texts of what was said, to others only what was said before them."""
    return [
        (message["role"], message["content"])
        for each in said
        if scope == "main" or each["scope"] == "shared"
        for message in each["said"]
    ]


def _rounds(layout: str, chance: random.Random) -> Iterator[list[dict[str, Any]]]:
    """Yield questions that are asked together; of some workspaces, in a session that goes on between two rounds."""
    budgets = [_budget(layout, chance, total) for total in (None, *chance.sample(_TOTALS, 5))]
    calls: list[dict[str, Any]] = [
        {"scope": scope, "budget": budget, "query": "", "session": ""}
        for scope in ("main", "shared")
        for budget in budgets
    ]
    yield calls
    if chance.random() < _ASKED:
        yield [
            {**each, "query": f"Which is word{chance.randrange(50)}?"}
            for each in (calls[0], calls[1], calls[6])
        ]
    if chance.random() < _TOLD:
        for turn in range(3):
            said = [
                {
                    "role": role,
                    "content": f"turn {turn} {text(chance, count(1_000)).whole}",
                    "message_id": f"{role}{turn}",
                }
                for role in ("user", "assistant")
            ]
            asked = [{**each, "session": "s1"} for each in (calls[0], calls[1], calls[6])]
            yield [{"session": "s1", "said": said, "scope": chance.choice(("main", "shared"))}, *asked]


def _budget(layout: str, chance: random.Random, total: int | None) -> dict[str, int]:
    """Return limits in words that a layout knows: a squad shares out the memory of its agent."""
    file = chance.choice(_FILES) if total is not None and layout != "squad" else None
    own = {"memory" if layout == "squad" else "total": total, "file": file}
    return {name: limit for name, limit in own.items() if limit is not None}


def _faults(asked: Asked, answers: Sequence[dict[str, Any]], prefixes: dict[str, list[Any]]) -> Iterator[str]:
    """Yield what is wrong with the answers to a question."""
    answer = answers[0]
    if "error" in answer:
        yield f"error {answer['error']}"
        return
    if answer != answers[1]:
        yield f"not the same: {_difference(answers)}"
    call = f"{asked.scope} {asked.budget} {asked.session}"
    now = answer["messages"] if asked.session else [answer["report"]["prefix"]["sha256"]]
    before = prefixes.get(call, [])
    prefixes[call] = now
    if now[: len(before)] != before:
        yield f"a question, or a turn, changed what stood before it: {_difference([before, now])}"
    shown = "\n".join(f"=== {role.upper()} ===\n{text}\n" for role, text in answer["messages"])
    if sha256(shown.encode()).hexdigest() != answer["text"]:
        yield "as text it is another one"
    yield from faults(asked, answer)
    call = f"hidden {asked.budget} {asked.query} {asked.session}"
    if asked.scope == "main":
        prefixes[call] = [hidden(asked, answer)]
    elif call in prefixes and prefixes[call] != [answer["report"]["hidden"]]:
        yield f"{answer['report']['hidden']} are said to be hidden, and {prefixes[call][0]} are"


def _difference(answers: Sequence[object]) -> list[str]:
    """Return the first piece of each answer that is not in all of them."""
    told = [json.dumps(answer, sort_keys=True) for answer in answers]
    place = next((at for at, each in enumerate(zip(*told, strict=False)) if len(set(each)) > 1), 0)
    return [each[max(0, place - 100) : place + 200] for each in told]


class _Place:
    """A process on another machine, as far as a process can tell."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.assembler"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **{
                    name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ
                },  # with a defect, perhaps
                **environ,
                "CARREL_NOW": _NOW,
                "CARREL_OS": "Linux",
            },
            cwd=Path(__file__).parents[2],
        )
        self._is_new = True
        self.locale = self._hear()
        """What is in force there; nothing where what was asked for is not there."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def moves_on(self) -> None:
        """Go to another workspace, whose owner trusts it here too."""
        self._is_new = True

    def ask(self, root: Path, questions: Sequence[dict[str, Any]]) -> None:
        assert self._process.stdin is not None
        asked = {"root": str(root), "questions": questions, "is_new": self._is_new}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        self._is_new = False

    def answers(self, count: int) -> list[dict[str, Any]]:
        """Return an answer to each; where it could not answer, an error to each."""
        answers = self._hear() or [{"error": "it ended"}]
        return answers if len(answers) == count else answers[-1:] * count

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline() or b"null")


ASSEMBLY = Row(
    number=6,
    promise="assembly: determinism, budget, order, delimiters, complete report, stable prefix",
    quick=1_000,
    long=200_000,
    share=100,
    parts=2,
    in_memory=True,
    run=assemble_everywhere,
    passes="0 violations over processes, hash seeds, locales, time zones",
    defects=(
        Defect("context/render.py", "re.IGNORECASE", "re.NOFLAG", "a tag in capitals closes a document"),
        Defect(
            "context/sources.py",
            "ranked.sort(key=lambda pair: pair[0])",
            "ranked.sort(key=lambda pair: (pair[0][:3], hash(pair[0][3])))",
            "files of one rank stand in no order",
        ),
        Defect(
            "context/budget.py",
            'fitted.append(section.out("excluded", "total") if full else section)',
            "fitted.append(section)",
            "the total is not kept to",
        ),
        Defect(
            "context/budget.py",
            "left = -1 if total_binds else left - fitted[-1].size",
            "left = left",
            "the total is not kept to, where texts are cut for it",
        ),
        Defect(
            "context/budget.py",
            "left = budget.total - taken  #",
            "left = budget.total  #",
            "memory gets more than the other files leave",
        ),
        Defect(
            "context/select.py",
            "text=selection.escape(text)), part, path)",
            "text=selection.escape(text[:-1])), part, path)",
            "the last character of a text is lost, and it is said to be whole",
        ),
        Defect(
            "context/inputs.py",
            "_WEEKDAYS[self.today.weekday()]",
            'self.today.strftime("%A")',
            "days are called as on the machine",
        ),
        Defect(
            "context/budget.py",
            "if section.kept and section.counted and not section.pinned:",
            "if section.kept and not section.pinned:",
            "memory and journal are left out for a total that is not theirs",
        ),
        Defect(
            "context/budget.py",
            'return replace(cut, state="truncated", reason=reason, limit=limit)',
            'return replace(cut, state="truncated", reason=reason)',
            "the limit that cut a text is not told",
        ),
        Defect(
            "context/assemble.py",
            "draft.messages.extend(settled.messages)",
            'draft.messages.extend(replace(each, role="user") for each in settled.messages)',
            "all that was said before is the user's",
        ),
        Defect(
            "context/assemble.py",
            "window=inputs.window or window.size,",
            "window=inputs.window or 128_000,",
            "every model has the same window",
        ),
        Defect(
            "context/assemble.py",
            "self._forecast(tokens, inputs) if inputs.history else None",
            "self._forecast(tokens, inputs) if inputs.query else None",
            "nobody foretells when a session is full",
        ),
        Defect(
            "sessions/store.py",
            "placed = tuple(each for each in placed if each.entry.scope == Scope.SHARED)",
            "placed = tuple(placed)",
            "others hear what was said to the owner alone",
        ),
    ),
)
