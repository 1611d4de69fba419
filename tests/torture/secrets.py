"""Row 11: secrets of every kind come in on every way, and are looked for in everything that is kept or sent.

`bench/planted.py` draws them as vendors describe them. One that the screen does not know gets by and costs
recall; one that it knows and that is in a sink all the same got past it, which no share of them may.
"""

import asyncio
import json
import logging
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from bench.innocent import SORTS, lines
from bench.planted import BY_CONTEXT, BY_FORM, Planted, is_covered, planted
from tests.privacy.house import shell
from tests.stubs.clients import talk
from tests.stubs.embeddings import EmbeddingsStub
from tests.torture import wire
from tests.torture.desk import FILES, Desk
from tests.torture.rows import Defect, Meter, Row
from tests.torture.secrets_said import (
    MODEL,
    SESSIONS,
    Parrot,
    Say,
    Way,
    fill,
    imported,
    imported_files,
    session_of,
    ways,
)

from carrel.app import Workspace
from carrel.clock import SystemClock
from carrel.errors import CarrelError
from carrel.http.app import build
from carrel.http.served import Served
from carrel.index.analysis import PLAIN, fold, words
from carrel.index.embedded.soundness import WORDS_FILE
from carrel.mcp.seat import Seat
from carrel.mcp.server import build as build_mcp
from carrel.screen.secrets import find
from carrel.workspace.scope import Scope

KINDS = len(BY_FORM) + len(BY_CONTEXT)
_BATCH = 100
_LEAST_RECALL, _MOST_WRONG = 0.99, 0.005
_PLAIN = re.compile(r"[\w.~+/=-]{8,}")
_TAIL = 12
_PACKAGES = ("_pytest", "click", "hypothesis/internal", "httpx")
_LEAST_WORD = 8
_LINES = 2_000
_DRAWS = 20
_OWN = "memory/own.md"
_SESSIONS = "agents/kate/sessions"
_TOKEN = "t" * 43


class Heard(NamedTuple):
    """What left the process or was told to somebody: texts to embed, lines of logs, answers, errors, spans."""

    stub: EmbeddingsStub
    spans: Any
    logged: list[str]
    errors: list[str]
    answers: list[str]


class Broke(Exception):
    """Something that should not happen; its name may be told, what it says not."""


