"""Row 5: damage of any kind to transcripts, notebooks, catalog, index and records.

What is not damaged is served, what is damaged is told of, and nothing hangs or falls over.
"""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.torture.crowd import together
from tests.torture.damages import CHANGES, REPLACEMENTS, Damage
from tests.torture.desk import FILES, Child, Desk, Say
from tests.torture.rows import Defect, Meter, Row
from tests.torture.waiting import HANG_SECONDS, stopwatch

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.sessions.transcript import Entry

_SESSIONS, _TURNS, _ROLES = ("s0", "s1", "s2"), 20, ("user", "assistant")
_SPEAKERS = (*_ROLES, "system", "tool")
_BLANK = b" \t\r\n\xef\xbb\xbf"
_EACH, _AT_ONCE = 2_000, 3
_ALARM = 20
_FOOTER = 200
"""Bytes at the end of a file of words that say how it was written, and have no checksum."""

_OPENINGS = (("",), ("read ", "search"), ("health",))
"""How the names of what is done begin, each time that a desk is opened; it is read the first two times."""

_READINGS = 2
_SERVED = "served "

_PLACES = 5
"""How many files of one desk are damaged, each of another kind: all are looked at in one go."""

TARGETS: dict[str, str] = {
    "transcript": "agents/kate/sessions/*.log.jsonl",
    "catalog": "agents/kate/sessions/sessions.json",
    "notebook": "MEMORY.md",
    "index": ".carrel/cache/index/**/*",
    "counts": ".carrel/cache/*.db",
    "records": ".carrel/state/records.db*",
}
NOTES = "# Memory\n\n## Notes\n\n" + "".join(
    f"- Note {number}: né 漢字 {number} 🐙\n" for number in range(40)
)
QUIET = {
    f"knowledge/k{number}.md": f"# K{number}\n\nThe zebra of {number} is striped.\n" for number in range(5)
}
"""What nobody damages: it must be found, whatever became of the index."""

TOKENS, OFFSETS = ".carrel/cache/tokens.db", ".carrel/cache/sessions.db"
FACT = "Ana uses a Samsung."
_ODD = {"unreadable", "not_a_file"}
"""How it is told of that something is no file, or none that is read."""

_OF_RECORDS = {"records_unavailable", "newer_format"}
_OF_STATE = {*_OF_RECORDS, "database_unavailable"}
"""How one is refused who needs records that cannot be used."""

_ASIDE = "set_aside"
_OF_INDEX = {"index_damaged", "catalog_damaged", "database_unavailable", "words_unavailable"}


_NEWER = re.compile(rb'"version": ?(?:[2-9]|\d\d)')
"""Of which a flipped bit makes the header of a log."""

_MAY_REFUSE: Mapping[str, tuple[str, ...]] = {
    "record": ("s0.log.jsonl", "records"),
    "prepare": ("s1.log.jsonl", "records"),
    "assemble as it was": ("s0.log.jsonl", "records"),
    "assemble": ("s2.log.jsonl", "records"),
    "sections": ("MEMORY.md",),
    "facts": ("records",),
    "sweep": ("records",),
    **{f"read {session}": (f"{session}.log.jsonl",) for session in _SESSIONS},
}
"""What of a desk each deed cannot do without; what is not named here is never refused."""


_SAID = ("message_id", "role", "content")
_NAMED = re.compile(rb'"message_id": ?"(\w+)"')


class Wound(NamedTuple):
    """A file that was damaged: which kind, how, and what it was before."""

    kind: str
    path: Path
    how: str
    before: bytes
    now: bytes | None
    """None where it is no file any more."""


