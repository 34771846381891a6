"""What must hold of everything that was published, whatever happened on the way."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import orjson

from tests.fakes.place import Place
from tests.integration.kafka import child
from tests.integration.kafka.world import Names, committed, offset_records
from wrackline.producers.cutting.record_buffer import Record
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import replay


def durable(bootstrap: str, prefix: str) -> dict[str, Place]:
    """The committed position of each database."""
    state = replay(offset_records(bootstrap, Names(prefix).offsets))
    return {
        key.database or "": Place.parse(orjson.loads(offset.position))
        for key, offset in state.positions.items()
    }


def told(file: Path) -> dict[str, Place]:
    """The last position that was confirmed to each database."""
    if not file.exists():
        return {}
    lines = (line.split() for line in file.read_text().splitlines())
    return {database: Place(0, int(lsn), int(done)) for database, lsn, done in lines}


def check_told(bootstrap: str, given: child.Orders) -> None:
    """INV-1: nothing is confirmed that Kafka does not have."""
    there = durable(bootstrap, given.prefix)
    for database, place in told(given.told).items():
        assert place <= there[database], f"{place} was confirmed to {database}, Kafka has {there[database]}"


def by_key(records: Sequence[Record]) -> dict[bytes | None, list[bytes | None]]:
    """The values of each key, in their order."""
    found: dict[bytes | None, list[bytes | None]] = defaultdict(list)
    for _, key, value in records:
        found[key].append(value)
    return found


def check_all(given: child.Orders) -> None:
    """Every event once, no key back in time, and the chain of positions without a gap."""
    published: list[Record] = []
    for topic, expected in child.events(given.prefix, given.transactions).items():
        records = committed(given.bootstrap, topic)
        assert len(records) == len(expected), f"{len(records)} records of {len(expected)}"
        assert by_key(records) == by_key(expected), "INV-3, INV-4: each key's events once, in their order"
        published += records
    kept = offset_records(given.bootstrap, Names(given.prefix).offsets)
    assert replay(kept).findings == (), "a transaction was torn"
    ends = [record for record in kept if isinstance(record.value, offsets_records.Offset)]
    last: dict[offsets_records.Key, offsets_records.Json] = {}
    for record in ends:
        assert isinstance(record.value, offsets_records.Offset)
        assert record.value.previous == last.get(record.key), f"the chain is broken at {record.place}"
        last[record.key] = record.value.position
    counted = [record.value for record in ends if isinstance(record.value, offsets_records.Offset)]
    assert sum(value.events for value in counted) == len(published)
    checksum = sum(crc32(value) for _, _, value in published if value is not None)
    assert sum(value.checksum for value in counted) & 0xFFFF_FFFF == checksum & 0xFFFF_FFFF
