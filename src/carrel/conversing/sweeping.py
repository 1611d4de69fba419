"""What waits in the queue of a workspace, done by whom it concerns: one function for each kind of job."""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from functools import partial
from socket import gethostname
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from carrel.conversing import parts
from carrel.findings import Finding
from carrel.records import Payload
from carrel.records.queue import Job
from carrel.runtime.consolidation import KIND as CONSOLIDATE
from carrel.runtime.delegation import KIND as DELEGATED
from carrel.runtime.errands import Account, Errands
from carrel.runtime.model import Model
from carrel.runtime.prices import FREE, price_of
from carrel.runtime.remember import KIND as EXTRACT
from carrel.runtime.retention import KIND as RETIRE
from carrel.runtime.sweep import Swept, Work, sweep
from carrel.shelf import Shelf

if TYPE_CHECKING:
    from carrel.conversing import Conversations


def worker_name() -> str:
    """Return what this process is called by whoever looks at the queue."""
    return f"{gethostname()}:{os.getpid()}"


class Sweeping(Struct, frozen=True, kw_only=True):
    """Does the jobs of every agent of a workspace; `of_agent` opens the conversations of one."""

    shelf: Shelf
    account: Account
    of_agent: "Callable[[str], AbstractContextManager[Conversations]]"
    model: Model | None

    def sweep(self, limit: int, kinds: Collection[str] | None) -> Swept:
        """Do what is due, at most so much of it, and only of these kinds where any are named."""
        told: list[Finding] = []
        work: Mapping[str, Work] = {
            DELEGATED: self._delegated,
            EXTRACT: self._extracted,
            CONSOLIDATE: self._consolidated,
            RETIRE: partial(self._retired, told),
        }
        swept = sweep(
            self.shelf.records,
            {kind: work[kind] for kind in work if kinds is None or kind in kinds},
            worker=worker_name(),
            now=self.shelf.config.clock.now,
            limit=limit,
            stopped=self._stopped,
            given_up=self._given_up,
        )
        return replace(swept, findings=(*swept.findings, *told))

    def _retired(self, told: list[Finding], job: Job) -> Payload:
        with self.of_agent(str(job.payload["agent"])) as conversations:
            result, findings = conversations.learning.retention.work(job)
        told += findings
        return result

    def _delegated(self, job: Job) -> Payload:
        with self.of_agent(str(job.payload["caller"])) as conversations:
            return conversations.work(job, self.model, Errands(account=self.account, purpose="background"))

    def _extracted(self, job: Job) -> Payload:
        with self.of_agent(str(job.payload["agent"])) as conversations:
            return conversations.learning.remember.work(job, self.model or conversations.background_model())

    def _consolidated(self, job: Job) -> Payload:
        with self.of_agent(str(job.payload["agent"])) as conversations:
            return conversations.learning.consolidation.work(
                job, self.model or conversations.background_model()
            )

    def _given_up(self, job: Job) -> None:
        if job.kind == DELEGATED:
            with self.of_agent(str(job.payload["caller"])) as conversations:
                conversations.give_up(job)

    def _stopped(self) -> tuple[Finding, ...]:
        if self.model is not None and price_of(self.model.name) == FREE:
            return ()
        allowed = parts.allow(self.shelf, self.account, "background")
        return () if allowed.allowed else allowed.findings