def spoil(meter: Meter) -> None:
    """Let several at once damage files, and tell of all together."""
    totals = Counter[str]()
    for each in together(meter, _spoil_some, each=_EACH, most=_AT_ONCE):
        totals += each
    told = f"{totals['reported']:,} reported of {totals['injected']:,} injected"
    meter.figures["damaged lines of transcripts that could be read"] = told
    meter.figures["logs cut at the end of a line, or emptied"] = f"{totals['short']:,}, not told of"
    meter.figures["damaged index set aside"] = f"{totals['aside told']:,} told of {totals['aside']:,}"
    meter.figures["damaged caches set aside"] = (
        f"{totals['caches told']:,} told of {totals['caches']:,}: "
        f"{totals['counts']:,} of counts, {totals['offsets']:,} of where messages stand, others of the index"
    )
    meter.figures["damaged records"] = (
        f"{totals['broken']:,} told of; {totals['changed']:,} not noticed, in which SQLite finds nothing wrong; "
        f"{totals['gone']:,} begun anew, of which nothing was left"
    )


def _spoil_some(meter: Meter) -> Counter[str]:
    """Damage some files of a copy, and use the copy in every way; each file is a trial."""
    chance = random.Random(meter.seed)
    place, sound = meter.folder / "spoilt", meter.folder / "sound"
    desk = Desk(place, {**FILES, **QUIET, "MEMORY.md": NOTES})
    _fill(desk)
    logs = {session: desk.log(session).read_bytes() for session in _SESSIONS}
    place.rename(sound)
    _warm_up(meter, desk, sound)
    decks, totals = {kind: _deck(chance) for kind in TARGETS}, Counter[str]()
    while meter.goes_on:
        shutil.copytree(sound, place)  # where it was made: trust is bound to the place
        wounds = list(_wounds(desk, decks, chance))
        hurt = {session: _content(desk.log(session)) for session in _SESSIONS}
        pipe = Child(lambda say: _work_aside(desk, say))
        told = f"{meter.seed}/{meter.trials} {', '.join(f'{each.path.name} {each.how}' for each in wounds)}"
        said = pipe.listen()
        for fault in (
            *_faults(desk, wounds, logs, said),
            *_of_lines(hurt, said, totals),
            *_of_list(hurt, said),
            *_of_records(wounds, said, totals),
            *_of_index(desk, wounds, said, totals),
            *_of_caches(desk, said, totals),
        ):
            meter.check(is_kept=False, told=f"{told}: {fault}")
        totals["short"] += sum(map(_is_short, wounds))
        meter.tried(len(wounds))
        shutil.rmtree(place)
    return totals


def _warm_up(meter: Meter, desk: Desk, sound: Path) -> None:
    """Use a sound desk once, so that forks find everything loaded, and see that nothing is told of it."""
    shutil.copytree(sound, desk.root.parent)
    said = list[str]()
    work_at(desk, said.append)
    faults = (*_faults(desk, (), {}, said), *_of_records((), said, Counter()), *sorted(_told(said)))
    meter.check(not faults, f"where nobody damaged anything: {faults}")
    is_judged = _is_sound((desk.root / ".carrel/state/records.db").read_bytes())
    meter.check(is_judged, "what nobody damaged is taken for damaged records")
    shutil.rmtree(desk.root.parent)


def _told(said: Sequence[str]) -> set[str]:
    """Return the codes of all findings, warnings and errors."""
    typed = (line.split()[-1] for line in said if line.startswith("typed "))
    return {code for each in _served(said) for code in each["told"]} | set(typed)


def _served(said: Sequence[str]) -> list[dict[str, Any]]:
    """Return what was served each time that the desk was opened."""
    return [json.loads(line.removeprefix(_SERVED)) for line in said if line.startswith(_SERVED)]


def _first(said: Sequence[str]) -> dict[str, Any]:
    return next(iter(_served(said)), {})


def _fill(desk: Desk) -> None:
    with desk.open() as workspace:
        for session in _SESSIONS:
            for turn in range(_TURNS):
                said = f"Say {turn} of {session}: zebra né 漢字 🐙?"
                messages = [
                    {"role": "user", "content": said, "message_id": f"u{turn}"},
                    {"role": "assistant", "content": f"Yes, {turn}.", "message_id": f"a{turn}"},
                ]
                workspace.record(session, messages)
        workspace.memory.add(FACT)
        workspace.update_session_index("s0")
        workspace.search("zebra")
        workspace.prepare("s0", "Which phone does Ana use?")


