"""`carrel sessions list | show | tail | search | record | fork | export | delete | compact | forecast`."""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import get_args

import click
from msgspec import to_builtins

from carrel import plainjson
from carrel.app import Workspace
from carrel.cli import compaction, complete, days, output, removal, streams, transcripts
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import foretells, writes
from carrel.errors import CarrelError
from carrel.files import show as shown
from carrel.opening import time_zone
from carrel.runtime.removing import attachments, remove
from carrel.sessions.export import FORMS, export
from carrel.sessions.fork import fork as fork_session
from carrel.sessions.fork import number_at
from carrel.sessions.message import Role
from carrel.sessions.places import valid_session
from carrel.sessions.rows import entry_row, forked_row, listed
from carrel.sessions.search import search as search_sessions
from carrel.sessions.store import Sessions
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

_POLL_SECONDS = 0.25


@click.group()
@shared_options
def sessions(_: Shared) -> None:
    r"""List, read, search, record, fork, export and delete sessions.

    \b
    Examples:
      carrel sessions list                      the last used first
      carrel sessions show s1                   what was said, page by page
      carrel sessions tail s1 --follow          and what is being said
      carrel sessions search samsung '"next week"'
      carrel sessions record --session s1 < messages.jsonl
      carrel sessions export s1 --format html --to s1.html
    """


sessions.add_command(compaction.compact)
sessions.add_command(compaction.forecast)


@sessions.command("list")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="So many sessions.")
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Leave out the first N.")
@shared_options
def list_(shared: Shared, limit: int, offset: int) -> None:
    r"""List sessions, the last used first; one with a ! is damaged in places.

    \b
    Examples:
      carrel sessions list
      carrel sessions list --limit 100 --offset 100
      carrel sessions list --json
    """
    with _owners(shared, "The list of sessions") as workspace:
        rows, total = workspace.sessions.rows(limit=limit, offset=offset)
        now = workspace.config.clock.now()
    if shared.as_json:
        output.document(
            {"sessions": [to_builtins(listed(row)) for row in rows], "total": total, "offset": offset}
        )
        return
    if not rows:
        output.line("No session yet." if not total else f"There are {total:,}.", to_stderr=True)
        return
    width = max(len(row.id) for row in rows)
    output.line(output.styled(f"{'updated':>14}  {'entries':>7}   {'session':{width}}  title", bold=True))
    for row in rows:
        mark = output.styled("!", fg="red") if row.damaged else " "
        figures = f"{transcripts.age(row.updated, now):>14}  {row.entries:>7,} {mark}"
        output.line(f"{figures} {row.id:{width}}  {output.printable(row.title)}".rstrip())
    end = offset + len(rows)
    if end < total:
        output.line(f"{end:,} of {total:,}; --offset {end} shows more", to_stderr=True)


