"""The hot path's Avro against the reference library's, in both builds, for every kind of value."""

import copy
import io
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fixtures import pgoutput
from tests.fixtures.cells import SAMPLES, Sample
from tests.fixtures.plain_build import PlainBuild
from wrackline.schemas.events import envelope
from wrackline.schemas.events.projection import Action, Plain, Projection, project, project_all
from wrackline.schemas.language.masks import StarsMask, TruncateMask, hash_of
from wrackline.schemas.settings.filters import ColumnRules, Listed
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

SOURCE = {
    "version": "1", "connector": "postgresql", "name": "s", "ts_ms": 5, "snapshot": None, "db": "d",
    "sequence": None, "schema": "public", "table": "t", "unchanged": None, "chunk": None,
}  # fmt: skip
HAS_COMPILER = bool(shutil.which("cc")) and Path(sysconfig.get_path("include"), "Python.h").exists()
KEY = ColumnType(Kind.INT64, "bigint")


def table_of(samples: list[Sample]) -> TableSchema:
    columns = [Column("id", 1, KEY, nullable=False)]
    columns += [Column(f"c{i}", i + 2, sample.column) for i, sample in enumerate(samples)]
    return TableSchema(TableId("d", "public", "t"), tuple(columns), ("id",), KeyKind.PRIMARY)


def encode(shape: Projection, source: bytes, messages: list[bytes]) -> list[tuple[object, ...]]:
    """Decode pgoutput into events; also called in the process of the plain build."""
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder  # noqa: PLC0415 - of that process
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415 - the same

    decoder = PgRowDecoder(7, shape, 258, 259)
    frame = Frame(source, b"0001" + b"ab" * 8 + b"ff", ts_ms=1)
    events: list[tuple[object, ...]] = []
    for ordinal, message in enumerate(messages):
        decoder.decode(message, 0, frame, ordinal, events)  # type: ignore[arg-type] # compared as plain tuples
    return events


def build_is_compiled() -> bool:
    from wrackline.schemas.events.avro_writer import COMPILED  # noqa: PLC0415 - of that process

    return COMPILED


