"""What all Records promise."""

from carrel.testing.contracts.records.audit import AuditContract, RecallsContract
from carrel.testing.contracts.records.calls import CallsContract
from carrel.testing.contracts.records.changes import ChangesContract
from carrel.testing.contracts.records.dreams import DreamsContract, RememberedContract
from carrel.testing.contracts.records.facts import CursorsContract, FactsContract
from carrel.testing.contracts.records.jobs import JobsContract
from carrel.testing.contracts.records.proposals import ProposalsContract
from carrel.testing.contracts.records.purging import EmptyingContract, PurgingContract
from carrel.testing.contracts.records.queue import QueueContract
from carrel.testing.contracts.records.transactions import TransactionsContract
from carrel.testing.contracts.records.usage import UsageContract


class RecordsContract(
    CallsContract,
    QueueContract,
    JobsContract,
    TransactionsContract,
    UsageContract,
    AuditContract,
    RecallsContract,
    FactsContract,
    CursorsContract,
    ChangesContract,
    ProposalsContract,
    PurgingContract,
    EmptyingContract,
    DreamsContract,
    RememberedContract,
):
    """The small truths beside the files: give `records` that hold nothing, and close them after."""
