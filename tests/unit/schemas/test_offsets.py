"""The offsets topic: what is written is read back, what is broken is named by its place alone."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from wrackline.schemas.errors import Definite
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import ReplayFault, replay
from wrackline.schemas.kafka.offsets_records import (
    BeginKey,
    BeginRecord,
    Offset,
    OffsetsRecord,
    PositionKey,
    RecordPlace,
    SavedTableState,
    TableKey,
    begin_key,
    canonical_json,
    encode,
    parse,
    position_key,
    table_key,
)
from wrackline.schemas.tables.table import SourcePartition, TableId

PLACE = RecordPlace("wrackline-offsets", 3, 41)
SHOP = SourcePartition("srv", "shop")
WHOLE_SERVER = SourcePartition("srv", "binlog")
ORDERS = TableId("shop", "public", "orders.old")
CANARY = "4929-1234-canary"


def offset(n: int, *, generation: int = 1, previous: int | None = None) -> Offset:
    before = n - 1 if previous is None else previous
    return Offset(generation, n, canonical_json({"lsn": n}), canonical_json({"lsn": before}), 10, 99)


def at(number: int, key: bytes, value: bytes | None, partition: int = 0) -> OffsetsRecord:
    return parse(RecordPlace("wrackline-offsets", partition, number), key, value)


def transactions(*numbers: int, partition: int = 0, generation: int = 1) -> list[OffsetsRecord]:
    records = []
    for n in numbers:
        records.append(at(n * 2, begin_key("orders-0"), encode(BeginRecord(generation, n)), partition))
        records.append(
            at(n * 2 + 1, position_key("orders", SHOP), encode(offset(n, generation=generation)), partition)
        )
    return records


def test_keys_read_as_kafka_connect_writes_them() -> None:
    assert position_key("orders", SHOP) == b'["orders",{"database":"shop","server":"srv"}]'
    assert table_key("orders", SHOP, ORDERS) == (
        b'["orders",{"database":"shop","server":"srv","table":["public","orders.old"]}]'
    )
    assert table_key("orders", WHOLE_SERVER, ORDERS) == (
        b'["orders",{"database":"binlog","server":"srv","table":["shop","public","orders.old"]}]'
    )
    assert begin_key("orders-0") == b'"orders-0#begin"'


def test_values_are_sorted_json_with_a_version() -> None:
    value = Offset(3, 7, canonical_json({"b": 1, "a": "x"}), None, 0, 5)
    assert encode(value) == (
        b'{"checksum":5,"events":0,"generation":3,"n":7,"position":{"a":"x","b":1},"previous":null,'
        b'"snapshot":null,"version":1}'
    )


@pytest.mark.parametrize(
    ("key", "value", "parsed_key", "parsed"),
    [
        (position_key("c", SHOP), encode(offset(7)), PositionKey("c", "srv", "shop"), offset(7)),
        (b'["c",{"server":"srv"}]', encode(offset(7)), PositionKey("c", "srv", None), offset(7)),
        (
            table_key("c", SHOP, ORDERS),
            encode(SavedTableState(2, canonical_json({"k": [1]}))),
            TableKey("c", SHOP, ORDERS),
            SavedTableState(2, canonical_json({"k": [1]})),
        ),
        (
            table_key("c", WHOLE_SERVER, ORDERS),
            encode(SavedTableState(2, canonical_json({"k": [1]}))),
            TableKey("c", WHOLE_SERVER, ORDERS),
            SavedTableState(2, canonical_json({"k": [1]})),
        ),
        (begin_key("c-0"), encode(BeginRecord(2, 3)), BeginKey("c-0"), BeginRecord(2, 3)),
        (position_key("c", SHOP), None, PositionKey("c", "srv", "shop"), None),
    ],
)
def test_what_is_written_is_read(key: bytes, value: bytes | None, parsed_key: object, parsed: object) -> None:
    assert parse(PLACE, key, value) == OffsetsRecord(PLACE, parsed_key, parsed)  # type: ignore[arg-type] # rows of a table


def spoiled(**fields: object) -> bytes:
    value = orjson.loads(encode(offset(7)))
    value.update(fields)
    return orjson.dumps({name: field for name, field in value.items() if field != "gone"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, encode(offset(7))),
        (b"", encode(offset(7))),
        (b'"' + CANARY.encode(), encode(offset(7))),
        (b'"#begin"', encode(BeginRecord(1, 1))),
        (b'["c"]', encode(offset(7))),
        (b'["c",{}]', encode(offset(7))),
        (b'["c",{"server":1}]', encode(offset(7))),
        (b'["c",{"server":"s","database":null}]', encode(offset(7))),
        (b'["c",{"server":"s","table":["a","b"]}]', encode(offset(7))),
        (b'["c",{"server":"s","database":"d","table":"a.b"}]', encode(offset(7))),
        (b'["c",{"server":"s","more":"x"}]', encode(offset(7))),
        (position_key("c", SHOP), b""),
        (position_key("c", SHOP), b"[]"),
        (position_key("c", SHOP), b'{"lsn":"' + CANARY.encode()),
        (position_key("c", SHOP), b'"' + CANARY.encode() + b'"'),
        (position_key("c", SHOP), b"\xff\xfe"),
        (position_key("c", SHOP), orjson.dumps({"lsn": CANARY})),
        (position_key("c", SHOP), spoiled(version="1")),
        (position_key("c", SHOP), spoiled(version=True)),
        (position_key("c", SHOP), spoiled(generation=-1)),
        (position_key("c", SHOP), spoiled(n=CANARY)),
        (position_key("c", SHOP), spoiled(position=CANARY)),
        (position_key("c", SHOP), spoiled(position="gone")),
        (position_key("c", SHOP), spoiled(previous=CANARY)),
        (position_key("c", SHOP), spoiled(snapshot=[CANARY])),
        (position_key("c", SHOP), spoiled(events=1.5)),
        (position_key("c", SHOP), spoiled(checksum="gone")),
        (position_key("c", SHOP), spoiled(**{CANARY: 1})),
        (table_key("c", SHOP, ORDERS), spoiled()),
        (begin_key("c-0"), spoiled()),
    ],
)
def test_a_broken_record_is_named_by_its_place_and_not_by_its_content(
    key: bytes | None, value: bytes
) -> None:
    with pytest.raises(Definite) as caught:
        parse(PLACE, key, value)
    assert caught.value.code == "offsets.broken"
    assert "wrackline-offsets[3]@41" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert CANARY not in repr(caught.value.__context__)


def test_a_version_from_the_future_is_refused() -> None:
    with pytest.raises(Definite, match="version 2"):
        parse(PLACE, position_key("c", SHOP), spoiled(version=2))


def test_an_older_version_is_raised_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def named_position(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "position": {"lsn": value["position"]}}

    steps: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {0: named_position}
    monkeypatch.setattr(offsets_records, "MIGRATIONS", steps)
    record = parse(PLACE, position_key("c", SHOP), spoiled(version=0, position=7))
    assert record.value == offset(7)


def test_a_task_resumes_at_its_last_transaction() -> None:
    state = replay(transactions(1, 2, 3))
    assert state.resume("orders", SHOP) == offset(3)
    assert state.findings == ()
    assert state.resume("orders", SourcePartition("srv", "other")) is None
    assert state.resume("another", SHOP) is None


def test_an_older_single_partition_key_is_the_fallback() -> None:
    old = at(1, b'["orders",{"server":"srv"}]', encode(offset(7)))
    assert replay([old]).resume("orders", SHOP) == offset(7)
    assert replay([old, *transactions(8)]).resume("orders", SHOP) == offset(8)


def test_a_begin_without_its_end_is_torn() -> None:
    begun = at(9, begin_key("orders-0"), encode(BeginRecord(1, 3)))
    assert [f.fault for f in replay([*transactions(1, 2), begun]).findings] == [ReplayFault.TORN]
    torn = replay([*transactions(1, 2), begun, *transactions(4)])
    assert [(f.fault, f.n) for f in torn.findings] == [(ReplayFault.TORN, 3)]
    assert torn.resume("orders", SHOP) == offset(4)


def test_one_begin_covers_all_source_partitions_of_a_task() -> None:
    """T-S9."""
    begun = at(1, begin_key("t-0"), encode(BeginRecord(1, 1)))
    one = at(2, position_key("t", SHOP), encode(offset(1)))
    two = at(3, position_key("t", SourcePartition("srv", "b")), encode(offset(1)))
    assert replay([begun, one, two]).findings == ()


def test_an_end_under_anothers_begin_is_a_stray() -> None:
    late = at(9, position_key("orders", SHOP), encode(offset(1)))
    faults = [f.fault for f in replay([*transactions(1, 2), late]).findings]
    assert faults == [ReplayFault.STRAY]


def test_a_record_that_was_moved_or_edited_needs_no_begin() -> None:
    moved = Offset(2, offsets_records.OUTSIDE_ANY_TRANSACTION, canonical_json({"lsn": 9}), None, 0, 0)
    state = replay([*transactions(1), at(9, position_key("orders", SHOP), encode(moved))])
    assert state.findings == ()
    assert state.resume("orders", SHOP) == moved


def test_a_claimed_generation_is_no_torn_transaction_and_shuts_out_what_is_older() -> None:
    claim = at(9, begin_key("orders-0"), encode(BeginRecord(2, offsets_records.OUTSIDE_ANY_TRANSACTION)))
    state = replay([*transactions(1), claim])
    assert state.findings == ()
    assert state.resume("orders", SHOP) == offset(1)
    late = at(10, position_key("orders", SHOP), encode(offset(2)))
    assert [f.fault for f in replay([*transactions(1), claim, late]).findings] == [ReplayFault.STRAY]


def test_a_fenced_owners_late_record_is_ignored_and_reported() -> None:
    state = replay([*transactions(1, generation=2), *transactions(5, generation=1)])
    assert state.resume("orders", SHOP) == offset(1, generation=2)
    assert ReplayFault.STALE in {finding.fault for finding in state.findings}


def test_the_highest_generation_holds_between_partitions_in_any_order() -> None:
    old, new = transactions(9, partition=1, generation=1), transactions(1, partition=0, generation=2)
    for records in (old + new, new + old):
        assert replay(records).resume("orders", SHOP) == offset(1, generation=2)


def test_one_generation_in_two_partitions_is_reported() -> None:
    state = replay(transactions(1, partition=0) + transactions(2, partition=1))
    assert [finding.fault for finding in state.findings] == [ReplayFault.MIXED]
    assert state.resume("orders", SHOP) == offset(2)


def test_a_tombstone_takes_back_only_its_own_partitions_record() -> None:
    tombstone = at(9, position_key("orders", SHOP), None, partition=0)
    moved = transactions(4, partition=1, generation=2)
    assert replay([*transactions(3), *moved, tombstone]).resume("orders", SHOP) == offset(4, generation=2)
    assert replay([*transactions(3), tombstone]).resume("orders", SHOP) is None


def test_neighbours_that_do_not_join_are_a_gap() -> None:
    """T-S9."""
    skipped = at(9, position_key("orders", SHOP), encode(offset(2, previous=99)))
    begun = at(8, begin_key("orders-0"), encode(BeginRecord(1, 2)))
    assert [f.fault for f in replay([*transactions(1), begun, skipped]).findings] == [ReplayFault.GAP]


def test_table_states_are_found_by_their_source_partition() -> None:
    state = SavedTableState(1, canonical_json({"ranges": []}))
    other = TableId("elsewhere", "public", "t")
    records = [
        at(1, table_key("orders", SHOP, ORDERS), encode(state)),
        at(2, table_key("orders", SHOP._replace(database="elsewhere"), other), encode(state)),
        at(3, table_key("orders", WHOLE_SERVER, ORDERS), encode(state)),
        at(4, table_key("orders", WHOLE_SERVER, other), encode(state)),
    ]
    assert replay(records).tables_of("orders", SHOP) == {ORDERS: state}
    assert replay(records).tables_of("orders", WHOLE_SERVER) == {ORDERS: state, other: state}
