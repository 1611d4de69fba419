"""A workspace to give away: whole, as a bundle, or to be read, as Markdown or a page of HTML."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Literal, get_args

from msgspec import Struct

from carrel.app import Workspace
from carrel.backing.creating import copied
from carrel.bundle.documents import write_json
from carrel.bundle.manifest import LeftOut
from carrel.bundle.reading import Progress
from carrel.bundle.zips import write_zip
from carrel.exporting.account import Account, open_account
from carrel.exporting.choosing import Chosen
from carrel.exporting.drawing import PLAIN, Drawing
from carrel.exporting.markdown import to_markdown
from carrel.exporting.page import to_html
from carrel.findings import Finding
from carrel.opening import open_workspace

__all__ = ["FORMS", "Exported", "Form", "export", "form_of"]

Form = Literal["zip", "json", "markdown", "html"]
FORMS: tuple[Form, ...] = get_args(Form)

_SUFFIXES: Mapping[str, Form] = {
    ".zip": "zip",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
}


class Exported(Struct, frozen=True, kw_only=True):
    """What was written, how many files this scope must not see, and what is left out."""

    format: Form
    scope: str
    files: int
    records: int
    hidden: int
    left_out: tuple[LeftOut, ...] = ()
    findings: tuple[Finding, ...] = ()


def form_of(file: str) -> Form | None:
    """Return the form that a file's name asks for, none where it says nothing."""
    return _SUFFIXES.get(Path(file).suffix.lower())


def export(
    root: str | os.PathLike[str],
    form: Form,
    stream: IO[bytes],
    *,
    environ: Mapping[str, str],
    scope: str = "main",
    near: Path | None = None,
    drawing: Drawing = PLAIN,
    progress: Progress | None = None,
) -> Exported:
    """Write a workspace as far as this scope may see it; `near` is where there is room for a copy."""
    with Workspace.open(root, environ=environ, team=True) as workspace:
        if form in ("markdown", "html"):
            account = open_account(workspace, scope)
            pieces = to_markdown(account) if form == "markdown" else to_html(account, drawing)
            for piece in pieces:
                stream.write(piece.encode("utf-8", "replace"))
            return _told(form, account)
        chosen = Chosen(workspace, scope)
        opened = open_workspace(root, environ=environ)
        with copied(opened, near=near or Path(), choice=chosen.choice, progress=progress) as copy:
            (write_zip if form == "zip" else write_json)(copy, stream)
        manifest = copy.manifest
        return Exported(
            format=form,
            scope=scope,
            files=len(manifest.files),
            records=sum(table.rows for table in manifest.tables),
            hidden=manifest.hidden,
            left_out=manifest.left_out,
            findings=(*copy.findings, *chosen.findings()),
        )


def _told(form: Form, account: Account) -> Exported:
    return Exported(
        format=form,
        scope=account.scope,
        files=sum(map(len, (account.persona, account.memory, account.journal, account.library))),
        records=len(account.learnt),
        hidden=account.hidden,
        findings=tuple(account.findings),
    )