def _deck(chance: random.Random) -> Iterator[Damage]:
    """Yield damages without end, in such an order that each has its turn."""
    while True:
        yield from chance.sample((*CHANGES, *REPLACEMENTS), len(CHANGES) + len(REPLACEMENTS))


def _wounds(desk: Desk, decks: Mapping[str, Iterator[Damage]], chance: random.Random) -> Iterator[Wound]:
    """Damage files of some kinds; of an earlier damage that moved files about, whatever is left."""
    for kind in chance.sample(sorted(TARGETS), _PLACES):
        found = [
            each for each in sorted(desk.root.glob(TARGETS[kind])) if each.is_file() and not each.is_symlink()
        ]
        if found := [each for each in found if each.stat().st_size]:
            path = chance.choice(found)
            before, damage, names = path.read_bytes(), next(decks[kind]), sorted(path.parent.iterdir())
            damage(path, chance)
            if (now := _content(path)) != before or names != sorted(path.parent.iterdir()):
                yield Wound(kind, path, damage.__name__[1:], before, now)


def _work_aside(desk: Desk, say: Say) -> None:
    """Do so with a standard error of its own: whatever is printed there, a user would see."""
    printed = os.open(_printed(desk), os.O_WRONLY | os.O_CREAT)
    os.dup2(printed, 2)
    work_at(desk, say)


def _printed(desk: Desk) -> Path:
    return desk.root.parent / "printed"


def work_at(desk: Desk, say: Say) -> None:
    """Use a desk in every way, read it once more, look at its health, and say each time what was served and told of."""
    signal.alarm(_ALARM)
    for wanted in _OPENINGS:
        served: dict[str, Any] = {"told": [], "of": []}
        try:
            with desk.open() as workspace:
                for name, deed in _deeds(workspace, served).items():
                    if name.startswith(wanted):
                        _time(name, deed, say)
        except CarrelError as error:
            served["told"].append(error.code)
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            say(f"crashed open: {type(error).__name__} {str(error)[:200]!r}")
        say(f"{_SERVED}{json.dumps(served)}")
    signal.alarm(0)
    say("done")


def _deeds(workspace: Workspace, served: dict[str, Any]) -> dict[str, Callable[[], object]]:
    def tell(findings: Iterable[Finding], of: str = "") -> None:
        for each in findings:
            served["told"].append(each.code)
            served["of"].append([of or each.path, each.code])

    def read(session: str) -> None:
        row = workspace.sessions.row(session)
        found = [_said(each.entry) for each in workspace.sessions.entries(session)]
        served[session] = {"entries": found, "damaged": row.damaged}
        tell(workspace.sessions.findings(session), f"read {session}")

    def prompt(session: str, what: str) -> None:
        assembly = workspace.assemble(session, "Which phone?")
        served[what] = assembly.to_text()
        served["states"] = {row.name: row.state for row in assembly.report.sections}
        tell(assembly.report.warnings)

    def search() -> None:
        found = workspace.search("zebra striped", limit=50)
        served["hits"], served["degraded"] = [hit.chunk.path for hit in found.hits], found.degraded
        tell(found.findings)

    def record() -> None:
        said = workspace.record(
            "s0", [{"role": role, "content": "More.", "message_id": role} for role in _ROLES]
        )
        tell(said.findings, "record")
        served["recorded"] = [_said(each.entry) for each in said.messages]

    def rows() -> None:
        served["rows"] = {each.id: each.entries for each in workspace.sessions.rows(limit=100)[0]}

    return {
        "health": lambda: tell(workspace.health().findings),
        **{f"read {session}": lambda session=session: read(session) for session in _SESSIONS},
        "assemble as it was": lambda: prompt(
            "s0", "kept"
        ),  # since its first call, whatever became of the file
        "assemble": lambda: prompt("s2", "prompt"),  # without a call before: of the file as it is
        "search": search,
        "sections": lambda: workspace.memory.notebook("MEMORY.md").sections(),
        "facts": lambda: served.update(facts=[each.text for each in workspace.memory.facts()]),
        "rows": rows,
        "record": record,
        "prepare": lambda: workspace.prepare("s1", "Which phone?"),
        "sweep": workspace.sweep,
    }


