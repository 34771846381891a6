"""One row of V$LOGMNR_CONTENTS, as far as we use it.  Pure.

    (SCN, thread, RBA)    where the record is in the redo; the rows of an array operation share it

`RS_ID` and `SSN` name no row: an array delete of up to 255 rows has one pair for all of them.  So rows of one
record are told apart by the order in which they come, which is the same in each mining.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

# OPERATION_CODE
INTERNAL: Final = 0
INSERT: Final = 1
DELETE: Final = 2
UPDATE: Final = 3
DDL: Final = 5
START: Final = 6
COMMIT: Final = 7
LOB_LOCATOR: Final = 9
LOB_WRITE: Final = 10
LOB_TRIM: Final = 11
MISSING: Final = 34
ROLLBACK: Final = 36
XML_BEGIN: Final = 68
EXTENDED_BEGIN: Final = 91
UNSUPPORTED: Final = 255

LOB_BEGINS: Final = frozenset({LOB_LOCATOR, XML_BEGIN, EXTENDED_BEGIN})
LOB_PARTS: Final = LOB_BEGINS | {LOB_WRITE, LOB_TRIM, 28, 29, 70, 71, 92, 93}  # also erase, write and end

ENDS: Final = frozenset({COMMIT, ROLLBACK})
HEADS: Final = frozenset({INSERT, UPDATE})  # what begins a statement with LOBs that also changes scalars
ROW_OPERATIONS: Final = frozenset({INSERT, UPDATE, DELETE})

ROW_BYTES: Final = 700  # of a row in memory, without its statement
NO_SEQUENCE: Final = "FFFFFFFF"  # the end of an XID that was mined without its start
_NOBODY: Final = "UNKNOWN"  # the user of a row whose transaction's start is not in the range
_XID_DIGITS: Final = 16
_NO_ROW: Final = "A" * 12  # file, block and row of a ROW_ID that names no row

Rba: TypeAlias = tuple[int, int, int]  # the log's sequence, a block, a byte
TableKey: TypeAlias = tuple[int, str, str]  # container, owner, table


class MinedRow(NamedTuple):
    """A row of the view; texts that are NULL there are empty here, and numbers 0."""

    scn: int
    thread: int
    rba: Rba
    rs_id: str
    ssn: int
    container: int
    xid: str
    operation: int
    rollback: bool
    csf: bool
    status: int
    info: str
    timestamp: int  # microseconds since 1970, in the session's zone, which is UTC
    start_scn: int
    commit_scn: int
    row_id: str
    object_id: int
    object_version: int
    owner: str
    table: str
    username: str
    redo: str

    @property
    def of_table(self) -> TableKey:
        """The table that it belongs to; rows that name none have empty texts."""
        return self.container, self.owner, self.table


def mined_row(fields: Sequence[int | str | None], rba: Sequence[int]) -> MinedRow:
    """Make a row of the view's fields, which come in our order, without the RBA.

    RS_ID is padded with blanks by some servers and not by others.
    """
    scn, thread, rs_id, ssn, container, xid, operation, rollback, csf, status, info, *rest = fields
    timestamp, start, commit, row_id, object_id, version, owner, table, username, redo = rest
    made = MinedRow(
        _number(scn), _number(thread), (rba[0], rba[1], rba[2]), _text(rs_id).strip(), _number(ssn),
        _number(container), _text(xid).upper(), _number(operation), rollback == 1, csf == 1, _number(status),
        _text(info), _number(timestamp), _number(start), _number(commit), _text(row_id), _number(object_id),
        _number(version), _text(owner), _text(table), "" if username == _NOBODY else _text(username),
        _text(redo),
    )  # fmt: skip
    if len(made.xid) != _XID_DIGITS:
        raise ValueError("an XID has eight bytes")
    return made


def names_a_row(row_id: str) -> bool:
    """Whether a ROW_ID is a row's: the rows of a statement with LOBs have none until the last of them."""
    return row_id != "" and not row_id.endswith(_NO_ROW)


def _number(value: int | str | None) -> int:
    if value is None:
        return 0
    if not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def _text(value: int | str | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
