"""One row of a change table, and its place in the order of all change tables of a database.  Pure.

    start_lsn | command_id | seqval | change table | operation        29 bytes, compared as they are

A change table's clustered index has the same order, without the table.  It is unique, so a place names one
row.  The table comes before the operation, so that both rows of an update are next to each other whatever
other tables have.  A row that was written before the server knew `__$command_id` has NULL there, which the
index puts before all numbers, and so do we.
"""

from typing import NamedTuple, TypeAlias

from wrackline.producers.sources.sqlserver.log.lsn import SIZE, Lsn

DELETE, INSERT, BEFORE, AFTER = 1, 2, 3, 4  # __$operation

RowKey: TypeAlias = bytes
ChangeRow: TypeAlias = tuple[RowKey, bytes, bytes]  # its place, __$update_mask, the columns as they came
# change table, op ("c", "u" or "d"), place, update mask, image before, image after
Change: TypeAlias = tuple[int, str, RowKey, bytes, bytes | None, bytes | None]

_COMMAND_END, _SEQVAL_END, _TABLE_END = SIZE + 4, 2 * SIZE + 4, 2 * SIZE + 8


class RowPlace(NamedTuple):
    """A row's place in its transaction."""

    command: int | None
    seqval: bytes
    table: int  # the change table's object_id
    operation: int


def row_key(lsn: Lsn, place: RowPlace) -> RowKey:
    """Write a place as bytes; for the rows of a page `RowPacker` does."""
    command, seqval, table, operation = place
    if len(lsn) != SIZE or len(seqval) != SIZE:
        raise ValueError("an LSN has ten bytes")
    number = 0 if command is None else command + 1
    try:
        return b"".join(
            (lsn, number.to_bytes(4, "big"), seqval, table.to_bytes(4, "big"), operation.to_bytes(1, "big"))
        )
    except OverflowError:
        raise ValueError("a place in a change table has numbers of 0 or more") from None


def lsn_of(key: RowKey) -> Lsn:
    """Return the commit of a row."""
    return key[:SIZE]


def place_of(key: RowKey) -> RowPlace:
    """Read a place."""
    number = int.from_bytes(key[SIZE:_COMMAND_END], "big")
    return RowPlace(
        number - 1 if number else None,
        seqval_of(key),
        int.from_bytes(key[_SEQVAL_END:_TABLE_END], "big"),
        key[-1],
    )


def seqval_of(key: RowKey) -> bytes:
    """Return the LSN of a row itself."""
    return key[_COMMAND_END:_SEQVAL_END]


def place_in(key: RowKey, table: int) -> RowPlace:
    """Return the place behind which a table continues, if all tables were read up to `key`."""
    place = place_of(key)
    if table == place.table:
        return place
    # of the rows with the same command and seqval, this table's come all behind the key, or all before it
    return place._replace(table=table, operation=0 if table > place.table else AFTER)
