"""What of a workspace goes into a bundle that is given away, and what of it nobody is to have."""

from fnmatch import fnmatchcase

from carrel.app import Workspace
from carrel.backing.gathering import Choice
from carrel.files import Entry, show
from carrel.files.paths import fold
from carrel.findings import Finding
from carrel.runtime.view import is_private
from carrel.screen.secrets import redact
from carrel.workspace.ignore import find_rules
from carrel.workspace.scope import Scope, parse_scope

CREDENTIALS = (
    ".env", ".env.*", ".netrc", ".npmrc", ".pypirc", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*",
    "id_ed25519*", "credentials*", "secrets.*",
)  # fmt: skip
"""Names of files that open something; .carrelignore keeps them out of prompts, and can take that back."""

_REASON = "it looks like a credential"
_SHOWN = 5


class Chosen:
    """The choice for one scope, and what was noticed on the way.

    The owner gets every byte, but for credentials; others get what shared scope sees, with secrets marked.
    """

    def __init__(self, workspace: Workspace, scope: str) -> None:
        self._files = workspace.files
        self._view = workspace.eyes(scope)
        self._ignored = find_rules(workspace.assembler.ground.documents.reading())
        self._keeps = workspace.config.settings.transcripts.secrets == "keep"
        self._secrets: set[str] = set()
        shared = parse_scope(scope) is Scope.SHARED
        self.choice = (
            Choice(scope="shared", hides=self._hides, written=self._marked)
            if shared
            else Choice(leaves_out=self._why_not, written=self._noticed)
        )

    def findings(self) -> tuple[Finding, ...]:
        """Return what the owner should know before they give the file away."""
        if not self._secrets:
            return ()
        some = ", ".join(show(path) for path in sorted(self._secrets)[:_SHOWN])
        more = f" and {len(self._secrets) - _SHOWN} more" if len(self._secrets) > _SHOWN else ""
        return (
            Finding(
                code="secrets_exported",
                message=f"What looks like secrets is in it, as it is in the files: {some}{more}.",
                hint="Keep it to yourself, or take them out first; --scope shared marks them.",
            ),
        )

    def _hides(self, entry: Entry) -> bool:
        return self._ignored(entry.path) or is_private(self._files, entry, self._view)

    def _why_not(self, path: str) -> str:
        name = fold(path.rpartition("/")[2])
        is_credential = any(fnmatchcase(name, pattern) for pattern in CREDENTIALS)
        return _REASON if is_credential and self._ignored(path) else ""

    def _marked(self, path: str, data: bytes) -> bytes:
        """Return a file for others: a text without its secrets."""
        del path
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        found = redact(text)
        return data if self._keeps or not found.kinds else found.text.encode()

    def _noticed(self, path: str, data: bytes) -> bytes:
        """Return a file for its owner, as it is."""
        if redact(data.decode("utf-8", "replace")).kinds:
            self._secrets.add(path)
        return data
