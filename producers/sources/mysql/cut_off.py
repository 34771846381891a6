"""Transactions that a crash of the server cut off: the log has their beginning, and no more.  Pure.

    file 7:  … GTID rows rows          file 8:  format description (the server was started)  GTID …
                             ^ crash

MariaDB takes such a transaction back when it starts, leaves its beginning where it stands and goes on in a
new file, whose first event says that the server was started.  (MySQL shortens its file.)  What was told of
it can't be taken back: its keys went out of windows, its records wait for a commit.  So the log is opened
again at its saved position, and what is known to be cut off then says nothing.  Only where that position is
inside of it was a part of it published.
"""

from wrackline.producers.sources.mysql.position import History
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


class CutOff:
    """Remembers them for as long as the source lives: by file, the file's beginning and the place in it."""

    def __init__(self) -> None:
        self._known: set[tuple[History | None, int]] = set()

    def has(self, opened: Transaction) -> bool:
        """Whether a transaction is known to have been taken back."""
        return _place(opened) in self._known

    def met(self, opened: Transaction) -> None:
        """The server was started amid a transaction; of one that was not known to be cut off, say so."""
        where = {"transaction": opened.id, "file": opened.file, "offset": opened.start.offset}
        if opened.skip:
            raise CUT_OFF_PUBLISHED(**where)
        if not self.has(opened):
            self._known.add(_place(opened))
            raise LOG_CUT_OFF(**where)


def _place(opened: Transaction) -> tuple[History | None, int]:
    return opened.start.history, opened.start.offset
