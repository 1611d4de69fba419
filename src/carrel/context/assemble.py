"""Assembly: the layout's messages for one call, and the account of them."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from carrel.context import formats
from carrel.context.budget import Budget
from carrel.context.build import Built, Ground, build, row_of
from carrel.context.cache import Look, Lookout, Memo
from carrel.context.calls import to_plain
from carrel.context.compare import recollect, remember, what_broke
from carrel.context.forecast import Forecast, forecast, turn_sizes
from carrel.context.inputs import Inputs
from carrel.context.report import Report, Row, Tokens, describe_prefix
from carrel.context.section import Section
from carrel.context.template import parse_template
from carrel.context.volatile import VOLATILE, recall_lines, volatile_sections
from carrel.findings import Finding
from carrel.records import Payload
from carrel.sessions.message import Message
from carrel.sessions.window import settle
from carrel.tokens import describe_model, is_countable
from carrel.workspace.layout import MessageSpec

_MOST_KEPT = 16_000_000
_ROW_SIZE = 1_000
"""A row's own weight, in the characters by which what is kept is measured."""


class Assembly(Struct, frozen=True, kw_only=True):
    """The messages for one call and the report on them; `frozen` is what the session keeps from now on."""

    messages: tuple[Message, ...]
    report: Report
    frozen: Mapping[str, Built]

    def to_text(self) -> str:
        """Return what the model would read, as plain text with a line for each role and each call."""
        return "\n".join(f"=== {m.role.upper()} ===\n{to_plain(m)}\n" for m in self.messages)

    def to_openai(self, *, model: str | None = None) -> formats.Body:
        """Return the request body of OpenAI's chat completions."""
        return formats.to_openai(self, model=model)

    def to_responses(self, *, model: str | None = None) -> formats.Body:
        """Return the request body of OpenAI's responses."""
        return formats.to_responses(self, model=model)

    def to_anthropic(self, *, model: str | None = None) -> formats.Body:
        """Return the request body of Anthropic's messages, with cache points at the ends of stable parts."""
        return formats.to_anthropic(self, model=model)

    @property
    def stable(self) -> int:
        """How many leading messages the next call will have as well."""
        return formats.count_stable(self)

    def with_warnings(self, findings: Iterable[Finding]) -> Self:
        """Return the same assembly, whose report says more."""
        warnings = tuple(dict.fromkeys((*self.report.warnings, *findings)))
        return replace(self, report=replace(self.report, warnings=warnings))

    def remember(self) -> Payload:
        """Return what the session's next call will be compared with."""
        return remember(self.report.sections, self.report.scope)


class Standing(Struct, frozen=True):
    """What files and prompt give to a call, whatever is said in it: rows, and the texts of the system."""

    rows: tuple[Row, ...] = ()
    texts: tuple[str, ...] = ()


class _Draft(Struct, kw_only=True):
    """An assembly in the making."""

    messages: list[Message] = []
    rows: list[Row] = []
    frozen: dict[str, Built] = {}
    identities: frozenset[str] = frozenset()
    hidden: int = 0
    warnings: list[Finding] = []
    is_exact: bool = True
    """Whether every text is such that its tokens can be counted exactly."""

    def add(self, spec: MessageSpec, built: Built) -> None:
        """Take on a finished message."""
        self.messages.extend(Message(spec.role, text) for text in built.texts)
        self.rows.extend(built.rows)
        self.identities = built.identities
        self.hidden += built.hidden
        self.warnings.extend(built.warnings)
        self.see(*built.texts)

    def see(self, *texts: str) -> None:
        """Look whether texts can be counted exactly."""
        self.is_exact = self.is_exact and all(map(is_countable, texts))


