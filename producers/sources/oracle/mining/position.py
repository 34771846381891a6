"""A place in the redo log, as our offsets keep it.  Pure.

    from                         commit done     commit cut
     |  T1 begins ... T2 begins ... T3 ends | ... T2 ends: row row | row row ... T1 ends

Transactions are in the order of their commits: by SCN, thread and RBA of the commit's record.  Those up to
`done` are out, and of the cut one the first `rows`, up to the row at `last`: a count alone would count other
rows where tables were renamed, dropped or left out since.  Mining begins at `from`, where the oldest of the
others began; so all that the others did is mined again, and what is out is dropped by its place.  `seen` is
how far was mined: up to there, a row of a transaction that began before `from` is of one that is out or
rolled back.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from wrackline.producers.contract.saved_fields import SavedFieldError, number_in, object_in, text_in
from wrackline.producers.contract.steps import Json, Saved
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.mined_row import Rba
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.tables.seq import ORDINAL_MAX, log_prefix, snapshot_prefix
from wrackline.schemas.untrusted import is_number

SEQ_BYTES: Final = 20
WHOLE: Final = ORDINAL_MAX + 1  # above every ordinal

_WIDTHS: Final = (8, 2, 4, 4, 2)  # SCN, thread, sequence, block, byte
_XID: Final = re.compile(r"[0-9A-F]{16}")

POSITION_UNREADABLE = define(
    "oracle.position_unreadable",
    Definite,
    "the stored position can't be read: {reason}",
    hint="look at it: wrackline offsets show <pipeline.toml>;"
    " or start over: wrackline offsets reset <pipeline.toml>",
)


class CommitPlace(NamedTuple):
    """A commit's record; no two commits of a log have one place."""

    scn: int
    thread: int
    rba: Rba

    def packed(self) -> bytes:
        """Return bytes in the same order, as a seq has them."""
        numbers = (self.scn, self.thread, *self.rba)
        return b"".join(number.to_bytes(width, "big") for number, width in zip(numbers, _WIDTHS, strict=True))


_HIGHEST: Final = (0xFFFF, (0xFFFF_FFFF, 0xFFFF_FFFF, 0xFFFF))


def last_at(scn: int) -> CommitPlace:
    """Return the place behind all commits of an SCN."""
    return CommitPlace(scn, *_HIGHEST)


class RedoRowPlace(NamedTuple):
    """A row of a transaction: the record with which its change begins, and its number among that record's."""

    scn: int
    thread: int
    rba: Rba
    number: int  # from 1 on


FIRST_ROW: Final = RedoRowPlace(0, 0, (0, 0, 0), 0)  # before every row


class CutTransaction(NamedTuple):
    """The transaction of which only the first rows are out."""

    container: int
    xid: str
    commit: CommitPlace
    last: RedoRowPlace  # the last row that is out


class MinedWindow(NamedTuple):
    """What must be mined again, what was mined, and the last end of a transaction that is out or empty."""

    oldest: int
    seen: int
    open: int
    done: CommitPlace