def _said(entry: Entry) -> list[object]:
    return [entry.message_id, entry.role, entry.content]


def _time(name: str, deed: Callable[[], object], say: Say) -> None:
    taken, worked = stopwatch(), time.process_time()
    try:
        deed()
    except CarrelError as error:
        say(f"typed {name} {error.code}")
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        say(f"crashed {name}: {type(error).__name__} {str(error)[:200]!r}")
    if (took := taken()) > HANG_SECONDS:
        say(f"hung {name} {took:.1f} s, of which it worked {time.process_time() - worked:.1f}")


def _faults(
    desk: Desk, wounds: Sequence[Wound], logs: dict[str, bytes], said: Sequence[str]
) -> Iterator[str]:
    """Yield what was not kept, by the disk and by what the child said of it."""
    if not said or said[-1] != "done":
        yield f"it fell over, or hung, after {said[-1:] or 'nothing'}"
        return
    if _printed(desk).exists() and (printed := _printed(desk).read_text("utf-8", "replace")):
        yield f"it printed {printed[:200]!r}"
    yield from (line for line in said if line.startswith(("crashed", "hung")))
    served, told = _served(said)[:_READINGS], _told(said)
    if "prompt" not in served[0] and not any(line.startswith("typed assemble ") for line in said):
        yield "there is no prompt"
    written = {line for log in logs.values() for line in log.split(b"\n") if line}
    for session in logs:
        own = _told_of(
            said, desk.log(session).name, f"read {session}", *(["record"] if session == "s0" else [])
        )
        for each in served:
            yield from _of_log(desk.log(session), written, each.get(session), own)
    if recorded := served[0].get("recorded", []):
        last = served[1].get("s0", {"entries": []})["entries"][-len(recorded) :]
        if last != recorded or last != [[role, role, "More."] for role in _ROLES]:
            yield f"what was recorded after the damage is served as {last}"
    yield from _of_refusals(wounds, said)
    yield from _of_rest(wounds, served[0], told, _told_of(said, "sessions.json", "record", "rows", "prepare"))


def _told_of(said: Sequence[str], *places: str) -> set[str]:
    """Return the codes that were told of a file, or by what is done with it."""
    typed = (line.removeprefix("typed ").rpartition(" ") for line in said if line.startswith("typed "))
    found = {
        code
        for each in _served(said)
        for where, code in each["of"]
        if (where or "").rpartition("/")[2] in places
    }
    return found | {code for deed, _, code in typed if deed in places}


def _of_lines(hurt: Mapping[str, bytes | None], said: Sequence[str], totals: Counter[str]) -> Iterator[str]:
    """Hold the number of damaged lines that is told of each log to what its bytes were then, exactly."""
    served = _first(said)
    for session, data in hurt.items():
        if data is not None and session in served:
            *lines, last = data.split(b"\n")
            lines += [last] if _grew_together(last) else []  # else it may be on its way
            injected = sum(bool(line.strip(_BLANK)) and not _is_entry(line) for line in lines)
            reported = served[session]["damaged"]
            totals.update(injected=injected, reported=reported)
            if reported != injected:
                yield f"{reported} lines of {session} are told to be damaged, of {injected}"


def _of_refusals(wounds: Sequence[Wound], said: Sequence[str]) -> Iterator[str]:
    """Yield what was refused, though nothing that it needs is such that nobody could do it."""
    out = {wound.path.name if wound.kind != "records" else wound.kind for wound in wounds if _is_lost(wound)}
    for line in said:
        deed, _, code = line.removeprefix("typed ").rpartition(" ")
        needs = {name for name in _MAY_REFUSE.get(deed, ()) if (name == "records") == (code in _OF_STATE)}
        if line.startswith("typed ") and not out & needs:
            yield f"{deed} is refused: {code}"


def _is_lost(wound: Wound) -> bool:
    """Tell whether a file is such that one may refuse to use it: it is none, is of a later version, or is no text."""
    if wound.now is None or wound.kind == "records":
        return True
    if wound.kind == "transcript":
        return bool(_NEWER.search(wound.now))
    return wound.kind == "notebook" and not _is_text(wound.now)