class _HistoryRows:
    """The rows of messages that were counted before, by place and text; when they are many, none is kept."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str], Row] = {}
        self._size = 0

    def get(self, number: int, text: str) -> Row | None:
        """Return the row that this text had at this place."""
        return self._rows.get((number, text))

    def put(self, number: int, text: str, row: Row) -> None:
        """Keep a row; letting go of all is rare, and needs no order in which they were used."""
        self._size += len(text) + _ROW_SIZE
        if self._size > _MOST_KEPT:
            self._rows, self._size = {}, 0
        else:
            self._rows[number, text] = row


class Assembler:
    """Assembles one agent's context from one workspace, keeping what has not changed between calls."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._lookout = Lookout((ground.documents, ground.namespaces))
        self._messages: Memo[Built] = Memo()
        self._whole: Memo[Assembly] = Memo()
        self._for_process: dict[Hashable, Built] = {}
        self._history = _HistoryRows()

    def assemble(
        self,
        inputs: Inputs,
        *,
        budget: Budget | None = None,
        frozen: Payload | None = None,
        before: Payload | None = None,
    ) -> Assembly:
        """Return the messages for one call; equal files and inputs give equal bytes.

        `frozen` holds what the session keeps from its beginning, `before` what its last call sent.
        """
        draft, look = _Draft(), self._lookout.look()
        budget = self.limits(Budget() if budget is None else budget)
        whole = None if frozen or before is not None else self._whole_key(inputs, budget)
        if (kept := self._kept(whole, look)) is not None:
            return kept
        for number, spec in enumerate(self.ground.layout.messages):
            if spec.history:
                self._add_history(draft, inputs)
            elif spec.parts[0].kind in VOLATILE:
                self._add_volatile(draft, spec, inputs)
            else:
                built = self._message(look, number, inputs, budget, draft.identities, frozen=frozen or {})
                draft.add(spec, built)
                if spec.reload == "session":
                    draft.frozen[str(number)] = built
        look.end()
        self.ground.counts.flush()
        assembly = Assembly(
            messages=tuple(draft.messages), report=self._report(draft, inputs, before), frozen=draft.frozen
        )
        if whole is not None:
            self._whole.put(whole, assembly, look.all_seen())
        return assembly

    def standing(self, inputs: Inputs, *frozen: Payload) -> list[Standing]:
        """Return what files and prompt give to a call: as they are now, and with each of what was frozen.

        All of it in one look at the files; nothing is counted for it that a call would not count.
        """
        look, budget = self._lookout.look(), self.limits(Budget())
        found = [self._standing(look, inputs, budget, frozen=each) for each in (None, *frozen)]
        look.end()
        return found

    def _standing(self, look: Look, inputs: Inputs, budget: Budget, frozen: Payload | None) -> Standing:
        draft = _Draft()
        for number, spec in enumerate(self.ground.layout.messages):
            if not spec.history and spec.parts[0].kind not in VOLATILE:
                built = self._message(look, number, inputs, budget, draft.identities, frozen=frozen or {})
                draft.add(spec, built)
        texts = (message.to_text() for message in draft.messages if message.role == "system")
        return Standing(tuple(draft.rows), tuple(texts))

    def at_hand(self, inputs: Inputs, *, budget: Budget | None = None) -> Assembly | None:
        """Return what `assemble` would, if it is kept and the files are near; costs a stat for each.

        It reads none, so that a server can ask for it where it must not wait.
        """
        if not (self.ground.documents.is_near and self.ground.namespaces.is_near):
            return None
        whole = self._whole_key(inputs, self.limits(Budget() if budget is None else budget))
        return None if whole is None else self._kept(whole, self._lookout.look())

    def _kept(self, whole: Hashable | None, look: Look) -> Assembly | None:
        if whole is None or (kept := self._whole.get(whole, look)) is None:
            return None
        look.end()
        return kept

    def _whole_key(self, inputs: Inputs, budget: Budget) -> Hashable | None:
        """Return all that an assembly depends on beside files; none where each call brings something new."""
        if inputs.history or inputs.query or inputs.recall or inputs.left_out:
            return None
        midnight = inputs.now.replace(hour=0, minute=0, second=0, microsecond=0)
        return (replace(inputs, now=midnight), budget, tuple(self.ground.counts.findings))

    def limits(self, given: Budget) -> Budget:
        """Fill in what was not given: as the settings say, else the layout."""
        layout, agent, settings = self.ground.layout, self.ground.agent, self.ground.settings.budgets
        memory_room = _first(agent.memory_tokens, settings.memory_tokens)
        total = memory_room if layout.overflow == "rest" else layout.limits.total
        return Budget(
            file=_first(given.file, settings.file, layout.limits.file),
            total=_first(given.total, settings.total, total),
            memory=_first(given.memory, agent.memory.max_tokens),
        )

    def _message(
        self,
        look: Look,
        number: int,
        inputs: Inputs,
        budget: Budget,
        rendered: frozenset[str],
        *,
        frozen: Payload,
    ) -> Built:
        """Return a message of files and prompt: as frozen, as kept, or built anew."""
        spec = self.ground.layout.messages[number]
        if spec.reload == "session" and str(number) in frozen:
            return Built.from_json(frozen[str(number)])
        if spec.reload == "process":
            key = (number, inputs.scope, budget)
            if key not in self._for_process:
                self._for_process[key] = build(self.ground, spec, inputs, budget, rendered)[0]
            return self._for_process[key]
        key = (number, inputs.scope, budget, inputs.today, rendered, self._said_in(spec, inputs))
        built = self._messages.get(key, look)
        if built is None:
            built, readings = build(self.ground, spec, inputs, budget, rendered)
            self._messages.put(key, built, look.note(readings))
        return built

    def _said_in(self, spec: MessageSpec, inputs: Inputs) -> tuple[str | None, ...]:
        """Return what of this call, beside the day, a message may say: session, and recall in the prompt."""
        names_session = any("{session}" in line for part in spec.parts for line in part.lines)
        session = inputs.session if names_session else None
        if "memory" not in parse_template(self.ground.agent.system_prompt_template).uses:
            return (session,)
        return (session, *recall_lines(self.ground.layout, inputs.recall))

    def _add_history(self, draft: _Draft, inputs: Inputs) -> None:
        settled = settle(inputs.history)
        draft.messages.extend(settled.messages)
        draft.warnings.extend(settled.findings())
        for number, message in enumerate(settled.messages, 1):
            text = to_plain(message)
            draft.see(text)
            row = self._history.get(number, text)
            if row is None:
                row = self._row(Section(name=f"history {number}", kind="history", text=text))
                self._history.put(number, text, row)
            draft.rows.append(row)

    def _add_volatile(self, draft: _Draft, spec: MessageSpec, inputs: Inputs) -> None:
        if spec.role == "user" and not inputs.query:
            return
        sections = list(self._volatile(spec, inputs))
        texts = [section.text for section in sections]
        if texts:
            draft.messages.append(Message(spec.role, tuple(texts) if len(texts) > 1 else texts[0]))
            draft.see(*texts)
            for section in sections:
                self.ground.counts.count_once(section.text)
                draft.rows.append(self._row(section))

    def _volatile(self, spec: MessageSpec, inputs: Inputs) -> Iterator[Section]:
        template = parse_template(self.ground.agent.system_prompt_template)
        recalled = "memory" in template.inserts
        return volatile_sections(self.ground.layout, spec.parts, inputs, recalled=recalled)

    def _row(self, section: Section) -> Row:
        tokens = self.ground.counts.count(section.text)
        measured = replace(section, raw_tokens=tokens, size=self.ground.ruler.size(section.text))
        return row_of(measured, section.text, self.ground.counts)

    def _report(self, draft: _Draft, inputs: Inputs, before: Payload | None) -> Report:
        ground = self.ground
        rows = tuple(draft.rows)
        tokens, model_name = self._tokens(draft, inputs)
        changed_by = what_broke(recollect(before), rows, inputs.scope) if before is not None else None
        return Report(
            layout=ground.layout.name,
            agent=ground.agent.id,
            session=inputs.session,
            scope=inputs.scope,
            model=model_name,
            tokens=tokens,
            unit=ground.layout.unit,
            prefix=describe_prefix(rows, changed_by),
            sections=rows,
            hidden=draft.hidden,
            recall=self._recalled(rows, inputs),
            warnings=tuple(
                dict.fromkeys((*ground.findings, *ground.counts.findings, *inputs.noticed, *draft.warnings))
            ),
            forecast=self._forecast(tokens, inputs) if inputs.history else None,
        )

    def _forecast(self, tokens: Tokens, inputs: Inputs) -> Forecast:
        sizes = turn_sizes(inputs.history, self.ground.counts.count)
        return forecast(tokens.used + inputs.beside, tokens.window, sizes)

    def _recalled(self, rows: tuple[Row, ...], inputs: Inputs) -> tuple[dict[str, Any], ...]:
        """Say of each hit whether the model reads it: in its own block, or in the prompt."""
        template = parse_template(self.ground.agent.system_prompt_template)
        in_prompt = "memory" in template.inserts and bool(recall_lines(self.ground.layout, inputs.recall))
        kept = in_prompt or any(row.kind == "recall" for row in rows)
        told = [*((hit, kept) for hit in inputs.recall), *((hit, False) for hit in inputs.left_out)]
        return tuple(
            {"path": h.path, "line": h.line, "tier": h.tier, "scores": {"score": h.score}, "kept": is_kept}
            for h, is_kept in told
        )

    def _tokens(self, draft: _Draft, inputs: Inputs) -> tuple[Tokens, str | None]:
        """Return the use of the window, and add what must be said about it."""
        window = self.ground.window_of(inputs.model)
        name, model = window.name, describe_model(window.name)
        if inputs.window is None and self.ground.given_window is None and not model.known:
            message = f"The window of {name!r} is not known; {model.window:,} tokens are assumed."
            draft.warnings.append(
                Finding(
                    code="unknown_model", message=message, hint="Set model.context_window in carrel.yaml."
                )
            )
        tokens = Tokens(
            window=inputs.window or window.size,
            used=sum(row.tokens for row in draft.rows),
            exact=(model.exact or self.ground.tokenizer_for(name) is not None) and draft.is_exact,
            known=window.is_known or inputs.window is not None,
        )
        if tokens.used > tokens.window:
            message = f"{tokens.used:,} tokens do not fit the window of {tokens.window:,}."
            draft.warnings.append(Finding(code="over_window", message=message, severity="error"))
        return tokens, name


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
