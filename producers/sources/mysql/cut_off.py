"""What the server took back though its log has it: behind a crash, or by a ROLLBACK that is logged.  Pure.

    file 7:  … GTID rows rows          file 8:  format description (the server was started)  GTID …
                             ^ crash

    GTID rows SAVEPOINT a rows ROLLBACK TO a rows COMMIT          GTID rows ROLLBACK

MariaDB takes a transaction that a crash cut off back when it starts, leaves its beginning where it stands
and goes on in a new file, whose first event says that the server was started.  (MySQL shortens its file.)
And it logs rows with their ROLLBACK where the transaction made or dropped a temporary table, for a replica
would have to do that too.

Steps that nobody has seen yet are mended.  What was told of such rows can't be taken back: their keys went
out of windows, their records wait for a commit.  So the log is opened again at its saved position, and what
is known to be taken back then says nothing.  Only where that position is behind some of these rows, a part
of them was published.
"""

from typing import TypeAlias

from wrackline.producers.changes import Rows, Signal, Step
from wrackline.producers.sources.mysql.dump_refusals import LOG_OUT_OF_ORDER
from wrackline.producers.sources.mysql.position import History, MySqlPosition
from wrackline.producers.sources.mysql.statements import Control, Word
from wrackline.producers.sources.mysql.transaction import Transaction
from wrackline.schemas.errors import Definite, Transient, define

LOG_CUT_OFF = define(
    "mysql.log_cut_off",
    Transient,
    "the server crashed while it wrote transaction {transaction} into {file} at {offset}, and took it back",
    hint="nothing need be done: the log is opened again at the last committed position, and the transaction"
    " is passed over",
)
CUT_OFF_PUBLISHED = define(
    "mysql.cut_off_published",
    Definite,
    "the server crashed while it wrote transaction {transaction} into {file} at {offset}, and took it back;"
    " some of its rows are published",
    hint="begin behind it: wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)

ROLLED_BACK = define(
    "mysql.rolled_back",
    Transient,
    "the server logged rows of transaction {transaction}, in {file} at {offset}, and that it took them back",
    hint="nothing need be done: the log is opened again at the last committed position, and these rows are"
    " passed over",
)
ROLLED_BACK_PUBLISHED = define(
    "mysql.rolled_back_published",
    Definite,
    "the server logged rows of transaction {transaction}, in {file} at {offset}, and that it took them back;"
    " some of them are published",
    hint="begin behind it: wrackline offsets reset <pipeline.toml>, and the next start reads all rows; rows"
    " are logged so where a transaction makes or drops a temporary table: let that be done before it begins",
)

_At: TypeAlias = tuple[History | None, int]


class CutOff:
    """Remembers them for as long as the source lives: by file, the file's beginning and the place in it."""

    def __init__(self) -> None:
        self._known: set[_At] = set()
        self._spans: dict[_At, set[tuple[int, int]]] = {}  # of changes, from one to before another

    def has(self, opened: Transaction) -> bool:
        """Whether a transaction is known to have been taken back."""
        return _place(opened) in self._known

    def back(self, opened: Transaction) -> bool:
        """Whether the change that comes next is known to have been taken back."""
        if not self._spans:
            return False
        return any(first <= opened.done < end for first, end in self._spans.get(_place(opened), ()))

    def met(self, opened: Transaction) -> None:
        """The server was started amid a transaction; of one that was not known to be cut off, say so."""
        if opened.skip:
            raise CUT_OFF_PUBLISHED(**_named(opened))
        if not self.has(opened):
            self._known.add(_place(opened))
            raise LOG_CUT_OFF(**_named(opened))

    def savepoint(self, opened: Transaction, control: Control, steps: list[Step]) -> None:
        """A savepoint is set, or gone back to; `steps` end with what came before."""
        name = control.savepoint.lower()
        if control.word is Word.SAVEPOINT:
            opened.savepoints[name] = opened.done
        elif name in opened.savepoints:
            self.rolled_back(opened, opened.savepoints[name], steps)
        elif opened.told:
            where = {"file": opened.file, "offset": opened.start.offset}
            raise LOG_OUT_OF_ORDER(
                **where, reason=f"{opened.id} goes back to a savepoint that it did not set"
            )

    def rolled_back(self, opened: Transaction, first: int, steps: list[Step]) -> None:
        """All behind so many changes is taken back; where some of it was handed out, say so.

        A place behind all of it was saved by who knew that already; but signals come again from there.
        """
        if opened.told <= first:
            return
        if first < opened.skip <= opened.done:
            raise ROLLED_BACK_PUBLISHED(**_named(opened))
        if opened.handed > first:
            self._spans.setdefault(_place(opened), set()).add((first, opened.done))
            raise ROLLED_BACK(**_named(opened))
        place = opened.start.behind(first)
        steps[:] = [step for step in steps if not _is_behind(step, place)]
        opened.told = first


def _is_behind(step: Step, place: MySqlPosition) -> bool:
    match step:
        case Rows(upto=at) | Signal(position=at):
            return not at <= place
    return False


def _place(opened: Transaction) -> _At:
    return opened.start.history, opened.start.offset


def _named(opened: Transaction) -> dict[str, str | int]:
    return {"transaction": opened.id, "file": opened.file, "offset": opened.start.offset}