def _of_list(hurt: Mapping[str, bytes | None], said: Sequence[str]) -> Iterator[str]:
    """Yield each session with a log that can be read which the list lacks, or of which it tells other than is served."""
    served = _first(said)
    for session, data in hurt.items():
        if data is not None and "rows" in served:
            entries, listed = served.get(session, {"entries": []})["entries"], served["rows"].get(session)
            if listed != len(entries):
                yield f"{session} has {len(entries)} messages, and the list says {listed}"


def _of_log(
    path: Path, written: Iterable[bytes], own: dict[str, Any] | None, told: set[str]
) -> Iterator[str]:
    """Compare what is served of a log with what is whole in it, and what is told with what is broken in it."""
    if path.is_symlink() or not path.is_file():
        if path.is_symlink() or path.exists():
            yield from () if told & _ODD else (f"nobody is told what {path.name} is",)
        return
    data = path.read_bytes()
    yield from (
        f"{path.name}: {fault}" for fault in _of_entries(data, written, own["entries"] if own else [])
    )
    *lines, last = data.split(b"\n")
    broken = [line for line in lines if line.strip() and line not in written and not _is_json(line)]
    if (broken or (last and not _is_json(last))) and not {"torn_line", "damaged_lines"} & told:
        yield f"nobody is told of the damage to {path.name}"


def _of_entries(data: bytes, written: Iterable[bytes], served: Sequence[list[Any]]) -> Iterator[str]:
    """Yield where what is served is not each whole line of a log, once, in their order, as it was written."""
    found = sorted((data.find(line), line) for line in written if line in data)
    whole = [entry for _, line in found if (entry := json.loads(line))["type"] == "entry"]
    said = {
        entry["message_id"]: [entry[name] for name in _SAID] for entry in reversed(whole)
    }  # the first counts
    own = {entry[0]: entry for entry in served}
    if missing := said.keys() - own.keys():
        yield f"{sorted(missing)[:3]} are whole and are not served"
    twice = [name for name, times in Counter(entry[0] for entry in served).items() if name and times > 1]
    yield from (f"{name!r} is served twice" for name in twice)
    times = Counter(_NAMED.findall(data))
    sure = [name for name in said if times[name.encode()] == 1]  # else something broken may bear its name
    yield from (
        f"{said[name]} is served as {own[name]}" for name in sure if own.get(name, said[name]) != said[name]
    )
    order = [entry[0] for entry in served if entry[0] in sure]
    places = {entry["message_id"]: number for number, entry in enumerate(whole)}
    if order != sorted(order, key=places.__getitem__):
        yield f"{order} is not the order of their lines"


def _of_records(wounds: Sequence[Wound], said: Sequence[str], totals: Counter[str]) -> Iterator[str]:
    """Whatever SQLite finds wrong is told of; where nothing was done to the records, all of them are served."""
    served = _first(said)
    wound = next((each for each in wounds if each.kind == "records"), None)
    if wound is None:
        if served and served.get("facts") != [FACT]:
            yield f"of the records {served.get('facts')} are served"
        if "kept" in served and any(line not in served["kept"] for line in NOTES.splitlines()):
            yield "a session is not sent what it was sent before"
    elif wound.now == b"" or wound.how == "missing":
        totals["gone"] += 1  # as if there had never been any
    elif _is_sound(wound.now):
        totals["changed"] += 1
    else:
        totals["broken"] += 1
        if not _told(said) & _OF_RECORDS:
            yield "nobody is told of the records"