def without_logical_dates(schema: Any) -> Any:
    """Let fastavro take days and microseconds as the numbers they are, beyond Python's calendar."""
    if isinstance(schema, list):
        return [without_logical_dates(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: without_logical_dates(value) for key, value in schema.items()}
    if kept.get("logicalType") in {"date", "local-timestamp-micros"}:
        del kept["logicalType"]
    return kept


def reference(schema: Any, record: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(copy.deepcopy(schema)), record)
    return out.getvalue()


def read(schema: Any, data: bytes) -> object:
    """Decode one record to its last byte."""
    stream = io.BytesIO(data)
    record = fastavro.schemaless_reader(stream, fastavro.parse_schema(copy.deepcopy(schema)))
    assert not stream.read()
    return record


def source_bytes(value_schema: dict[str, object]) -> bytes:
    fields = value_schema["fields"]
    assert isinstance(fields, list)
    (source,) = [field["type"] for field in fields if field["name"] == "source"]
    kept = [field for field in source["fields"] if field["name"] not in {"unchanged", "chunk"}]
    return reference(source | {"fields": kept}, SOURCE)


@pytest.mark.skipif(not HAS_COMPILER, reason="without a C compiler there is the plain build alone")
def test_where_a_compiler_is_the_other_build_is_compiled() -> None:
    assert build_is_compiled()


def test_the_plain_build_is_plain(plain_build: PlainBuild) -> None:
    assert not plain_build.call(build_is_compiled)


@given(st.lists(SAMPLES, min_size=1, max_size=6), st.integers(-(2**63), 2**63 - 1))
@example([Sample(ColumnType(Kind.FLOAT64, "double precision"), b"NaN", float("nan"))], 0)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_builds_write_what_the_reference_library_writes(
    plain_build: PlainBuild, samples: list[Sample], key: int
) -> None:
    table = table_of(samples)
    topic = "s.d.public.t"
    value_schema = envelope.value_schema(table, topic=topic, connector="postgresql", source_fields=())
    source = source_bytes(value_schema)
    cells = [str(key).encode(), *(sample.text for sample in samples)]
    row = {"id": key} | {f"c{i}": sample.value for i, sample in enumerate(samples)}
    only_key = {name: (key if name == "id" else None) for name in row}
    messages = [
        pgoutput.insert(cells),
        pgoutput.update(cells, cells, b"O"),
        pgoutput.delete([cells[0], *(None for _ in samples)]),
    ]
    compiled = encode(project_all(table), source, messages)
    assert plain_build.call(encode, project_all(table), source, messages) == compiled

    schema = without_logical_dates(value_schema)
    key_bytes = b"\x00\x00\x00\x01\x02" + reference(envelope.key_schema(table, topic=topic), {"id": key})
    images = [("c", None, row), ("u", row, row), ("d", only_key, None)]
    for ordinal, ((op, before, after), event) in enumerate(zip(images, compiled, strict=True)):
        seq = "0001" + "ab" * 8 + "ff" + f"{ordinal:08x}"
        record = {
            "before": before, "after": after, "source": SOURCE, "op": op, "ts_ms": 1, "ts_us": 1000,
            "ts_ns": 1_000_000, "transaction": None, "seq": seq,
        }  # fmt: skip
        value = event[3]
        assert isinstance(value, bytes)
        assert event == (7, op, key_bytes, value, None)
        expected = reference(schema, record)
        assert value[:5] == b"\x00\x00\x00\x01\x03"
        assert repr(read(schema, value[5:])) == repr(read(schema, expected))
        if not any(sample.column.kind is Kind.DECIMAL for sample in samples):
            assert value[5:] == expected  # the reference gives -128 two bytes, Java and we give it one


Row = list[bytes | pgoutput.Cell | None]
ACTIONS = st.sampled_from(
    [
        Plain.KEEP,
        Plain.DROP,
        StarsMask(0),
        StarsMask(300),
        TruncateMask(3),
        hash_of("SHA-512", "s", 2),
        hash_of("MD5", "s", 1),
    ]
)


def ruled(table: TableSchema, actions: list[Action]) -> Projection:
    """The table under rules that give each column but the key its action."""
    named = [
        (Listed.of("a", f"public.t.{column.name}"), action)
        for column, action in zip(table.columns[1:], actions, strict=True)
    ]
    return project(
        table,
        ColumnRules(
            excluded=tuple(one for one, action in named if action is Plain.DROP),
            masks=tuple((one, action) for one, action in named if not isinstance(action, Plain)),
        ),
    )


def obeyed(row: Row, shape: Projection) -> Row:
    """A row as the rules let it out, cell by cell."""
    return [
        cell if action is Plain.KEEP or not isinstance(cell, bytes) else action(cell)
        for cell, action in zip(row, shape.actions, strict=True)
        if action is not Plain.DROP
    ]


@given(st.lists(st.tuples(SAMPLES, ACTIONS), min_size=1, max_size=8), st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_ruled_table_is_the_published_table_with_what_the_rules_left(
    plain_build: PlainBuild, columns: list[tuple[Sample, Action]], data: st.DataObject
) -> None:
    shape = ruled(table_of([sample for sample, _ in columns]), [action for _, action in columns])
    cells = [st.sampled_from([sample.text, None, pgoutput.Cell.UNSENT]) for sample, _ in columns]
    rows = st.tuples(st.sampled_from([b"1", b"2"]), *cells).map(list)
    new, old = data.draw(rows), data.draw(rows)

    def messages(new: Row, old: Row) -> list[bytes]:
        return [
            pgoutput.insert(new),
            pgoutput.update(new),
            pgoutput.update(new, old, b"O"),
            pgoutput.delete(old),
        ]

    made = encode(shape, b"\0" * 9, messages(new, old))
    assert made == encode(
        project_all(shape.table), b"\0" * 9, messages(obeyed(new, shape), obeyed(old, shape))
    )
    assert plain_build.call(encode, shape, b"\0" * 9, messages(new, old)) == made
