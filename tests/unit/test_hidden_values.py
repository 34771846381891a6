"""What is left out or masked occurs in no byte that goes out, and in no error, whatever the row message."""

import hashlib
import io
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.pgoutput import Cell, delete, insert, tuple_data, update
from tests.fixtures.plain_build import PlainBuild
from wrackline.producers.contract.steps import RowChange, Rows, Unsent
from wrackline.producers.sources.postgres.decode import PgDecoder
from wrackline.producers.sources.postgres.discover.facts import PgRegisteredShape, PgTableFacts
from wrackline.producers.sources.postgres.follow.table_tracker import PgTableTracker
from wrackline.producers.sources.postgres.log.position import PgHistory, PgPosition
from wrackline.producers.sources.postgres.rows.column_masking import ColumnMasking, masking_of
from wrackline.producers.sources.postgres.rows.messages import Relation
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.producers.sources.postgres.rows.source_record import PgSourceLabels
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events import envelope
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import Projection, project, project_all
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TEXT = ColumnType(Kind.STRING, "text")
TABLE = TableSchema(
    TableId("d", "public", "t"),
    (
        Column("mail", 1, TEXT, nullable=False),
        Column("pin", 2, ColumnType(Kind.INT32, "integer")),
        Column("name", 3, TEXT),
        Column("ssn", 4, TEXT),
        Column("note", 5, TEXT),
    ),
    ("mail",),
    KeyKind.PRIMARY,
)
HASH = "column.mask.hash.v2.SHA-256.with.salt.pepper"
RULES = {
    HASH: ("public.t.mail",),
    "column.mask.with.3.chars": ("public.t.pin",),
    "column.exclude.list": ("public.t.ssn",),
    "column.truncate.to.2.chars": ("public.t.note",),
}
SHAPE = project(TABLE, ColumnRules.of(RULES))
UNSENT = Cell.UNSENT
SOURCE = b"\x00" * 12
CANARY = b"kanarienvogel"
PIN = b"918273645"
ROW: list[bytes | Cell | None] = [CANARY + b"@x", PIN, b"Ann", CANARY, b"ab" + CANARY]
OTHER: list[bytes | Cell | None] = [CANARY + b"@y", PIN, b"Bo", CANARY, b"cd" + CANARY]
MESSAGES = {
    "insert": insert(ROW),
    "update": update(ROW),
    "update with the old key": update(ROW, [OTHER[0], None, None, None, None]),
    "update with the full old row": update(ROW, OTHER, b"O"),
    "update that was not sent whole": update([ROW[0], UNSENT, b"Ann", UNSENT, UNSENT], OTHER, b"O"),
    "delete": delete([ROW[0], None, None, None, None]),
    "delete with the full old row": delete(ROW, b"O"),
}


def events(message: bytes, shape: Projection = SHAPE) -> list[RowChange]:
    made: list[RowChange] = []
    PgRowDecoder(3, shape, 1, 2).decode(message, 0, Frame(SOURCE, b"00" * 11), 9, made)
    return made


def out(message: bytes) -> list[tuple[object, ...]]:
    """The events as plain tuples; also called in the process of the plain build."""
    return [tuple(event) for event in events(message)]


def read(event: RowChange) -> dict[str, Any]:
    schema = envelope.value_schema(
        SHAPE.table, topic="s.d.public.t", connector="postgresql", source_fields=()
    )
    record = fastavro.schemaless_reader(io.BytesIO(event[3][5:]), fastavro.parse_schema(schema), None)
    assert isinstance(record, dict)
    return record


def hashed(text: bytes) -> str:
    return hashlib.sha256(b"pepper" + text).hexdigest()


@pytest.mark.parametrize("name", MESSAGES)
def test_no_byte_of_a_hidden_value_goes_out_of_either_build(plain_build: PlainBuild, name: str) -> None:
    """A-MASK-01."""
    made = out(MESSAGES[name])
    assert made
    assert plain_build.call(out, MESSAGES[name]) == made
    for _, _, key, value, _ in made:
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        assert CANARY not in key + value
        assert PIN not in key + value
        assert struct.pack(">i", int(PIN)) not in value


def test_a_row_goes_out_as_the_rules_say() -> None:
    (event,) = events(insert(ROW))
    mail = hashed(CANARY + b"@x")
    assert read(event)["after"] == {"mail": mail, "pin": "***", "name": "Ann", "note": "ab"}
    assert event[2] == b"\x00\x00\x00\x00\x01\x80\x01" + mail.encode()


def test_both_images_of_a_changed_key_are_hidden() -> None:
    gone, made = events(update(ROW, OTHER, b"O"))
    assert (gone[1], made[1]) == ("d", "c")
    before = {"mail": hashed(CANARY + b"@y"), "pin": "***", "name": "Bo", "note": "cd"}
    assert read(gone)["before"] == before
    assert hashed(CANARY + b"@x").encode() in (made[2] or b"")


def test_an_equal_key_stays_equal_when_it_is_hashed() -> None:
    """A-MASK-04."""
    (event,) = events(update(ROW, ROW, b"O"))
    assert event[1] == "u"


def test_a_null_stays_null_under_a_mask() -> None:
    (event,) = events(insert([ROW[0], None, None, None, None]))
    assert read(event)["after"] == {"mail": hashed(CANARY + b"@x"), "pin": None, "name": None, "note": None}


