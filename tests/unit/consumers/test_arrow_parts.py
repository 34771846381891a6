"""Avro bytes as Arrow columns: what fastavro reads, and nothing of bytes that are not Avro."""

import json
from collections.abc import Sequence
from datetime import UTC
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.plain_build import PlainBuild

NUMBER = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "boolean": ("boolean", st.booleans()),
    "int": ("int", st.integers(-(2**31), 2**31 - 1)),
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "float": ("float", st.floats(width=32, allow_nan=False)),
    "double": ("double", st.floats(allow_nan=False)),
    "string": ("string", st.text()),
    "bytes": ("bytes", st.binary()),
    "date": ({"type": "int", "logicalType": "date"}, st.dates()),
    "instant": (
        {"type": "long", "logicalType": "timestamp-micros"},
        st.datetimes(timezones=st.just(UTC)),
    ),
    "moment": ({"type": "long", "logicalType": "local-timestamp-micros"}, st.datetimes()),
    "decimal": (NUMBER, st.integers(1 - 10**9, 10**9 - 1).map(lambda units: Decimal(units).scaleb(-2))),
    "texts": ({"type": "array", "items": ["null", "string"]}, st.lists(st.none() | st.text())),
}
ROW = {
    "type": "record",
    "name": "Row",
    "fields": [
        field
        for name, (avro, _) in TYPES.items()
        for field in (
            {"name": name, "type": avro},
            {"name": f"{name}_or_null", "type": ["null", avro]},
            {"name": f"null_or_{name}", "type": [avro, "null"]},
        )
    ],
}
OUTER = {
    "type": "record",
    "name": "Outer",
    "fields": [
        {"name": "skipped", "type": ["null", ROW]},
        {"name": "row", "type": ["null", "Row"]},
        {"name": "last", "type": "string"},
    ],
}
ROWS = st.fixed_dictionaries(
    {
        made: values if made == name else st.none() | values
        for name, (_, values) in TYPES.items()
        for made in (name, f"{name}_or_null", f"null_or_{name}")
    }
)
OUTERS = st.lists(
    st.fixed_dictionaries({"skipped": st.none() | ROWS, "row": st.none() | ROWS, "last": st.text()}),
    min_size=1,
    max_size=9,
)


