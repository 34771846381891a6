"""A place in a binlog, as our offsets keep it.

    file 7:  A [GTID … XID]  B [GTID … rows … XID]
                            ^ after A: (7, where B begins, 0)   ^ inside B, three out: (7, where B begins, 3)

A transaction is named by the unique place where its first event begins.  To resume inside B, it is read again
from there, and its first three row changes are skipped, counted as the server sends them.  The file's number
comes first; the file's name, when it was begun and the server's id say whether the numbers mean the same log.
Another server knows B only by its GTID, and may send others before it: until B has come, it is `cut`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from wrackline.producers.contract.saved_fields import SavedFieldError, number_in, object_in, text_in
from wrackline.producers.contract.steps import Json, Saved
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.untrusted import is_number

SEQ_BYTES = 8
MOST_OFFSET = 0xFFFF_FFFF  # that fits into a seq, and into the request for a dump
_MOST_DIGITS, _MOST_NUMBER = 10, 0xFFFF_FFFF  # of a file: its number is in seq

POSITION_UNREADABLE = define(
    "mysql.position_unreadable",
    Definite,
    "the stored position can't be read: {reason}",
    hint="look at it: wrackline offsets show <pipeline.toml>;"
    " or start over: wrackline offsets reset <pipeline.toml>",
)
FILE_UNNUMBERED = define(
    "mysql.file_unnumbered",
    Definite,
    "the log's file {file} has no number at the end of its name",
    hint="report it with the server's version: SELECT version()",
)
PLACE_TOO_HIGH = define(
    "mysql.place_too_high",
    OperatorNeeded,
    "a transaction begins in {file} at {offset}, but only positions below 4294967295 can be stored",
    hint="split the work that writes so much in one transaction, and make the log's files smaller: SET"
    " GLOBAL max_binlog_size = 1073741824; then start after it: wrackline offsets reset <pipeline.toml>,"
    " and the next start reads all rows",
)


@dataclass(frozen=True, slots=True)
class MySqlHistory:
    """Which log this is: a position means nothing in another log."""

    server: str  # server_uuid; MariaDB's server_uid and server_id
    file: str
    begun: int  # when the file was begun, by its format description; 0: not seen yet


@dataclass(frozen=True, slots=True)
class PreparedXa:
    """Where the rows of a prepared, uncommitted XA transaction begin.

    Without a file the place is in another server's log, and the GTID says which transaction it is.  Without
    both, it ended before our first row was read, and is skipped.
    """

    file: str = ""
    offset: int = 0
    gtid: str = ""
    after: str = ""  # MariaDB: the GTID before it in its domain


ColumnNames = Mapping[str, Mapping[str, str]]
"""By table, by the column's present name: the name it had first."""


@dataclass(frozen=True, slots=True, order=True)
class MySqlPosition:
    """`done` row changes of the transaction that begins here are published; 0: all that ended before."""

    epoch: int
    file: int
    offset: int
    done: int = 0
    history: MySqlHistory | None = field(default=None, compare=False)
    gtids: AnyGtids | None = field(default=None, compare=False)
    """All transactions that were handed out; None: the server has no GTIDs."""
    names: ColumnNames = field(default_factory=dict, compare=False)
    prepared: Mapping[str, PreparedXa] = field(default_factory=dict, compare=False)
    """By xid, as XA COMMIT writes it."""
    gtid: str | None = field(default=None, compare=False)
    """Of the transaction that this is inside."""
    cut: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Transactions that another server sent in part: by GTID, how many changes of each are out."""

    def behind(self, done: int) -> "MySqlPosition":
        """Return the place in the same transaction behind `done` of its changes."""
        # it is called for each transaction, and `replace` takes three times as long
        return MySqlPosition(
            self.epoch,
            self.file,
            self.offset,
            done,
            self.history,
            self.gtids,
            self.names,
            self.prepared,
            self.gtid,
            self.cut,
        )

    def seq(self) -> bytes:
        """Return the position's part of a seq; no transaction begins behind 4 GB: these places are one."""
        return struct.pack(">II", self.file, min(self.offset, MOST_OFFSET))

    def begins(self) -> bytes:
        """Return the same for a transaction that begins here."""
        if self.offset >= MOST_OFFSET:
            raise PLACE_TOO_HIGH(file=self.history.file if self.history else self.file, offset=self.offset)
        return self.seq()

    def saved(self) -> Saved:
        """Render it for the offsets topic."""
        made: dict[str, Json] = {
            "epoch": self.epoch,
            "file": self.file,
            "offset": self.offset,
            "done": self.done,
        }
        if self.history is not None:
            made |= {
                "server": self.history.server,
                "file": self.history.file,
                "begun": self.history.begun,
            }
        if self.gtids is not None:
            made["mariadb_gtids" if isinstance(self.gtids, MariaDbGtids) else "gtids"] = str(self.gtids)
        if self.names:
            made["names"] = {table: dict(columns) for table, columns in self.names.items()}
        if self.prepared:
            made["prepared"] = {
                xid: [part.file, part.offset, part.gtid, part.after] for xid, part in self.prepared.items()
            }
        if self.gtid is not None:
            made["gtid"] = self.gtid
        if self.cut:
            made["cut"] = dict(self.cut)
        return made


