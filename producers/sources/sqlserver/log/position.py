"""A place in the change tables, as our offsets keep it.

    commit A  |  commit B: row row row row  |  commit C
              ^ after A: (A, whole)   ^ inside B, three out: (B, 3), with the place of the third row

A transaction is named by its commit LSN, which no other has.  Inside it a row's own place says where to
continue, so no row is read again to be counted: LSN and seqval repeat, all four parts do not.  The change
tables that were read are part of the position, because without them nobody could see later that one of them
was made again, or lost rows to the cleanup job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from wrackline.producers.contract.saved_fields import SavedFieldError, number_in, object_in, text_in
from wrackline.producers.contract.steps import Json, Saved
from wrackline.producers.sources.sqlserver.log.change_rows import RowKey, RowPlace, row_key
from wrackline.producers.sources.sqlserver.log.lsn import (
    HIGHEST,
    SIZE,
    ZERO,
    Lsn,
    next_lsn,
    parse_lsn,
    previous_lsn,
)
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.tables.seq import ORDINAL_MAX, snapshot_prefix
from wrackline.schemas.untrusted import is_number

SEQ_BYTES: Final = SIZE
WHOLE: Final = ORDINAL_MAX + 1  # above every ordinal

POSITION_UNREADABLE = define(
    "sqlserver.position_unreadable",
    Definite,
    "the stored position can't be read: {reason}",
    hint="look at it: wrackline offsets show <pipeline.toml>;"
    " or start over: wrackline offsets reset <pipeline.toml>",
)


class DatabaseIdentity(NamedTuple):
    """Which log this is: a position means nothing in another log."""

    family: str  # of the database and its copies: family_guid; of an availability group, the group's
    fork: str  # recovery_fork_guid: another one after each restore
    name: str  # the server's and the database's names, for people

    @property
    def kind(self) -> str:
        """Whose ids these are; those of two kinds can't be compared."""
        return "group" if not self.fork else "names" if self.family == self.name else "database"


class FollowedInstance(NamedTuple):
    """A capture instance as it was when the position was made."""

    object_id: int
    start_lsn: Lsn
    source: int  # the object_id of the table
    table: tuple[str, str] | None = None  # its schema and its name then; None: an old position has none


@dataclass(frozen=True, slots=True, order=True)
class SqlServerPosition:
    """`done` changes of the commit at `lsn` are published; WHOLE: all of it, and all before."""

    epoch: int
    lsn: Lsn
    done: int = WHOLE
    cut: RowPlace | None = field(default=None, compare=False)
    """The last row that was published; None: the commit is whole."""
    transaction: bytes | None = field(default=None, compare=False)
    """The commit's `tran_id`, by which its log is known again; None: the place is not of a listed commit."""
    identity: DatabaseIdentity | None = field(default=None, compare=False)
    ddl: Lsn = field(default=ZERO, compare=False)
    """The last entry of `cdc.ddl_history` that was looked at."""
    instances: Mapping[str, FollowedInstance] = field(default_factory=dict, compare=False)
    serial: int = field(default=0, compare=False)
    """How many rows of the change tables with the last row's seqval are published, as events number them."""

    def __post_init__(self) -> None:
        """Refuse a place that is neither behind a row nor behind a commit."""
        inside = self.cut is not None and self.lsn != ZERO
        if len(self.lsn) != SIZE or inside == (self.done == WHOLE) or self.done < 1:
            raise ValueError("a place is behind a commit, or behind a row of it")

    @property
    def behind(self) -> RowKey:
        """The place behind which the log continues."""
        if self.cut is None:
            return next_lsn(self.lsn)  # no row has this key: a prefix comes before all that it begins
        return row_key(self.lsn, self.cut)

    @property
    def passed(self) -> Lsn:
        """The LSN up to which every commit is out."""
        return self.lsn if self.cut is None else previous_lsn(self.lsn)

    def row_seq(self) -> bytes:
        """Return the seq of rows that are released here: above what is out, below what comes next."""
        return snapshot_prefix(self.epoch, self.lsn if self.cut is not None else next_lsn(self.lsn))

    def saved(self) -> Saved:
        """Render it for the offsets topic."""
        made: dict[str, Json] = {"epoch": self.epoch, "lsn": self.lsn.hex()}
        if self.cut is not None:
            command, seqval, table, operation = self.cut
            cut: dict[str, Json] = {
                "command": command,
                "seqval": seqval.hex(),
                "operation": operation,
                "object": table,
                "ordinal": self.done,
            }
            if self.serial:
                cut["serial"] = self.serial
            made["cut"] = cut
        if self.transaction is not None:
            made["transaction"] = self.transaction.hex()
        if self.identity is not None:
            made["identity"] = self.identity._asdict()
        if self.ddl != ZERO:
            made["ddl"] = self.ddl.hex()
        if self.instances:
            made["instances"] = {
                name: [one.object_id, one.start_lsn.hex(), one.source, *(one.table or ())]
                for name, one in self.instances.items()
            }
        return made