def written(schema: Any, value: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def read(values: Sequence[bytes], schema: str, wanted: Any = None, *, shown: bool = True) -> list[Any] | None:
    """Read values as the newest of so many keys; None: one of them is odd."""
    from wrackline.consumers.newest.fetched_records import FetchedRecords  # noqa: PLC0415 - of this build
    from wrackline.consumers.newest.newest_records import decode_records, newest_places  # noqa: PLC0415 - the same
    from wrackline.consumers.newest.part_tree import parts_of  # noqa: PLC0415 - the same

    key = parts_of('{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}')
    value = parts_of(schema, wanted)
    assert key is not None
    assert value is not None
    head, width = b"\0\0\0\0\1", 4
    records = FetchedRecords("t", {0: 0}, {0: len(values)})
    for number, one in enumerate(values):
        records.add(head + bytes([2 * number]), head + one, number, 0)
    places = newest_places(records, head, head, width)
    if places is None or not decode_records(records, places, key, value):
        return None
    assert len(key.finish()) == len(values)
    found = value.finish()
    found.validate()  # of texts it takes any bytes, as Spark's own reader
    return found.to_pylist() if shown else []


WIDE = {**OUTER, "fields": [*OUTER["fields"], {"name": "seq", "type": "string"}]}
WIDE_TEXT = json.dumps(WIDE)
WANTED = {"row": None, "last": None, "seq": None}


@settings(max_examples=25)
@given(OUTERS)
def test_values_of_every_type_are_those_that_fastavro_reads(plain_build: PlainBuild, rows: list[Any]) -> None:
    whole = [{**row, "seq": "0001"} for row in rows]
    values = [written(WIDE, one) for one in whole]
    wanted = [{name: one[name] for name in WANTED} for one in whole]
    assert read(values, WIDE_TEXT, WANTED) == wanted
    assert read(values, WIDE_TEXT) == whole
    assert plain_build.call(read, values, WIDE_TEXT, WANTED) == wanted


@settings(max_examples=20)
@given(OUTERS, st.data())
def test_bytes_that_are_cut_or_changed_are_never_read_beyond(rows: list[Any], data: st.DataObject) -> None:
    """The end stays: a record without it is of another form."""
    value = written(WIDE, {**rows[0], "seq": "0001"})
    at = data.draw(st.integers(0, len(value) - 6))
    more = data.draw(st.binary(max_size=3))
    read([value[:at] + more + value[at + 1 :]], WIDE_TEXT, shown=False)
    read([value[:at] + value[-5:]], WIDE_TEXT, shown=False)


@pytest.mark.parametrize(
    ("avro", "value"),
    [
        ("int", b"\x80\x80\x80\x80\x20"),  # 2**32
        ("long", b"\xff" * 9 + b"\x7f"),
        ("long", b"\xff" * 11),
        ("boolean", b"\2"),
        ("string", b"\7"),  # a negative length
        ("string", b"\x80\x10"),  # beyond the end
        (["null", "int"], b"\4\0"),  # a third branch
        (["null", "int"], b"\1\0"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1\0"),
        (NUMBER, b"\0"),  # no number has no byte
        (NUMBER, b"\x08\x7f\xff\xff\xff"),  # ten digits
        (NUMBER, b"\x22" + b"\0" * 17),
        ("int", b"\0\0"),  # one byte too many
    ],
)
def test_what_is_odd_is_refused(plain_build: PlainBuild, avro: Any, value: bytes) -> None:
    fields = [{"name": "a", "type": avro}, {"name": "seq", "type": "string"}]
    text = json.dumps({"type": "record", "name": "Row", "fields": fields})
    given = [value + written("string", "0001")]
    assert read(given, text) is None
    assert plain_build.call(read, given, text) is None


def test_blocks_of_an_array_may_tell_their_size() -> None:
    fields = [{"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "seq", "type": "string"}]
    text = json.dumps({"type": "record", "name": "Row", "fields": fields})
    value = b"\3\4\2\4" + b"\2\6" + b"\0" + written("string", "0001")
    assert read([value], text) == [{"a": [1, 2, 3], "seq": "0001"}]


@pytest.mark.parametrize(
    "avro",
    [
        {"type": "fixed", "name": "f", "size": 4},
        {"type": "map", "values": "int"},
        {"type": "enum", "name": "e", "symbols": ["a"]},
        {"type": "int", "logicalType": "time-millis"},
        ["null", "int", "string"],
        ["int"],
        ["null", "Row"],  # a record in itself
    ],
)
def test_a_type_that_it_does_not_have_is_left_to_spark(avro: Any) -> None:
    from wrackline.consumers.newest.part_tree import parts_of  # noqa: PLC0415 - as above

    text = json.dumps({"type": "record", "name": "Row", "fields": [{"name": "a", "type": avro}]})
    assert parts_of(text) is None


def test_a_text_of_many_rows_grows_its_column() -> None:
    fields = [{"name": "a", "type": ["null", "string"]}, {"name": "seq", "type": "string"}]
    text = json.dumps({"type": "record", "name": "Row", "fields": fields})
    rows = [{"a": None if number % 3 == 0 else "x" * number, "seq": "0001"} for number in range(64)]
    assert read([written(json.loads(text), row) for row in rows], text) == rows


def test_an_empty_batch_has_no_newest() -> None:
    fields = [{"name": "seq", "type": "string"}]
    assert read([], json.dumps({"type": "record", "name": "Row", "fields": fields})) == []


def newest(values: Sequence[bytes]) -> list[int] | None:
    """Choose among records of which every other one has the key 1, the rest the key 2 or a longer one."""
    from wrackline.consumers.newest.fetched_records import FetchedRecords  # noqa: PLC0415 - of this build
    from wrackline.consumers.newest.newest_records import newest_places  # noqa: PLC0415 - the same

    records, head = FetchedRecords("t", {0: 0}, {0: len(values)}), b"\0\0\0\0\1"
    for number, one in enumerate(values):
        key = (b"\1", b"\2", b"\1" * 9, b"\1" * 17)[number % 4]
        records.add(head + key, head + b"\x08" + one, number, 0)
    places = newest_places(records, head, head, 4)
    return None if places is None else list(places)


@given(st.lists(st.integers(0, 99).map(lambda number: b"%04d" % number), max_size=300))
def test_of_each_key_the_greatest_seq_is_chosen_and_of_equal_ones_the_last(
    plain_build: PlainBuild, seqs: list[bytes]
) -> None:
    best = {
        number % 4: max((seq, at) for at, seq in enumerate(seqs) if at % 4 == number % 4)
        for number in range(len(seqs))
    }
    expected = sorted(at for _, at in best.values())
    assert newest(seqs) == expected
    assert plain_build.call(newest, seqs) == expected