@dataclass(frozen=True, slots=True, order=True)
class OraclePosition:
    """`rows` of the transaction at `place` are published; WHOLE: all of it, and all before."""

    epoch: int
    place: CommitPlace
    rows: int = WHOLE
    oldest: int = field(default=1, compare=False)
    """The SCN from which on rows are needed: where the oldest transaction began that is not out."""
    seen: int = field(default=0, compare=False)
    """The SCN up to which all rows were seen, in every thread."""
    incarnation: Incarnation = field(default=Incarnation(0, 0), compare=False)
    done: CommitPlace = field(default=CommitPlace(0, 0, (0, 0, 0)), compare=False)
    """The last commit that is whole; `place`, unless a transaction is cut."""
    cut: CutTransaction | None = field(default=None, compare=False)
    open: int = field(default=0, compare=False)
    """How many transactions are open, for people."""

    def behind(self, window: MinedWindow) -> "OraclePosition":
        """Return the place behind all transactions that have ended up to `done`."""
        oldest, seen, count, done = window
        return OraclePosition(self.epoch, done, WHOLE, oldest, seen, self.incarnation, done, None, count)

    def inside(self, cut: CutTransaction, rows: int, window: MinedWindow) -> "OraclePosition":
        """Return the place behind some rows of the transaction that comes next."""
        oldest, seen, count, done = window
        return OraclePosition(self.epoch, cut.commit, rows, oldest, seen, self.incarnation, done, cut, count)

    def mined(self, window: MinedWindow) -> "OraclePosition":
        """Return the same place, where more was mined since: a cut transaction stays cut."""
        return self.behind(window) if self.cut is None else self.inside(self.cut, self.rows, window)

    def __post_init__(self) -> None:
        """Refuse a place that is neither behind a row nor behind a commit."""
        inside = self.cut is not None
        if inside == (self.rows == WHOLE) or self.rows < 1:
            raise ValueError("a place is behind a commit, or behind a row of it")
        if self.cut is not None and not self.done < self.cut.commit == self.place:
            raise ValueError("a cut transaction is the next one")

    def row_seq(self) -> bytes:
        """Return the seq of rows that are released here: above what is out, below what comes next."""
        packed = self.place.packed()
        if self.cut is None:
            packed = (int.from_bytes(packed, "big") + 1).to_bytes(SEQ_BYTES, "big")
        return snapshot_prefix(self.epoch, packed)

    def saved(self) -> Saved:
        """Render it for the offsets topic."""
        made: dict[str, Json] = {
            "epoch": self.epoch,
            "incarnation": list(self.incarnation),
            "from": self.oldest,
            "seen": self.seen,
            "done": _numbers(self.done),
            "open": self.open,
        }
        if self.cut is not None:
            container, xid, commit, last = self.cut
            cut: dict[str, Json] = {"container": container, "xid": xid, "rows": self.rows}
            made["cut"] = {**cut, "last": [*_numbers(last), last.number], "commit": _numbers(commit)}
        return made


def commit_seq(epoch: int, commit: CommitPlace) -> bytes:
    """Return the seq of a transaction's changes, without their ordinals."""
    return log_prefix(epoch, commit.packed())


def position_of(saved: Saved) -> OraclePosition:
    """Read a saved position; refuse it if a part is missing or has another form."""
    try:
        done = _place(saved, "done")
        cut, rows = _cut(saved["cut"]) if "cut" in saved else (None, WHOLE)
        return OraclePosition(
            number_in(saved, "epoch"),
            done if cut is None else cut.commit,
            rows,
            _oldest(saved),
            number_in(saved, "seen"),
            Incarnation(*_list(saved, "incarnation", 2)),
            done,
            cut,
            number_in(saved, "open"),
        )
    except (SavedFieldError, ValueError) as exc:  # a position refuses what its fields say together
        raise POSITION_UNREADABLE(reason=exc) from None


def _numbers(place: CommitPlace | RedoRowPlace) -> list[int]:
    return [place.scn, place.thread, *place.rba]


def _oldest(saved: Mapping[str, Json]) -> int:
    if (oldest := number_in(saved, "from")) < 1:
        raise SavedFieldError("from is not the SCN of a change")
    return oldest


def _cut(saved: Json) -> tuple[CutTransaction, int]:
    fields = object_in(saved, "cut")
    xid = text_in(fields, "xid")
    if _XID.fullmatch(xid) is None:
        raise SavedFieldError("xid is not 16 hexadecimal digits")
    rows = number_in(fields, "rows")
    if not 1 <= rows <= ORDINAL_MAX:
        raise SavedFieldError("rows is not a count of changes")
    *place, number = _list(fields, "last", len(_WIDTHS) + 1)
    last = RedoRowPlace(*_record(place, "last"), number)
    return CutTransaction(number_in(fields, "container"), xid, _place(fields, "commit"), last), rows


def _place(saved: Mapping[str, Json], name: str) -> CommitPlace:
    return CommitPlace(*_record(_list(saved, name, len(_WIDTHS)), name))


def _record(numbers: Sequence[int], name: str) -> tuple[int, int, Rba]:
    if any(number >= 1 << 8 * width for number, width in zip(numbers, _WIDTHS, strict=True)):
        raise SavedFieldError(f"{name} is not the place of a record")
    scn, thread, sequence, block, byte = numbers
    return scn, thread, (sequence, block, byte)


def _list(saved: Mapping[str, Json], name: str, size: int) -> list[int]:
    value = saved.get(name)
    if not isinstance(value, list) or len(value) != size:
        raise SavedFieldError(f"{name} is not a list of {size} numbers")
    numbers = [number for number in value if is_number(number)]
    if len(numbers) != size:
        raise SavedFieldError(f"{name} has something that is not a whole number of 0 or more")
    return numbers