def position_of(saved: Saved) -> SqlServerPosition:
    """Read a saved position; refuse it if a part is missing or has another form."""
    try:
        cut, done, serial = _cut(saved["cut"]) if "cut" in saved else (None, WHOLE, 0)
        return SqlServerPosition(
            number_in(saved, "epoch"),
            _commit(saved),
            done,
            cut,
            _bytes(saved, "transaction") if "transaction" in saved else None,
            _identity(saved["identity"]) if "identity" in saved else None,
            _lsn(saved, "ddl") if "ddl" in saved else ZERO,
            _instances(saved.get("instances", {})),
            serial,
        )
    except SavedFieldError as exc:
        raise POSITION_UNREADABLE(reason=exc) from None


def _commit(saved: Saved) -> Lsn:
    lsn = _lsn(saved, "lsn")
    if lsn == HIGHEST or (lsn == ZERO and "cut" in saved):
        raise SavedFieldError("lsn names no commit")
    return lsn


def _cut(saved: Json) -> tuple[RowPlace, int, int]:
    fields = object_in(saved, "cut")
    if "command" not in fields:  # null is a place of its own
        raise SavedFieldError("command is missing")
    command = None if fields["command"] is None else number_in(fields, "command")
    place = RowPlace(
        command, _lsn(fields, "seqval"), number_in(fields, "object"), number_in(fields, "operation")
    )
    done = number_in(fields, "ordinal")
    if not 1 <= done <= ORDINAL_MAX:
        raise SavedFieldError("ordinal is not the number of a change")
    try:
        row_key(ZERO, place)
    except ValueError:
        raise SavedFieldError("cut is not a place in a change table") from None
    return place, done, number_in(fields, "serial") if "serial" in fields else 0


def _identity(saved: Json) -> DatabaseIdentity:
    fields = object_in(saved, "identity")
    return DatabaseIdentity(text_in(fields, "family"), text_in(fields, "fork"), text_in(fields, "name"))


def _instances(saved: Json) -> Mapping[str, FollowedInstance]:
    fields = object_in(saved, "instances")
    made = {}
    for name, one in fields.items():
        match one:
            case [int(number), str(start), int(source), *table] if is_number(number) and is_number(source):
                made[name] = FollowedInstance(number, _parsed(start, "instances"), source, _table(table))
            case _:
                raise SavedFieldError("instances has something that is not a capture instance")
    return made


def _table(parts: Sequence[Json]) -> tuple[str, str] | None:
    match parts:
        case []:
            return None
        case [str(schema), str(name)]:
            return schema, name
        case _:
            raise SavedFieldError("instances has something that is not the name of a table")


def _lsn(saved: Mapping[str, Json], name: str) -> Lsn:
    return _parsed(text_in(saved, name), name)


def _parsed(text: str, name: str) -> Lsn:
    try:
        return parse_lsn(text)
    except ValueError:
        raise SavedFieldError(f"{name} is not an LSN") from None


def _bytes(saved: Mapping[str, Json], name: str) -> bytes:
    try:
        return bytes.fromhex(text_in(saved, name))
    except ValueError:
        raise SavedFieldError(f"{name} is not hexadecimal") from None