def _of_index(
    desk: Desk, wounds: Sequence[Wound], said: Sequence[str], totals: Counter[str]
) -> Iterator[str]:
    """Each answer is whole, or the first is poor and says so; damaged words are set aside, and all of it is told."""
    aside = [each.name for each in (desk.root / ".carrel/cache/index").glob("*.damaged")]
    totals["aside"] += bool(aside)
    for number, served in enumerate(_served(said)[:_READINGS]):
        missing = QUIET.keys() - set(served.get("hits", ()))
        if missing and (number or not served.get("degraded")):  # the first may be poor, and says so then
            yield f"{sorted(missing)[:2]} are not found by search {number + 1}"
    totals["aside told"] += bool(aside and _told(said) & _OF_INDEX)
    if aside and not _told(said) & _OF_INDEX:
        yield f"nobody is told of {aside}"
    for wound in wounds:
        is_word = wound.kind == "index" and wound.path.parent.name.startswith("words-")
        if is_word and "words.damaged" not in aside and not _is_word_sound(wound):
            yield f"{wound.path.name} is not set aside"


def _of_caches(desk: Desk, said: Sequence[str], totals: Counter[str]) -> Iterator[str]:
    """Whatever was set aside of what is kept for speed alone, the next look at the health tells of."""
    cache = desk.root / ".carrel/cache"
    aside = {each.relative_to(desk.root).as_posix() for each in cache.rglob("*.damaged")}
    totals["counts"] += f"{TOKENS}.damaged" in aside
    totals["offsets"] += f"{OFFSETS}.damaged" in aside
    told = {path for each in _served(said)[_READINGS:] for path, code in each["of"] if code == _ASIDE}
    totals.update({"caches": len(aside), "caches told": len(aside & told)})
    if told != aside:
        yield f"{sorted(aside ^ told)} are set aside and not told of, or the other way"


def _is_short(wound: Wound) -> bool:
    """Tell whether a log just ends earlier, at the end of a line, of which nobody can tell."""
    now = wound.now
    is_cut = wound.kind == "transcript" and now is not None and wound.before.startswith(now)
    return is_cut and (now or b"\n").endswith(b"\n") and now != wound.before


def _is_word_sound(wound: Wound) -> bool:
    """Tell whether a file of words may pass for sound: its text is what it was, or it is one without a checksum."""
    if wound.now is None:
        return wound.how == "missing" and wound.path.suffix == ".json"
    return wound.path.suffix == ".json" or wound.now[:-_FOOTER] == wound.before[:-_FOOTER]


def _of_rest(
    wounds: Sequence[Wound], served: dict[str, Any], told: set[str], of_catalog: set[str]
) -> Iterator[str]:
    for wound in wounds:
        if wound.kind == "notebook":
            yield from _of_notebook(wound, served) if "prompt" in served else ()
        elif wound.kind == "catalog" and wound.now is None and wound.how != "missing":
            yield from () if of_catalog & _ODD else ("nobody is told what the catalog is",)
        elif wound.kind == "catalog" and wound.now is not None and not _is_json(wound.now):
            # Who cannot write to a session has no use for the catalog, and leaves it as it is.
            yield from (
                () if "rebuilt" in told or "recorded" not in served else ("nobody is told of the catalog",)
            )


def _of_notebook(wound: Wound, served: dict[str, Any]) -> Iterator[str]:
    """Whatever line of it is still whole is in the prompt; what cannot be read is told to be so."""
    if wound.now is None:
        state = served["states"].get("MEMORY.md")
        if wound.how != "missing" and state not in ("unreadable", "blocked", "missing"):
            yield f"MEMORY.md is something else, and told to be {state}"
    else:
        whole = [
            line
            for line in wound.now.split(b"\n")
            if line.startswith(b"- Note") and line in wound.before.split(b"\n")
        ]
        lost = [line.decode() for line in whole if line.decode() not in served["prompt"]]
        if lost and served["states"].get("MEMORY.md") not in ("truncated", "unreadable", "blocked"):
            yield f"{lost[:1]} is whole and is not in the prompt, and MEMORY.md is {served['states'].get('MEMORY.md')}"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def _is_entry(line: bytes) -> bool:
    """Tell whether a line says what one of a transcript has to; what is of an unknown type is somebody else's."""
    try:
        found = json.loads(line.strip(_BLANK).decode())
    except ValueError:
        return False
    if not isinstance(found, dict) or found.get("type") not in ("entry", "session"):
        return isinstance(found, dict)
    if found["type"] == "session":
        return isinstance(found.get("id"), str)
    texts = (found.get(name, "") for name in ("timestamp", "message_id", "source_plugin", "scope"))
    return found.get("role") in _SPEAKERS and all(isinstance(each, str) for each in texts)