@sessions.command()
@click.argument("session", shell_complete=complete.sessions)
@click.option("--first", type=click.IntRange(1), metavar="N", help="From entry N on.")
@click.option("--before", type=click.IntRange(1), metavar="N", help="Up to the entry before N.")
@click.option("--message-id", metavar="ID", help="From the message with this id on.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="So many entries.")
@shared_options
def show(
    shared: Shared, session: str, *, first: int | None, before: int | None, message_id: str | None, limit: int
) -> None:
    r"""Show the entries of a session, from the first on or from anywhere, a page at a time.

    With --json, `next` is the --first of the page after this one, `previous` the --before of the one
    before; null where there is none.

    \b
    Examples:
      carrel sessions show s1
      carrel sessions show s1 --first 51
      carrel sessions show s1 --before 51 --limit 20 --json
      carrel sessions show s1 --message-id 7c9e6679
    """
    if sum(given is not None for given in (first, before, message_id)) > 1:
        raise click.UsageError("Give one of --first, --before and --message-id.")
    with _owners(shared, f"session {shown(session)}") as workspace:
        row = workspace.sessions.row(session)
        if before is not None:
            before = min(before, row.entries + 1)
            first = max(1, before - limit)
            limit = before - first
        elif message_id is not None:
            first = number_at(workspace.sessions, session, message_id)
        first = first or 1
        page = workspace.sessions.page(session, first=first, limit=limit)
    after = first + limit if first + limit <= page.total else None
    earlier = min(first, page.total + 1) if first > 1 and page.total else None
    if shared.as_json:
        about = {"session": session, "title": row.title, "total": page.total, "header": page.header}
        entries = [to_builtins(entry_row(placed)) for placed in page.entries]
        turns = {"next": after, "previous": earlier, "findings": to_builtins(page.findings)}
        output.document({**about, "entries": entries, **turns})
        return
    many = "1 entry" if page.total == 1 else f"{page.total:,} entries"
    output.line(output.styled(f"{output.printable(row.title or session)} · {many}", bold=True))
    for placed in page.entries:
        output.write(f"\n{transcripts.drawn(placed)}")
    output.warnings(page.findings)
    if earlier is not None:
        output.line(f"--before {earlier} shows what came earlier", to_stderr=True)
    if after is not None:
        output.line(f"--first {after} shows more", to_stderr=True)


@sessions.command()
@click.argument("session", shell_complete=complete.sessions)
@click.option("-n", "count", type=click.IntRange(0), default=20, show_default=True, help="So many entries.")
@click.option("--follow", "-f", is_flag=True, help="Then wait for more, until Ctrl-C.")
@shared_options
def tail(shared: Shared, session: str, count: int, *, follow: bool) -> None:
    r"""Print the last entries of a session, and with --follow those that are added meanwhile.

    With --json, an entry a line.

    \b
    Examples:
      carrel sessions tail s1 -n 5
      carrel sessions tail s1 --follow --json
    """
    with _owners(shared, f"session {shown(session)}") as workspace, suppress(KeyboardInterrupt):
        store = workspace.sessions
        last = max(0, store.row(session).entries - count)
        last = _print_after(store, session, last, as_json=shared.as_json)
        output.warnings(store.findings(session))
        while follow:
            time.sleep(_POLL_SECONDS)
            last = _print_after(store, session, last, as_json=shared.as_json)


@sessions.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--session", metavar="ID", shell_complete=complete.sessions, help="Only in this one.")
@click.option("--role", type=click.Choice(get_args(Role)), help="Only what this one said.")
@click.option("--since", metavar="DAY|TIME", help="Said then or later.")
@click.option("--until", metavar="DAY|TIME", help="Said on that day or earlier, or before that time.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="So many entries.")
@shared_options
def search(
    shared: Shared,
    words: tuple[str, ...],
    session: str | None,
    *,
    role: str | None,
    since: str | None,
    until: str | None,
    limit: int,
) -> None:
    r"""Find what was said: entries in which every word occurs, the newest first.

    Case and accents do not count. A phrase in double quotes is looked for as it stands.

    \b
    Examples:
      carrel sessions search samsung
      carrel sessions search '"next week"' deploy --role user
      carrel sessions search samsung --since 2026-04-01 --until 2026-04-30
    """
    with waiting(shared, "Searching"), _owners(shared, "What was said in sessions") as workspace:
        zone = time_zone(workspace.config.settings.time_zone)
        found = search_sessions(
            workspace.sessions,
            " ".join(words),
            limit=limit,
            only=session,
            role=role,
            since=days.bound("--since", since, zone),
            until=days.bound("--until", until, zone, is_end=True),
        )
    if shared.as_json:
        output.document(
            {"query": " ".join(words), "hits": [transcripts.match_json(match) for match in found]}
        )
        return
    for match in found:
        output.line(transcripts.marked(match))
    if not found:
        output.line("Nothing was found.", to_stderr=True)


@sessions.command()
@click.option(
    "--session",
    required=True,
    metavar="ID",
    shell_complete=complete.sessions,
    help="The session; a new id begins a new one.",
)
@click.option("--source", default="", metavar="NAME", help="Where messages come from that do not say it.")
@shared_options
@writes
def record(shared: Shared, session: str, source: str) -> None:
    r"""Read messages from standard input, one JSON object a line, and answer each when it is durable.

    The answer is a line with its message_id. The same message_id twice changes nothing. A line that
    cannot be recorded ends the command with an error that names it; those before it are recorded.

    \b
    Examples:
      echo '{"role": "user", "content": "Hello"}' | carrel sessions record --session s1
      carrel --scope shared sessions record --session group --source telegram < messages.jsonl
    """
    valid_session(session)
    number = 0
    with shared.open() as workspace:
        for number, line in streams.numbered(sys.stdin):
            try:
                messages = [streams.message(line)]
                done = workspace.record(session, messages, scope=shared.scope, source=source)
            except CarrelError as error:
                error.message = f"Line {number:,}: {error.message}"
                raise
            for recorded in done.messages:
                output.line(plainjson.dumps({"message_id": recorded.message_id}).decode())
                if recorded.redacted:
                    kinds = output.printable(", ".join(recorded.redacted))
                    output.line(f"warning: line {number:,}: taken out: {kinds} [redacted]", to_stderr=True)
            output.warnings(done.findings)
    if not number:
        output.line("Nothing was recorded: standard input held no message.", to_stderr=True)


@sessions.command()
@click.argument("session", shell_complete=complete.sessions)
@click.option("--at", metavar="ID|N", help="The last message that is copied; else all are.")
@click.option("--to", metavar="ID", help="The new session; else a name is made.")
@shared_options
@writes
def fork(shared: Shared, session: str, at: str | None, to: str | None) -> None:
    r"""Make a new session with a copy of another's entries, up to one of them.

    A call of a tool that has no result yet is left out at the end, and so is what came after it.

    \b
    Examples:
      carrel sessions fork s1
      carrel sessions fork s1 --at 12 --to s1-other-way
    """
    with _owners(shared, f"session {shown(session)}") as workspace:
        made = fork_session(workspace.sessions, session, at=at, to=to, now=workspace.config.clock.now())
    if shared.as_json:
        output.document(to_builtins(forked_row(made)))
    else:
        output.line(made.session)
        output.warnings(made.findings)
    if made.left_out:
        said = f"warning: {made.left_out} at the end left out: a call of a tool has no result [open_call]"
        output.line(said, to_stderr=True)


@sessions.command("export")
@click.argument("session", shell_complete=complete.sessions)
@click.option("--format", "form", type=click.Choice(FORMS), help="[default: md; with --json: jsonl]")
@click.option(
    "--to",
    "target",
    metavar="FILE",
    shell_complete=complete.any_files,
    help="A new file; else standard output.",
)
@click.option("--output", "formerly", hidden=True, help="What --to was called.")
@click.option("--dry-run", is_flag=True, help="Say how large the file would be, and make none.")
@shared_options
@foretells
def export_(
    shared: Shared,
    session: str,
    form: str | None,
    target: str | None,
    formerly: str | None,
    *,
    dry_run: bool,
) -> None:
    r"""Write a session for somebody to read, or its log's own lines; what is damaged is left out.

    \b
    Examples:
      carrel sessions export s1
      carrel sessions export s1 --format html --to s1.html
      carrel sessions export s1 --format jsonl | gzip > s1.jsonl.gz
    """
    target = formerly if target is None else target
    form = form or ("jsonl" if shared.as_json and target is None else "md")
    with _owners(shared, f"session {shown(session)}") as workspace:
        pieces = export(workspace.sessions, session, form)
        if target is not None:
            size = streams.save(Path(target), pieces, dry_run=dry_run)
            if shared.as_json:
                about = {"session": session, "format": form, "path": target, "bytes": size}
                output.document({**about, "dry_run": dry_run})
            elif dry_run:
                output.line(f"{output.printable(target)} would have {size:,} bytes.")
        elif shared.as_json and form != "jsonl":
            output.document({"session": session, "format": form, "text": "".join(pieces)})
        else:
            for piece in pieces:
                output.write(piece)
        output.warnings(workspace.sessions.findings(session))


@sessions.command()
@click.argument("session", shell_complete=complete.sessions)
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
@writes
def delete(shared: Shared, session: str, *, yes: bool) -> None:
    r"""Move a session to the trash: its log, its window, its attachments.

    \b
    Examples:
      carrel sessions delete s1
      carrel sessions delete s1 --yes --json
    """
    with _owners(shared, f"session {shown(session)}") as workspace:
        store = workspace.sessions
        is_left = not store.exists(session) and bool(attachments(store, session))
        about = f"what is left of {session}" if is_left else removal.described(store.row(session))
        if not (yes or shared.stage or removal.is_sure(about)):
            output.line("Nothing was deleted.", to_stderr=True)
            click.get_current_context().exit(1)
        gone = remove(store, session, discard=workspace.discard, thaw=workspace.records.thaw)
    if shared.as_json:
        output.document(to_builtins(gone))
        return
    for each in gone.kept:
        output.line(f"removed {output.printable(each.path)}\nkept as {output.printable(each.kept)}")
    if gone.needed_by:
        output.line(f"its attachments stay, for {', '.join(gone.needed_by)}", to_stderr=True)


def _owners(shared: Shared, what: str) -> Workspace:
    """Open the workspace for its owner; what was said in sessions is nobody else's."""
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope(what)
    return shared.open()


def _print_after(store: Sessions, session: str, last: int, *, as_json: bool) -> int:
    """Print the entries after one; return the number of the last."""
    total = store.row(session).entries
    for placed in store.entries(session, last + 1 if last <= total else 1):
        if as_json:
            output.line(plainjson.dumps(to_builtins(entry_row(placed))).decode())
        else:
            output.write(transcripts.drawn(placed))
    return total
