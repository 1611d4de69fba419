"""History summarised by a model: what it costs is counted, and not more than background work may."""

from msgspec import Struct
from msgspec.structs import replace

from carrel.conversing.parts import allow
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.records.usage import Spent
from carrel.runtime.caller import told_of
from carrel.runtime.compact import Attempt, Compactor, is_all_of
from carrel.runtime.errands import Account
from carrel.runtime.loop.threads import in_thread
from carrel.runtime.model import Model, Spend
from carrel.runtime.prices import cost_of
from carrel.shelf import Shelf
from carrel.tokens import describe_model
from carrel.workspace.scope import Scope


class Summariser(Struct, frozen=True, kw_only=True):
    """Has a model compact one session, before a listener who was there for all of it."""

    shelf: Shelf
    compactor: Compactor
    model: Model
    session: str
    scope: Scope

    async def __call__(self, kept: int) -> tuple[Finding, ...]:
        """Let so many tokens stay word for word, and return what is to be said; nothing here is an error."""
        if not await in_thread(is_all_of, self.compactor.sessions, self.session, self.scope):
            return ()
        return told_of(await self.attempt(kept))

    @property
    def _payer(self) -> Account:
        return Account(lambda: self.shelf.records.usage, self.shelf.agent.id, self.session)

    async def attempt(self, kept: int) -> Attempt:
        """Compact as far as may still be spent, and keep the account of it."""
        allowance = await in_thread(allow, self.shelf, self._payer, "background")
        if not allowance.allowed:
            return Attempt(findings=allowance.findings)
        ground = self.shelf.assembler.ground
        window = min(ground.window_of().size, describe_model(self.model.name).window)
        attempt = await self.compactor.compact_with(self.model, self.session, window=window, kept=kept)
        noted = await in_thread(self._account, attempt)
        return replace(attempt, findings=(*allowance.findings, *attempt.findings, *noted))

    def _account(self, attempt: Attempt) -> tuple[Finding, ...]:
        if attempt.spend is None:
            return ()
        spent, now = attempt.spend, self.shelf.config.clock.now()
        try:
            self.shelf.records.usage.add(self._spent(spent), turn=f"summary-{now.isoformat()}")
        except CarrelError as error:
            return (Finding(code=error.code, message=error.message, hint=error.hint),)
        return ()

    def _spent(self, spend: Spend) -> Spent:
        return Spent(
            agent=self.shelf.agent.id,
            session=self.session,
            model=self.model.name,
            at=self.shelf.config.clock.now(),
            input=spend.input,
            cached=spend.cached,
            output=spend.output,
            cost=cost_of(self.model.name, spend),
            purpose="background",
        )