def _grew_together(line: bytes) -> bool:
    """Tell whether a line is made of whole ones, behind which no other was begun; rubbish may stand around them."""
    text, decoder = line.decode("utf-8", "surrogateescape"), json.JSONDecoder()
    place = max(0, text.find("{"))
    while text.startswith("{", place):
        try:
            place = decoder.raw_decode(text, place)[1]
        except ValueError:
            return False
    return place > 0 and "{" not in text[place:]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_json(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except ValueError:
        return False


def _is_sound(data: bytes | None) -> bool:
    """Tell whether SQLite itself finds nothing wrong with a database, from its bytes alone."""
    if data is None:
        return False
    if data[18:20] == b"\2\2":  # in memory there is no log beside it, and one that has a log cannot be opened
        data = data[:18] + b"\1\1" + data[20:]
    try:
        with sqlite3.connect(":memory:") as database:
            database.deserialize(data)
            return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    except (
        sqlite3.Error,
        MemoryError,
        UnicodeDecodeError,
    ):  # no bytes, or a text that is none, it does not foresee
        return False


CORRUPTION = Row(
    number=5,
    promise="corruption of transcripts, notebooks, catalog, index, records",
    quick=400,
    long=20_000,
    share=16,
    parts=2,
    in_memory=True,
    run=spoil,
    passes="0 crashes, 0 hangs over 1 s, every undamaged record served, damage reported: of transcripts line for line",
    defects=(
        Defect(
            "sessions/transcript.py",
            "    except ValueError:\n        return Found(tuple(_recovered(raw)), is_damaged=True)",
            "    except ValueError:\n        return Found(is_damaged=True)",
            "what is whole in a damaged line is lost",
        ),
        Defect(
            "sessions/account.py",
            "    if known.damaged:",
            "    if known.damaged > 1_000:",
            "damage is not told of",
        ),
        Defect(
            "sessions/catalog.py",
            "        return rows, content.digest, None\n    aside",
            "        return rows, content.digest, None\n    return {}, content.digest, None\n    aside",
            "a catalog that cannot be read is taken for an empty one",
        ),
        Defect(
            "sessions/transcript.py",
            '*+)*+"?|',
            '*+)*+"|',
            "a torn text is looked at again from each quote in it",
        ),
        Defect(
            "records/content.py",
            "        raise RecordDamaged(what) from error",
            "        raise error",
            "a record that cannot be read is no typed error",
        ),
        Defect(
            "app.py",
            "            self.records.check()\n",
            "            self.records.layout()\n",
            "of damaged records that nobody has met yet, nobody is told",
        ),
        Defect(
            "index/embedded/soundness.py",
            "if not each.is_file(follow_symlinks=False)",
            "if not each.name",
            "a pipe among the words of the index is waited for",
        ),
        Defect(
            "index/trouble.py",
            "            self._mended[part] = finding",
            "            del finding",
            "of an index that was set aside, nobody is told",
        ),
        Defect(
            "home/beside.py",
            '"index": "*.damaged"',
            '"index": "words.damaged"',
            "of what stands aside since it was damaged, health tells only a part",
        ),
        Defect(
            "sessions/transcript.py",
            "_typed(plainjson.loads(body))",
            '_typed(plainjson.loads(body.decode("ascii", "ignore").encode()))',
            "of what was said, letters are lost",
        ),
        Defect(
            "sessions/log.py",
            "            if self._number_of(line.message_id) is None:",
            "            if self._number_of(line.message_id) is not line:",
            "what damage has doubled is served twice",
        ),
        Defect(
            "sessions/log.py",
            "                if known.newer:\n",
            "                if known.newer or known.damaged:\n",
            "nobody can record any more where a line was damaged",
        ),
        Defect(
            "sessions/store.py",
            "for name in names[offset:end]], len(names)",
            "for name in names[offset:end] if not self._row(name).damaged], len(names)",
            "a session with a damaged line is not in the list",
        ),
    ),
)
