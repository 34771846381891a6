"""Compaction and an interruption anywhere never change where a task resumes, nor invent a fault."""

from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.kafka.offset_replay import replay
from wrackline.schemas.kafka.offsets_records import (
    BeginRecord,
    Offset,
    OffsetsRecord,
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

DATABASES = ["a", "b", "c"]


@st.composite
def logs(draw: st.DrawFn) -> list[OffsetsRecord]:
    """One task's whole transactions over up to three source partitions, generations rising."""
    records: list[OffsetsRecord] = []
    positions: dict[str, int] = {}
    generation, n = 1, 0

    def write(key: bytes, value: bytes) -> None:
        records.append(parse(RecordPlace("o", 0, len(records)), key, value))

    for _ in range(draw(st.integers(1, 12))):
        if draw(st.booleans()) and draw(st.booleans()):
            generation, n = generation + 1, 0
        n += 1
        write(begin_key("t-0"), encode(BeginRecord(generation, n)))
        for database in sorted(draw(st.sets(st.sampled_from(DATABASES), min_size=1))):
            before = positions.get(database)
            positions[database] = (before or 0) + draw(st.integers(1, 9))
            previous = None if before is None else canonical_json({"p": before})
            value = Offset(generation, n, canonical_json({"p": positions[database]}), previous, 1, 1)
            write(position_key("c", SourcePartition("s", database)), encode(value))
    return records


def compacted(records: list[OffsetsRecord], upto: int) -> list[OffsetsRecord]:
    """What Kafka's cleaner leaves after it has cleaned the first `upto` records."""
    head = {record.key: record for record in records[:upto]}
    return [record for record in records[:upto] if head[record.key] is record] + records[upto:]


@given(logs(), st.data())
def test_compaction_changes_nothing(records: list[OffsetsRecord], data: st.DataObject) -> None:
    full = replay(records)
    assert full.findings == ()
    cleaned = replay(compacted(records, data.draw(st.integers(0, len(records)))))
    assert cleaned.positions == full.positions
    assert cleaned.findings == ()


@given(logs(), st.data())
def test_the_last_whole_record_of_each_partition_is_where_it_resumes(
    records: list[OffsetsRecord], data: st.DataObject
) -> None:
    read = records[: data.draw(st.integers(0, len(records)))]
    state = replay(read)
    for database in DATABASES:
        partition = SourcePartition("s", database)
        key = parse(RecordPlace("o", 0, 0), position_key("c", partition), None).key
        mine = [record.value for record in read if record.key == key]
        assert state.resume("c", partition) == (mine[-1] if mine else None)
    ends_in_a_begin = bool(read) and isinstance(read[-1].value, BeginRecord)
    assert bool(state.findings) == ends_in_a_begin


@given(st.integers(1, 9), st.data())
def test_a_table_s_state_stays_however_many_positions_come_behind_it(more: int, data: st.DataObject) -> None:
    """DBZ-9533: offsets that were written while rows were read lacked the read's state."""
    partition, table = SourcePartition("s", "a"), TableId("a", "public", "orders")
    state = SavedTableState(1, canonical_json({"status": "reading", "after": "7"}))
    written = [(table_key("c", partition, table), encode(state))]
    for n in range(1, more + 1):
        previous = canonical_json({"p": n - 1}) if n > 1 else None
        written.append((begin_key("t-0"), encode(BeginRecord(1, n))))
        position = Offset(1, n, canonical_json({"p": n}), previous, 1, 1)
        written.append((position_key("c", partition), encode(position)))
    records = [parse(RecordPlace("o", 0, at), *record) for at, record in enumerate(written)]
    kept = replay(compacted(records, data.draw(st.integers(0, len(records)))))
    assert kept.tables == {TableKey("c", partition, table): state}
    assert kept.findings == ()
