"""What the settings say about marks: which kind, and the signal table as the server writes names.  Pure.

These servers have no logical messages, so a mark is a fence or a row.  `read.only` does not allow a row.
"""

from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_FENCE = 'incremental.snapshot.watermarking.strategy = "fence"'

MARKS_WRITE = define(
    "mysql.marks_write",
    OperatorNeeded,
    "read.only is set, but incremental.snapshot.watermarking.strategy {strategy} writes to the database",
    hint=f"set {_FENCE}, or remove the line",
)
MARKS_UNSAID = define(
    "mysql.marks_unsaid",
    OperatorNeeded,
    "incremental.snapshot.watermarking.strategy is {strategy}, but the server's log contains no messages",
    hint=f"set {_FENCE}, or remove the line",
)
MARKS_NOWHERE = define(
    "mysql.marks_nowhere",
    OperatorNeeded,
    "incremental.snapshot.watermarking.strategy {strategy} writes to a signal table, but none is named",
    hint=f"name it: signal.data.collection = '<database>.<table>'; or write nothing: {_FENCE}",
)


def mark_kind(settings: Values) -> MarkKind:
    """Return the kind of marks; without a strategy the fence, which needs no rights and no table."""
    strategy = settings["incremental.snapshot.watermarking.strategy"]
    if strategy in {None, "fence"}:
        return MarkKind.FENCE
    if strategy == "message":
        raise MARKS_UNSAID(strategy=strategy)
    if settings.flag("read.only"):
        raise MARKS_WRITE(strategy=strategy)
    if settings["signal.data.collection"] is None:
        raise MARKS_NOWHERE(strategy=strategy)
    return MarkKind.SIGNAL


def signal_table(settings: Values, facts: MySqlServerFacts) -> TableId | None:
    """Return the signal table: database and name with a dot between, as the server writes names."""
    if settings["signal.data.collection"] is None:
        return None
    named = settings.text("signal.data.collection")
    database, _, name = (named.lower() if facts.lower_names else named).rpartition(".")
    return TableId(database, database, name)