def file_number(name: str) -> int:
    """Return the number at the end of a file's name, with which a server counts its files."""
    _, dot, number = name.rpartition(".")
    if not (dot and number.isascii() and number.isdigit()) or len(number) > _MOST_DIGITS:
        raise FILE_UNNUMBERED(file=name)
    made = int(number)
    if made > _MOST_NUMBER:
        raise FILE_UNNUMBERED(file=name)
    return made


def position_of(saved: Saved) -> MySqlPosition:
    """Read a saved position; refuse it if a part is missing or has another form."""
    try:
        name = text_in(saved, "file")
        return MySqlPosition(
            number_in(saved, "epoch"),
            _file_number(name, "file"),
            number_in(saved, "offset"),
            number_in(saved, "done"),
            MySqlHistory(text_in(saved, "server"), name, number_in(saved, "begun")),
            _gtids(saved),
            _names(saved.get("names", {})),
            _prepared(saved.get("prepared", {})),
            _gtid(text_in(saved, "gtid"), "gtid") if "gtid" in saved else None,
            _read_discarded(saved.get("cut", {})),
        )
    except SavedFieldError as exc:
        raise POSITION_UNREADABLE(reason=exc) from None


def _file_number(name: str, field_name: str) -> int:
    try:
        return file_number(name)
    except Definite:
        raise SavedFieldError(f"{field_name} is not a log file") from None


def _gtids(saved: Saved) -> AnyGtids | None:
    if "gtids" in saved:
        return _parse_gtids(MySqlGtids, text_in(saved, "gtids"), "gtids")
    if "mariadb_gtids" in saved:
        return _parse_gtids(MariaDbGtids, text_in(saved, "mariadb_gtids"), "mariadb_gtids")
    return None


def _parse_gtids(form: type[MySqlGtids | MariaDbGtids], text: str, name: str) -> AnyGtids:
    try:
        return form.parse(text)
    except ValueError:
        raise SavedFieldError(f"{name} is not a set of GTIDs") from None


def _gtid(text: str, name: str) -> str:
    if not _parse_gtids(MySqlGtids if ":" in text else MariaDbGtids, text, name):
        raise SavedFieldError(f"{name} is not a GTID")
    return text


def _names(saved: Json) -> ColumnNames:
    fields = object_in(saved, "names")
    made = {}
    for table, columns in fields.items():
        if not isinstance(columns, Mapping):
            raise SavedFieldError("names has a table without columns")
        firsts = {name: first for name, first in columns.items() if isinstance(first, str)}
        if len(firsts) != len(columns):
            raise SavedFieldError("names has a column without its first name")
        made[table] = firsts
    return made


def _prepared(saved: Json) -> Mapping[str, PreparedXa]:
    fields = object_in(saved, "prepared")
    made = {}
    for xid, part in fields.items():
        match part:
            case [str(file), int(offset), str(gtid), str(after)] if is_number(offset):
                if file:
                    _file_number(file, "prepared")
                made[xid] = PreparedXa(
                    file, offset, gtid and _gtid(gtid, "prepared"), after and _gtid(after, "prepared")
                )
            case _:
                raise SavedFieldError("prepared has something that is not a position")
    return made


def _read_discarded(saved: Json) -> Mapping[str, int]:
    fields = object_in(saved, "cut")
    made = {}
    for gtid, done in fields.items():
        if not is_number(done):
            raise SavedFieldError("cut has a count that is not a whole number of 0 or more")
        made[_gtid(gtid, "cut")] = done
    return made
