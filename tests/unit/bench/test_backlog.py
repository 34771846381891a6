"""The backlog that the Spark side's benches read."""

import io
from collections import defaultdict

import fastavro

from bench.workloads.backlog import KEY_ID, PARTITIONS, VALUE_ID, changes, reads
from bench.workloads.envelopes import key_schema, value_schema


def test_changes_are_histories_of_keys_in_the_order_of_offsets() -> None:
    records = changes(3_000)
    assert records == changes(3_000)
    value_type = fastavro.parse_schema(dict(value_schema()))
    histories = defaultdict(list)
    for record in records:
        value = io.BytesIO(record.value[5:])
        event = fastavro.schemaless_reader(value, value_type, None)
        assert not value.read(), "nothing stands behind the value"
        assert isinstance(event, dict)
        assert record.value.endswith(event["seq"].encode())
        assert (record.key[:5], record.value[:5]) == (
            bytes((0, 0, 0, 0, KEY_ID)),
            bytes((0, 0, 0, 0, VALUE_ID)),
        )
        histories[record.key].append((event["seq"], event["op"]))
    assert 2.5 < len(records) / len(histories) < 3.5
    for history in histories.values():
        assert history == sorted(history)
        assert [op for _, op in history].index("c") == 0
        assert "d" not in [op for _, op in history[:-1]]
    for number in range(PARTITIONS):
        offsets = [record.offset for record in records if record.partition == number]
        assert offsets == list(range(len(offsets)))


def test_reads_are_rows_of_chunks() -> None:
    value_type = fastavro.parse_schema(dict(value_schema()))
    key_type = fastavro.parse_schema(dict(key_schema()))
    made = list(reads(1_500))
    ids = [fastavro.schemaless_reader(io.BytesIO((key or b"")[5:]), key_type, None) for key, _ in made]
    assert ids == [{"id": number} for number in range(1, 1_501)]
    events = [fastavro.schemaless_reader(io.BytesIO(value[5:]), value_type, None) for _, value in made]
    told = {(one["op"], one["source"]["chunk"]) for one in events if isinstance(one, dict)}
    assert told == {("r", "bench/0"), ("r", "bench/1")}
