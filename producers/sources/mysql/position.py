"""A place in a binlog, as our offsets keep it.

    file 7:  A [GTID … XID]  B [GTID … rows … XID]
                            ^ after A: (7, where B begins, 0)   ^ inside B, three out: (7, where B begins, 3)

A transaction is named by where its first event begins, which no other does.  To resume inside B it is read
again from there, and its first three row changes are skipped, counted as the server sends them.  The file's
number leads; its name, when it was begun and the server's id say whether the numbers mean the same log.
Another server knows B by its GTID alone, and may send others before it: until it has come, B is `cut`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from wrackline.producers.changes import Json, Saved
from wrackline.producers.sources.mysql.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.schemas.errors import Definite, OperatorNeeded, define

SEQ_BYTES = 8
MOST_OFFSET = 0xFFFF_FFFF  # that has room in a seq, and in what asks for a dump
_MOST_DIGITS, _MOST_NUMBER = 10, 0xFFFF_FFFF  # of a file: its number stands in seq

POSITION_UNREADABLE = define(
    "mysql.position_unreadable",
    Definite,
    "the stored position can't be read: {reason}",
    hint="look at it: wrackline offsets show <pipeline.toml>;"
    " or begin anew: wrackline offsets reset <pipeline.toml>",
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
    "a transaction begins in {file} at {offset}, and such places can be told below 4294967295 only",
    hint="split what writes that much in one transaction, and let the log's files be smaller: SET GLOBAL"
    " max_binlog_size = 1073741824; then begin behind it: wrackline offsets reset <pipeline.toml>, and the"
    " next start reads all rows",
)


@dataclass(frozen=True, slots=True)
class History:
    """Which log this is: a position means nothing in another one."""

    server: str  # server_uuid; MariaDB's server_uid and server_id
    file: str
    begun: int  # when the file was begun, by its format description; 0: not seen yet


@dataclass(frozen=True, slots=True)
class Prepared:
    """Where the rows of an XA transaction begin that is not committed yet.

    Without a file the place is in another server's log, and the GTID says which transaction it is.  Without
    either, it ended before the first row of ours was read, and is passed over.
    """

    file: str = ""
    offset: int = 0
    gtid: str = ""
    after: str = ""  # MariaDB: the GTID before it in its domain


Names = Mapping[str, Mapping[str, str]]
"""By table, by the column's present name: the name it had first."""


@dataclass(frozen=True, slots=True, order=True)
class MySqlPosition:
    """`done` row changes of the transaction that begins here are out; 0: all that ended before."""

    epoch: int
    file: int
    offset: int
    done: int = 0
    history: History | None = field(default=None, compare=False)
    gtids: AnyGtids | None = field(default=None, compare=False)
    """All transactions that were handed out; None: the server has no GTIDs."""
    names: Names = field(default_factory=dict, compare=False)
    prepared: Mapping[str, Prepared] = field(default_factory=dict, compare=False)
    """By xid, as XA COMMIT writes it."""
    gtid: str | None = field(default=None, compare=False)
    """Of the transaction that this is inside."""
    cut: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Transactions that another server sent in part: by GTID, how many changes of each are out."""

    def behind(self, done: int) -> "MySqlPosition":
        """Return the place in the same transaction behind so many of its changes."""
        # one is made for each transaction, and `replace` takes three times as long
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
        """Return the position's part of a seq; behind 4 GB no transaction begins, and all places are one."""
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
    """Return the number at the end of a file's name, by which a server counts its files."""
    _, dot, number = name.rpartition(".")
    if not (dot and number.isascii() and number.isdigit()) or len(number) > _MOST_DIGITS:
        raise FILE_UNNUMBERED(file=name)
    made = int(number)
    if made > _MOST_NUMBER:
        raise FILE_UNNUMBERED(file=name)
    return made


def position_of(saved: Saved) -> MySqlPosition:
    """Read a position back; what is missing or of another form is refused."""
    try:
        name = _text(saved, "file")
        return MySqlPosition(
            _number(saved, "epoch"),
            file_number(name),
            _number(saved, "offset"),
            _number(saved, "done"),
            History(_text(saved, "server"), name, _number(saved, "begun")),
            _gtids(saved),
            _names(saved.get("names", {})),
            _prepared(saved.get("prepared", {})),
            _text(saved, "gtid") if "gtid" in saved else None,
            _cut(saved.get("cut", {})),
        )
    except (KeyError, ValueError, TypeError, Definite) as exc:
        reason = exc.sentence if isinstance(exc, Definite) else exc
        raise POSITION_UNREADABLE(reason=reason) from None


def _gtids(saved: Saved) -> AnyGtids | None:
    if "gtids" in saved:
        return MySqlGtids.parse(_text(saved, "gtids"))
    return MariaDbGtids.parse(_text(saved, "mariadb_gtids")) if "mariadb_gtids" in saved else None


def _names(saved: Json) -> Names:
    if not isinstance(saved, Mapping):
        raise TypeError("names is no table")
    tables = {table: columns for table, columns in saved.items() if isinstance(columns, Mapping)}
    if len(tables) != len(saved):
        raise TypeError("names has a table without columns")
    return {table: {name: _text(columns, name) for name in columns} for table, columns in tables.items()}


def _prepared(saved: Json) -> Mapping[str, Prepared]:
    if not isinstance(saved, Mapping):
        raise TypeError("prepared is no table")
    made = {}
    for xid, part in saved.items():
        match part:
            case [str(file), int(offset), str(gtid), str(after)] if type(offset) is int and offset >= 0:
                made[xid] = Prepared(file, offset, gtid, after)
            case _:
                raise TypeError("prepared has something that is no place")
    return made


def _cut(saved: Json) -> Mapping[str, int]:
    if not isinstance(saved, Mapping):
        raise TypeError("cut is no table")
    return {gtid: _number(saved, gtid) for gtid in saved}


def _number(saved: Mapping[str, Json], name: str) -> int:
    value = saved[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{name} is no number")
    return value


def _text(saved: Mapping[str, Json], name: str) -> str:
    value = saved[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value
