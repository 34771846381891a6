"""Which new types of a key's column may leave rows under keys that they had."""

from dataclasses import replace

import pytest

from wrackline.producers.snapshot.shape_changes import moves_keys
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

STAMP, TEXT = Kind.TIMESTAMP_MICROS, Kind.STRING


def plain(kind: Kind, source: str) -> ColumnType:
    return ColumnType(kind, source)


def enumerated(source: str, *labels: str) -> ColumnType:
    return ColumnType(Kind.ENUM, source, labels=labels)


def listed(kind: Kind, source: str) -> ColumnType:
    return ColumnType(Kind.ARRAY, f"{source}[]", element=plain(kind, source))


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        (plain(Kind.INT32, "integer"), plain(Kind.INT64, "bigint"), False),
        (plain(Kind.INT64, "bigint"), plain(Kind.INT32, "integer"), True),
        (plain(Kind.INT32, "int"), plain(Kind.INT64, "int unsigned"), True),
        (plain(Kind.INT64, "int unsigned"), plain(Kind.INT64, "bigint"), False),
        (enumerated("public.mood", "sad"), enumerated("public.mood", "sad", "ok"), False),
        (enumerated("public.mood", "sad"), enumerated("public.mood", "bad"), True),
        (enumerated("public.mood", "sad"), enumerated("public.feeling", "sad"), False),
        (listed(TEXT, "character varying(9)"), listed(TEXT, "character varying(20)"), False),
        (listed(STAMP, "timestamp without time zone"), listed(STAMP, "timestamp(0) without time zone"), True),
        (listed(TEXT, "text"), plain(TEXT, "text"), True),
        (plain(TEXT, "text"), listed(TEXT, "text"), True),
    ],
)
def test_a_key_moves_where_its_new_type_may_not_keep_what_it_holds(
    old: ColumnType, new: ColumnType, *, moves: bool
) -> None:
    was, now = (TableSchema(TableId("d", "s", "t"), (Column("k", 1, one),), ("k",)) for one in (old, new))
    assert moves_keys(was, now) is moves


def test_no_other_column_and_no_other_change_moves_keys() -> None:
    number, text = plain(Kind.INT64, "bigint"), plain(TEXT, "text")
    key, other = Column("k", 1, number), Column("o", 2, number)
    was = TableSchema(TableId("d", "s", "t"), (key, other), ("k",))
    renamed = replace(was, columns=(replace(key, name="i", nullable=False), other), key=("i",))
    assert not moves_keys(was, renamed)
    assert not moves_keys(was, replace(was, columns=(key, replace(other, type=text))))
    both = (replace(key, type=plain(Kind.INT32, "integer")), replace(other, type=text))
    assert moves_keys(was, replace(was, columns=both))
    assert moves_keys(was, replace(was, columns=(both[0], replace(other, nullable=False))))