def test_an_unsent_value_of_a_column_that_is_left_out_is_not_named() -> None:
    (event,) = events(update([ROW[0], UNSENT, b"Ann", UNSENT, UNSENT]))
    assert event[4] == Unsent(("pin", "note"))
    assert read(event)["source"]["unchanged"] == ["pin", "note"]
    (whole,) = events(update([ROW[0], b"1", b"Ann", UNSENT, b"n"]))
    assert whole[4] is None


def test_an_error_shows_no_hidden_value() -> None:
    """A-MASK-03."""
    table = TableSchema(
        TABLE.id,
        (*TABLE.columns, Column("born", 6, ColumnType(Kind.DATE, "date"))),
        TABLE.key,
        TABLE.key_kind,
    )
    shape = project(table, ColumnRules.of(RULES))
    for message in (insert([*ROW, b"no date"]), insert(ROW), insert([*ROW, None])[:-3], b"I\0\0\0\1"):
        with pytest.raises(WracklineError) as caught:
            events(message, shape)
        assert CANARY.decode() not in repr(caught.value) + str(caught.value.__context__)
    with pytest.raises(WracklineError, match="column born"):
        events(insert([*ROW, b"no date"]), shape)
    with pytest.raises(WracklineError, match="6 columns"):
        events(insert(ROW), shape)


def test_a_chunks_row_is_hidden_as_the_logs_is() -> None:
    """A-MASK-02."""
    (event,) = events(insert(ROW))
    key, head = PgRowDecoder(3, SHAPE, 1, 2).read(tuple_data(ROW))
    assert key == event[2]
    assert event[3].startswith(head)
    with pytest.raises(WracklineError):
        PgRowDecoder(3, SHAPE, 1, 2).read(tuple_data(ROW[1:]))


def test_a_table_without_rules_has_no_veil() -> None:
    assert masking_of(project_all(TABLE)) is None


def test_long_masks_fit_whatever_the_row() -> None:
    columns = tuple(Column(f"c{i}", i, TEXT) for i in range(50))
    rules = ColumnRules.of({"column.mask.with.10000.chars": (".*",)})
    shape = project(TableSchema(TABLE.id, columns), rules)
    (event,) = events(update([b""] * 50, [b"x"] * 50, b"O"), shape)
    assert event[3].count(b"*") == 2 * 50 * 10_000


@given(st.sampled_from(sorted(MESSAGES)), st.data())
def test_a_damaged_message_never_reads_outside_itself(name: str, data: st.DataObject) -> None:
    damaged = bytearray(MESSAGES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(5, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged)[: data.draw(st.integers(1, len(damaged)))]
    assert len(ColumnMasking(SHAPE).message(cut, 0)) <= len(cut) + 200


def log(*rows: bytes) -> list[bytes]:
    begin = b"B" + struct.pack(">QqI", 700, 0, 5)
    return [begin, *rows, b"C" + struct.pack(">xQQq", 700, 800, 0)]


def relation(oid: int, name: str) -> bytes:
    columns = b"".join(
        b"\0" + column.name.encode() + b"\0" + struct.pack(">Ii", 25, -1) for column in TABLE.columns
    )
    return (
        b"R" + struct.pack(">I", oid) + b"public\0" + name.encode() + b"\0d" + struct.pack(">H", 5) + columns
    )


def sequence(values: dict[str, Sequence[str]]) -> list[tuple[bytes, bytes]]:
    """What two tables' rows of one transaction become under these settings: name and the seq's end."""
    filters = TableFilter.of({name: tuple(texts) for name, texts in values.items()})
    rules = ColumnRules.of({name: tuple(texts) for name, texts in values.items()})

    class Explained:
        def writers(self, found: Relation, _behind: int | None) -> PgRegisteredShape:
            table = replace(TABLE, id=TableId("d", found.schema, found.name))
            return PgRegisteredShape(project(table, rules), 1, 2)

        def revision(self, facts: PgTableFacts) -> tuple[PgTableFacts, None]:
            """Nobody asks."""
            return facts, None

        def genuine(self, _: bytes) -> bool:
            """No message comes."""
            return False

    start = PgPosition(1, 0, 0, 0, PgHistory("1", 1, "s"))
    decoder = PgDecoder(start, PgSourceLabels("1", "s", "d"), PgTableTracker(filters.captures), Explained())
    rows = [insert(ROW, relation=oid) for oid in (1, 2, 1, 2, 2, 1)]
    for message in [relation(1, "t"), relation(2, "u"), *log(*rows)]:
        decoder.feed(message, 0)
    batch = decoder.take()
    assert batch is not None
    changes = [change for step in batch.steps if isinstance(step, Rows) for change in step.rows]
    return [(b"t" if b"\x02t" in change[3] else b"u", change[3][-8:]) for change in changes]


def test_filters_change_no_seq() -> None:
    everywhere = sequence({})
    assert [ordinal for _, ordinal in everywhere] == [b"%08x" % i for i in range(6)]
    only = sequence({"table.include.list": ["public.t"]})
    assert only == [one for one in everywhere if one[0] == b"t"]
    assert [ordinal for _, ordinal in only] == [b"00000000", b"00000002", b"00000005"]
    hidden = sequence({"column.exclude.list": [".*ssn"], "table.exclude.list": ["public.t"]})
    assert hidden == [one for one in everywhere if one[0] == b"u"]