class Listener(logging.Handler):
    """Keeps every line that anybody logs, however small."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(f"{record.name}: {self.format(record)}")


@contextmanager
def _listening() -> Iterator[Heard]:
    """Hear all that is logged and traced, and be the server that embeds."""
    from opentelemetry import trace  # noqa: PLC0415 - who has it loaded is traced, and other rows are not to be
    from opentelemetry.sdk.trace import TracerProvider, export  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import in_memory_span_exporter  # noqa: PLC0415 - as above

    spans, logged = in_memory_span_exporter.InMemorySpanExporter(), list[str]()
    provider, root = TracerProvider(), logging.getLogger()
    provider.add_span_processor(export.SimpleSpanProcessor(spans))
    level, listener = root.level, Listener(logged)
    before = trace.get_tracer, trace.get_tracer_provider
    with EmbeddingsStub() as stub:
        # The one of the process can be set once only; spans are made where there is one.
        trace.get_tracer, trace.get_tracer_provider = provider.get_tracer, lambda: provider
        root.addHandler(listener)
        root.setLevel(logging.DEBUG)
        try:
            yield Heard(stub, spans, logged, [], [])
        finally:
            root.setLevel(level)
            root.removeHandler(listener)
            trace.get_tracer, trace.get_tracer_provider = before


def _desk(folder: Path, heard: Heard, files: Mapping[str, str] = FILES) -> Desk:
    """Make a workspace whose texts are embedded by the server that listens."""
    settings = folder / "home/config/config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"search: {{embedder: ollama, embedder_url: '{heard.stub.origin}', embedder_model: stub}}\n"
    )
    return Desk(
        folder,
        {
            **files,
            "carrel.yaml": "layout: carrel\n"
            'agents: [{id: kate, trigger_interval: 1, allowed_tools: ["*", memory]}]\n',
        },
    )


def _live(desk: Desk, heard: Heard, samples: Sequence[Planted], meter: Meter) -> dict[str, str]:
    """Let all of it come in, do what is done at night, and return everything that was kept of it."""
    named: list[str] = []
    says = [partial(_named, named), *(partial(_unnamed, sample) for sample in samples)]
    with desk.open() as workspace:
        for number, say in enumerate(says):
            _let_in(heard, ways(workspace, number, say))
        _let_in(heard, imported(workspace, desk.root.parent / "sources", says))
        _let_in(heard, (workspace.sweep, workspace.dreaming.run, *_compacting(workspace, says, meter)))
        _let_in(heard, [lambda: workspace.conversations.learning.consolidate(None)])
        _let_in(heard, [lambda: workspace.tools().call("read_file", {"path": f"{_MARK}.md"})])
        workspace.prepare(_MARK, "What is there?")
        workspace.search("keys", mode="hybrid")
        workspace.searching.wait()
        rows = (workspace.memory.history(limit=100_000), workspace.memory.facts(limit=100_000),
                workspace.records.audit.events(limit=100_000), workspace.memory.review.waiting(limit=10_000))  # fmt: skip
    _break_down(desk, heard, samples)
    kept = {
        "files": _read(desk.root, lambda path: ".carrel" not in path and not path.startswith(_SESSIONS))
        + _read(desk.home, lambda path: path.startswith("data")),
        "transcripts": _read(desk.root, lambda path: path.startswith(_SESSIONS)),
        "index": _read(desk.root, lambda path: path.startswith(".carrel/cache")),
        "words": _indexed(desk.root, samples),
        "records": _read(desk.root, lambda path: path.startswith(".carrel/state")) + repr(rows),
        "exports": "".join(
            shell(desk.root, desk.environ, "export", "--format", form) for form in ("json", "html")
        ),
    }
    everything = "".join((*kept.values(), *heard.errors, *heard.stub.texts))
    for name in filter(None, dict.fromkeys(named)):
        meter.check(
            _MARK + name in everything, f"what comes in as {name} is not found: nobody tried that way"
        )
    return kept


def _named(named: list[str], name: str) -> str:
    """Return the harmless text as it comes in on a way, and take note of the way."""
    named.append(name)
    return _HARMLESS.text.replace(_MARK, _MARK + name)


def _unnamed(sample: Planted, _name: str) -> str:
    return sample.text


def _let_in(heard: Heard, way_by_way: Iterable[Way]) -> None:
    """Let texts in, and keep what is answered, or why they were refused."""
    for way in way_by_way:
        try:
            heard.answers.append(repr(way()))
        except CarrelError as error:
            heard.errors.append(f"{error.message} {error.hint}")


def _compacting(workspace: Workspace, says: Sequence[Say], meter: Meter) -> Iterator[Way]:
    """Yield compactions: of one session by rules, of the others by a model that repeats the secrets in it."""
    for session in range(SESSIONS):
        fill(workspace, session_of(session))
    yield lambda: workspace.compact(session_of(0))
    for session in range(1, SESSIONS):
        texts = [say("compacted") for say in (says[0], *says[session::SESSIONS])]
        yield lambda session=session, texts=texts: _by_model(workspace, session_of(session), texts, meter)


def _by_model(workspace: Workspace, session: str, texts: Sequence[str], meter: Meter) -> object:
    done = asyncio.run(workspace.summarise(session, Parrot(texts)))
    meter.check(done.method == MODEL, f"a summary that repeats what was said was not taken: {done.findings}")
    return done


def _indexed(root: Path, samples: Sequence[Planted]) -> str:
    """Return what the index of words knows by its longest word: in its own files no text is plain."""
    import tantivy  # noqa: PLC0415 - heavy

    folders = [path.parent for path in (root / ".carrel/cache").rglob(WORDS_FILE)]
    searchers = [tantivy.Index.open(str(folder)).searcher() for folder in folders]

    def is_known(word: str) -> bool:
        return bool(word) and any(each.doc_freq("exact", word) for each in searchers)

    secrets = [sample.text[sample.start : sample.end] for sample in samples]
    known = [secret for secret in secrets if is_known(_telling_word(secret))]
    return "\n".join((*known, _MARK if is_known(f"{_MARK}said") else ""))


def _telling_word(secret: str) -> str:
    """Return the longest word of a secret as it is indexed, none where others may have it too."""
    found = max(words(fold(secret), PLAIN), key=len, default="")
    is_telling = len(found) >= _LEAST_WORD and any(char.isdigit() for char in found)
    return found if is_telling else ""


def _break_down(desk: Desk, heard: Heard, samples: Sequence[Planted]) -> None:
    """Let a server fail in the midst of its work, by HTTP and by MCP, with each of them in the error.

    What breaks is told to the log, to who traces, and to who asked.
    """
    with ExitStack() as stack:
        served = stack.enter_context(Served([desk.root], open=lambda _, agent: _opened(desk, agent)))
        app = build(served, token=_TOKEN, clock=SystemClock())
        port, workspace = stack.enter_context(wire.at_a_port(app)), served.workspace(agent="kate")
        said = iter([*(sample.text for sample in samples for _ in _SERVERS)])

        def breaks(*_: object, **__: object) -> object:
            raise Broke(next(said))

        workspace.searching.find = breaks  # type: ignore[method-assign]
        head = {"Authorization": f"Bearer {_TOKEN}"}
        for _ in samples:
            answer = wire.send(port, "GET", b"/api/v1/w/default/search?q=keys&agent=kate", head)
            heard.errors.append(f"http {answer.status} {answer.text}")
        heard.errors.extend(talk(_by_protocol(workspace), lambda client: _asked(client, len(samples))))
        assert next(said, None) is None, "somebody did not break down"


def _opened(desk: Desk, agent: str | None) -> Workspace:
    return Workspace.open(desk.root, agent=agent, team=agent is None, environ=desk.environ)


def _by_protocol(workspace: Workspace) -> Any:
    return build_mcp(lambda _: Seat(workspace=workspace, scope=Scope.MAIN, may_write=True))


async def _asked(client: Any, times: int) -> list[str]:
    return [f"mcp {await client.call_tool('memory_search', {'query': 'keys'})}" for _ in range(times)]


def _read(root: Path, wanted: Callable[[str], bool]) -> str:
    paths = (path for path in sorted(root.rglob("*")) if path.is_file())
    kept = (path.read_bytes() for path in paths if wanted(path.relative_to(root).as_posix()))
    return "\n".join(data.decode("utf-8", "replace") for data in kept)


def _by_hand(folder: Path, heard: Heard, samples: Sequence[Planted]) -> str:
    """Have an owner write all of it into a file, which is theirs; return what is exported for people."""
    texts = [sample.text for sample in samples]
    text = "\n\n".join((*texts, *texts))
    desk = _desk(folder, heard, {**FILES, "notes/keys.md": text, _OWN: text})
    with desk.open() as workspace:
        call = partial(workspace.tools(session="s1").call, "memory")
        twice = [
            {
                "command": "str_replace",
                "path": f"/memories/{_OWN.rpartition('/')[2]}",
                "old_str": each,
                "new_str": "x",
            }
            for each in texts
        ]
        _let_in(heard, (partial(call, arguments) for arguments in twice))
        _let_in(heard, imported_files(workspace, folder / "sources", [*texts, _HARMLESS.text]))
        workspace.search("keys")
        workspace.searching.wait()
    return "".join(
        shell(desk.root, desk.environ, "export", "--format", form) for form in ("markdown", "html")
    )


_MARK = "plainunhiddenword4711"
_HARMLESS = Planted("harmless", "", f"The harbour has {_MARK} and many boats.", 0, 0)
"""What comes in like the secrets, and is no secret."""

_SERVERS = ("carrel.http", "carrel.mcp")
_SHOW_IT = ("files", "transcripts", "index", "words", "records", "exports", "embeddings", "answers")
_FOUND = {
    **dict.fromkeys(_SHOW_IT, (_MARK,)),
    "errors": (_MARK, "http 500", "mcp ", "did not appear", "Multiple occurrences"),
    "logs": (*(f"{name}: " for name in _SERVERS), Broke.__name__),
    "telemetry": (_MARK, Broke.__name__),
}
"""What is found in each sink if somebody looks there: the harmless, or its session, or what broke by its name."""


_LEFT_OUT = (
    "not tried: errors and answers that repeat a name (of a tool, a file, a mode) to who gave it",
    "not tried: ids that the application chooses, of sessions, messages and calls",
    "not looked at: answers that are a search or a file as it stands; files of the owner, and what indexes them",
    "not looked at: words of the index for secrets without a long word that has a digit, and vectors",
)


def _looked_in(meter: Meter, kept: Mapping[str, str]) -> set[str]:
    """Return the sinks in which what may be there is there; in any other, nobody would have seen a secret."""
    missing = {sink: [mark for mark in _FOUND[sink] if mark not in text] for sink, text in kept.items()}
    for sink, marks in missing.items():
        meter.check(not marks, f"{sink} does not have {marks}, so that nothing would be found there")
    return {sink for sink, marks in missing.items() if not marks}


def keep_no_secret(meter: Meter) -> None:
    """Let batches of secrets come in, each into a workspace of its own, and look for them everywhere."""
    chance, batch, sinks = random.Random(meter.seed), 0, set(_FOUND)
    drawn, got_by = _drawn(chance, meter.wanted), 0
    while meter.goes_on and drawn:
        samples, drawn = drawn[:_BATCH], drawn[_BATCH:]
        with _listening() as heard:
            desk = _desk(meter.folder / f"said{batch}", heard)
            kept = _live(desk, heard, samples, meter)
            kept["exports"] += _by_hand(meter.folder / f"written{batch}", heard, samples)
            kept |= {"embeddings": "\n".join(heard.stub.texts), "logs": "\n".join(heard.logged),
                     "errors": "\n".join(heard.errors), "answers": "\n".join(heard.answers),
                     "telemetry": _spans(heard)}  # fmt: skip
        sinks &= _looked_in(meter, kept)
        for sample in samples:
            pieces = _pieces(sample)
            found = [sink for sink, text in kept.items() if any(piece in text for piece in pieces)]
            got_by += bool(found)
            meter.check(
                not (found and is_covered(sample)),
                f"{sample.kind} ({sample.form}) is in {', '.join(found)}: {sample.text!r}",
            )
            meter.tried()
        batch += 1
    meter.left_out += [f"not looked in: {sink}" for sink in sorted(set(_FOUND) - sinks)]
    meter.left_out += _LEFT_OUT
    _hold_each_kind(meter)
    _tell(meter, sorted(sinks), 1 - got_by / max(1, meter.trials))


def _drawn(chance: random.Random, wanted: int) -> list[Planted]:
    """Draw as many secrets as are wanted, of all kinds by turns."""
    each = -(-wanted // KINDS)
    samples = [*planted(each, chance.randrange(10**9))]
    return [samples[kind * each + n] for n in range(each) for kind in range(KINDS)]


def _pieces(sample: Planted) -> set[str]:
    """Return parts of a secret that look the same however it is written down: of its middle, and of its end.

    Where it has none that is long enough, it is looked for whole, in each way in which it may be written.
    """
    secret = sample.text[sample.start : sample.end]
    plain = max(_PLAIN.findall(secret), key=len, default="")
    if not plain:
        return {
            secret,
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            escape(secret),
        }
    middle = max(0, len(plain) // 2 - 20)
    return {plain[middle : middle + 40], plain[-_TAIL:]}


def _spans(heard: Heard) -> str:
    return "\n".join(span.to_json() for span in heard.spans.get_finished_spans())


def _hold_each_kind(meter: Meter) -> None:
    """Hold each kind to a floor of its own: in the share of all, one that is not known at all hardly shows."""
    covered = Counter(sample.kind for sample in planted(_DRAWS, meter.seed) if is_covered(sample))
    for kind in (*BY_FORM, *BY_CONTEXT):
        meter.check(covered[kind] * 2 > _DRAWS, f"of {_DRAWS} of {kind}, {covered[kind]} are found")
    least = min((*BY_FORM, *BY_CONTEXT), key=lambda kind: covered[kind])
    meter.figures["least known"] = f"{least}: {covered[least]} of {_DRAWS}"


def _tell(meter: Meter, sinks: Sequence[str], recall: float) -> None:
    """Hold the shares to their limits: of secrets that are kept out, and of innocent lines that are taken for one."""
    folders = [Path(sysconfig.get_path("purelib"))]
    if meter.wanted <= KINDS:
        folders = [folders[0] / name for name in _PACKAGES]
    patterns = [pattern for sort in SORTS.values() for pattern in sort]
    innocent = [*lines(folders, patterns)]
    innocent = random.Random(meter.seed).sample(innocent, min(len(innocent), max(_LINES, meter.wanted)))
    wrong = sum(bool(find(line)) for line in innocent) / len(innocent)
    meter.check(recall >= _LEAST_RECALL, f"recall is {recall:.2%}")
    meter.check(wrong <= _MOST_WRONG, f"{wrong:.2%} of innocent lines are taken for secrets")
    meter.figures |= {
        "kinds": f"{KINDS}", "sinks": ", ".join(sinks), "recall": f"{recall:.2%}",
        "false positives": f"{wrong:.2%} of {len(innocent):,} lines",
    }  # fmt: skip


SECRETS = Row(
    number=11,
    promise="secrets of every kind, looked for in all that is kept or sent",
    quick=KINDS,
    long=10_000,
    share=27,
    run=keep_no_secret,
    passes="recall >= 99 %, most of every kind, false positives <= 0.5 %, none that is known in any sink",
    defects=(
        Defect(
            "index/embed/screened.py",
            '            yield told if self._screen.secrets == "allow" else without_walls(told)\n',
            "            yield told\n",
            "the rest of a key that begins in another chunk is embedded",
        ),
        Defect(
            "screen/policy.py",
            "        is_now = is_new if not line.strip() else line not in standing\n",
            "        is_now = line not in standing\n",
            "an empty line within a key lets its other half through",
        ),
        Defect(
            "records/rows/recalls.py",
            "    return redact(query).text\n",
            "    return redact(query).text and query\n",
            "a query is kept with the secrets in it",
        ),
        Defect(
            "telemetry.py",
            "record_exception=False",
            "record_exception=True",
            "a span tells what an error says",
        ),
        Defect(
            "mcp/answers.py",
            "doing, type(error).__name__, place)",
            "doing, repr(error), place)",
            "a log tells what an error says",
        ),
        Defect(
            "index/literal/needles.py",
            "raise BadPattern(redact(problem).text, hint=_HINT)",
            "raise BadPattern(problem, hint=_HINT)",
            "an error quotes the secret that was looked for",
        ),
        Defect(
            "tools/memory_errors.py",
            'redact(message).text, hint="View the path, correct',
            'message, hint="View the path, correct',
            "the memory tool quotes the secret that it was to replace",
        ),
        Defect(
            "tools/memory_tool.py",
            'text_of(place, written).split("\\n") if written else []',
            'edited.split("\\n")',
            "the memory tool answers with what it was given, not with what it wrote",
        ),
        Defect(
            "sessions/attachments.py",
            "screen(found.data.decode())[0].encode()",
            "found.data",
            "what is attached is kept with the secrets in it",
        ),
        Defect(
            "sessions/intake.py",
            "    return screen(given)[0] if given else given\n",
            "    return given\n",
            "who says something is kept with the secrets in the name",
        ),
        Defect(
            "runtime/compact.py",
            "self.sessions.screened(summary.strip())",
            "summary.strip()",
            "a model's summary is kept with the secrets that it repeats",
        ),
        Defect(
            "importing/planning.py",
            "_screened(target.desk.screen.of(text))",
            "text",
            "what an import asks its owner is kept with the secrets in it",
        ),
        Defect(
            "screen/shapes.py",
            'rf"pat-(?:na|eu|ap)[0-9]-{_UUID}"',
            'rf"pat-(?:na|eu|ap)[0-9]--{_UUID}"',
            "one kind of key is not known",
        ),
    ),
)
