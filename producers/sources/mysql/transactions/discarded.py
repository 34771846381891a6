"""What the server rolled back although its log has it: after a crash, or by a logged ROLLBACK.  Pure.

    file 7:  … GTID rows rows          file 8:  format description (the server was started)  GTID …
                             ^ crash

    GTID rows SAVEPOINT a rows ROLLBACK TO a rows COMMIT          GTID rows ROLLBACK

When MariaDB starts, it rolls back a transaction that a crash cut off, leaves its beginning in the log and
continues in a new file, whose first event says that the server was started.  (MySQL shortens its file.)  It
also logs rows with their ROLLBACK if the transaction made or dropped a temporary table, because a replica has
to do that too.

Steps that are not handed out yet are corrected.  Rows that were handed out can't be withdrawn: their keys
left windows, their records wait for a commit.  So the log is opened again at its saved position, and rows
that are known to be rolled back are then skipped.  Only if that position is behind some of these rows, a part
of them was published.
"""

from typing import TypeAlias

from wrackline.producers.contract.steps import Rows, Signal, Step, UnfitRow
from wrackline.producers.sources.mysql.ddl.ddl_effects import ControlKind, TransactionControl
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_OUT_OF_ORDER
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition
from wrackline.producers.sources.mysql.transactions.transaction import Transaction, TransactionMark
from wrackline.schemas.errors import Definite, Transient, define

LOG_CUT_OFF = define(
    "mysql.log_cut_off",
    Transient,
    "the server crashed while it wrote transaction {transaction} into {file} at {offset}, and rolled it back",
    hint="nothing needs to be done: the log is opened again at the last committed position, and the"
    " transaction is skipped",
)
CUT_OFF_PUBLISHED = define(
    "mysql.cut_off_published",
    Definite,
    "the server crashed while it wrote transaction {transaction} into {file} at {offset}, and rolled it"
    " back; some of its rows are already published",
    hint="start after it: wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)

ROLLED_BACK = define(
    "mysql.rolled_back",
    Transient,
    "the server logged rows of transaction {transaction}, in {file} at {offset}, and that it rolled them"
    " back",
    hint="nothing needs to be done: the log is opened again at the last committed position, and these rows"
    " are skipped",
)
ROLLED_BACK_PUBLISHED = define(
    "mysql.rolled_back_published",
    Definite,
    "the server logged rows of transaction {transaction}, in {file} at {offset}, and that it rolled them"
    " back; some of them are already published",
    hint="start after it: wrackline offsets reset <pipeline.toml>, and the next start reads all rows; rows"
    " are logged like this if a transaction creates or drops a temporary table: do that before the"
    " transaction begins",
)

_At: TypeAlias = tuple[MySqlHistory | None, int]


class DiscardedTransactions:
    """Remembers them as long as the source exists: by file, the file's beginning and the place in it."""

    def __init__(self) -> None:
        self._known: set[_At] = set()
        self._spans: dict[_At, set[tuple[int, int]]] = {}  # of changes, from one to before another

    def has(self, opened: Transaction) -> bool:
        """Whether a transaction is known to be rolled back."""
        return _place(opened) in self._known

    def back(self, opened: Transaction) -> bool:
        """Whether the next change is known to be rolled back."""
        if not self._spans:
            return False
        return any(first <= opened.done < end for first, end in self._spans.get(_place(opened), ()))

    def met(self, opened: Transaction) -> None:
        """Take a server start inside a transaction; raise unless it was known to be cut off."""
        if opened.skip:
            raise CUT_OFF_PUBLISHED(**_named(opened))
        if not self.has(opened):
            self._known.add(_place(opened))
            raise LOG_CUT_OFF(**_named(opened))

    def savepoint(self, opened: Transaction, control: TransactionControl, steps: list[Step]) -> None:
        """Set a savepoint, or roll back to it; `steps` end with the steps before it."""
        name = control.savepoint.lower()
        if control.word is ControlKind.SAVEPOINT:
            opened.set_savepoint(name)
        elif name in opened.savepoints:
            self.rolled_back(opened, opened.savepoints[name], steps)
        elif opened.handled_end:
            where = {"file": opened.file, "offset": opened.start.offset}
            raise LOG_OUT_OF_ORDER(
                **where, reason=f"{opened.id} rolls back to a savepoint that it did not set"
            )

    def rolled_back(self, opened: Transaction, mark: TransactionMark, steps: list[Step]) -> None:
        """Roll back all behind this mark; raise if a part of it was handed out.

        A saved place behind all of it means that this was already known; but signals come again from there.
        """
        first = mark.done
        if opened.handled_end <= first:
            return
        if first < opened.skip <= opened.done:
            raise ROLLED_BACK_PUBLISHED(**_named(opened))
        if opened.handed > first:
            self._spans.setdefault(_place(opened), set()).add((first, opened.done))
            raise ROLLED_BACK(**_named(opened))
        place = opened.start.behind(first)
        steps[:] = [step for step in steps if not _is_behind(step, place)]
        opened.forget_after(mark)


def _is_behind(step: Step, place: MySqlPosition) -> bool:
    match step:
        case Rows(upto=at) | UnfitRow(upto=at) | Signal(position=at):
            return not at <= place
    return False


def _place(opened: Transaction) -> _At:
    return opened.start.history, opened.start.offset


def _named(opened: Transaction) -> dict[str, str | int]:
    return {"transaction": opened.id, "file": opened.file, "offset": opened.start.offset}
