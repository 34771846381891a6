"""What must hold of a run, whatever happened on the way.  Pure: `Evidence` in, findings out.

Each checker returns a sentence for everything that is wrong, none when all is right; `check_all` asserts
that there are none.  The names are those of docs/invariants.md.  What can't be seen from a topic: that two
topics' parts of one source transaction came in one Kafka transaction; the counts and checksums of the
offsets records (CHK-6) speak for that.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol

from tests.chaos.evidence import Event, Evidence, Key, Mark

WHOLE_BELOW = 7 << 20  # bytes of a source transaction that is never cut
_Change = tuple[str, int, str, int | None, int]  # table, id, op, n, transaction
_SHOWN = 5  # findings of one checker that are spelt out


class Seen(Protocol):
    """A world that can say what its run left behind."""

    def evidence(self) -> Evidence:
        """Read all of it."""
        ...


def never_backwards(seen: Evidence) -> list[str]:
    """CHK-2, INV-3: for one key, neither n nor seq ever goes back, and a key stays in one partition."""
    found = []
    for key, events in _by_key(seen.events).items():
        if len({event.partition for event in events}) > 1:
            found.append(f"{key} is in several partitions")
        found += [
            f"{key}: seq {after.seq} after {before.seq}"
            for before, after in pairwise(events)
            if after.seq <= before.seq and not _read_again(before, after)
        ]
        counted = [event.n for event in events if event.n is not None]
        back = [(before, after) for before, after in pairwise(counted) if after < before]
        found += [f"{key}: version {after} after {before}" for before, after in back]
    return found


def once(seen: Evidence) -> list[str]:
    """CHK-3: no event is there twice; the two halves of a changed key have one seq, and two keys."""
    times = Counter((event.key, event.seq) for event in seen.events)
    for events in _by_key(seen.events).values():
        times.subtract(
            (after.key, after.seq) for before, after in pairwise(events) if _read_again(before, after)
        )
    return [f"{key} has {seq} {count} times" for (key, seq), count in times.items() if count > 1]


def none_missing(seen: Evidence) -> list[str]:
    """CHK-4, INV-4: every committed change is there."""
    return [f"missing: {change}" for change in (_written(seen) - _published(seen)).elements()]


def nothing_else(seen: Evidence) -> list[str]:
    """CHK-5: nothing is there that was not committed."""
    return [f"nobody committed: {change}" for change in (_published(seen) - _written(seen)).elements()]


def in_order(seen: Evidence) -> list[str]:
    """INV-3: each key's events are its changes, in the order in which they were made."""
    made = defaultdict(list)
    for write in seen.writes:
        made[write.key].append((write.op, write.n if _says_n(seen, write.table, write.op) else None))
    found = []
    for key, events in _by_key(seen.events).items():
        told = [(event.op, event.n) for event in events]
        if told != made[key]:
            found.append(f"{key}: {told}, and it was written {made[key]}")
    return found


def newest_is_the_table(seen: Evidence) -> list[str]:
    """CHK-1, INV-10, as far as topics go: each key's last event is the table's row."""
    last: dict[Key, int | None] = {
        key: None if events[-1].op == "d" else events[-1].n for key, events in _by_key(seen.events).items()
    }
    there = {key: n for key, n in last.items() if n is not None}
    wrong = sorted(key for key in there.keys() | seen.rows.keys() if there.get(key) != seen.rows.get(key))
    return [f"{key}: the topic says {there.get(key)}, the table {seen.rows.get(key)}" for key in wrong]


def deletes_have_tombstones(seen: Evidence) -> list[str]:
    """Each delete is followed by one tombstone of its key, and no other tombstone is there."""
    deletes = {
        (event.table, event.partition, event.offset, event.id) for event in seen.events if event.op == "d"
    }
    owed = {(table, partition, offset + 1, key) for table, partition, offset, key in deletes}
    there = {(stone.table, stone.partition, stone.offset, stone.id) for stone in seen.tombstones}
    return [f"no tombstone at {place}" for place in sorted(owed - there)] + [
        f"a tombstone without a delete at {place}" for place in sorted(there - owed)
    ]


def whole_transactions(seen: Evidence) -> list[str]:
    """CHK-12, INV-2: within a partition, a source transaction that is not too large is not cut.

    Every Kafka transaction ends with a record that takes an offset and is not shown, so where the offsets
    have a gap, one transaction ended and another began.
    """
    sizes: Counter[int] = Counter()
    parts: dict[tuple[str, int], list[tuple[int, int | None]]] = defaultdict(list)
    for event in seen.events:
        sizes[event.xid] += event.size
        parts[event.table, event.partition].append((event.offset, event.xid))
    for stone in seen.tombstones:
        parts[stone.table, stone.partition].append((stone.offset, None))
    found = []
    for place, records in parts.items():
        kafka, before, of = 0, -1, defaultdict[int, set[int]](set)
        for offset, xid in sorted(records, key=lambda record: record[0]):
            kafka += offset != before + 1
            before = offset
            if xid is not None:
                of[xid].add(kafka)
        found += [
            f"transaction {xid} is cut into {len(pieces)} in {place}"
            for xid, pieces in of.items()
            if len(pieces) > 1 and sizes[xid] < WHOLE_BELOW
        ]
    return found


def same_seq(seen: Evidence) -> list[str]:
    """An event of the log that was sent again, after an abort too, has the same seq each time.

    A row that was read is given out again elsewhere, if nobody has it: that place is its seq.
    """
    seqs: dict[tuple[Key, str, int], set[str]] = defaultdict(set)
    for event in seen.attempts:
        if event.n is not None and event.op != "r":
            seqs[event.key, event.op, event.n].add(event.seq)
    return [f"{event} had the seqs {sorted(several)}" for event, several in seqs.items() if len(several) > 1]


def seq_goes_back(seen: Evidence) -> list[str]:
    """In a partition of a table with a key seq never goes back; of one without, only with a `t` first."""
    keyed = {event.topic for event in seen.numbered if event.keyed}
    ordered = sorted(seen.numbered, key=lambda event: (event.topic, event.partition, event.offset))
    return [
        f"{after.topic} {after.partition}: seq {after.seq} of {after.op} after {before.seq}"
        for before, after in pairwise(ordered)
        if (before.topic, before.partition) == (after.topic, after.partition)
        and after.seq < before.seq
        and (after.topic in keyed or after.op != "t")
    ]


def told_is_durable(seen: Evidence) -> list[str]:
    """CHK-7, INV-1: at no moment was the slot confirmed beyond a committed position that was written by then.

    Where the slot began, before there was any position, is what the first look found.
    """
    found = []
    reached = seen.told[0].confirmed if seen.told else 0
    ends = iter([*(mark for mark in seen.marks if mark.ends), None])
    mark = next(ends)
    for told in seen.told:
        while mark is not None and mark.ms <= told.ms:
            reached = max(reached, mark.resume)
            mark = next(ends)
        if told.confirmed > reached:
            found.append(f"at {told.ms} the slot was at {told.confirmed:X}, the offsets at {reached:X}")
    return found


def a_chain(seen: Evidence) -> list[str]:
    """CHK-6, INV-2: each position names the one before it, and all that was published is counted in them."""
    ends = [mark for mark in seen.marks if mark.ends]
    found = [
        f"generation {mark.generation} n {mark.n} does not follow {previous!r}"
        for previous, mark in zip([None, *(mark.position for mark in ends)], ends, strict=False)
        if mark.previous != previous
    ]
    counted = sum(mark.events for mark in ends)
    if counted != seen.records:
        found.append(f"the offsets count {counted} records, the topics have {seen.records}")
    if (sum(mark.checksum for mark in ends) ^ seen.checksum) & 0xFFFF_FFFF:
        found.append("the checksum of what is in the topics is another")
    return found


def pairs(seen: Evidence) -> list[str]:
    """CHK-15: each committed begin is followed by its end; a claim or an edit, whose n is 0, needs none."""
    found = []
    begun: Mark | None = None
    for mark in seen.marks:
        if mark.ends and mark.n:
            if begun is None or (mark.generation, mark.n) != (begun.generation, begun.n):
                found.append(f"an end without a begin: generation {mark.generation} n {mark.n}")
            begun = None
        elif mark.n:
            if begun is not None:
                found.append(f"a begin without an end: generation {begun.generation} n {begun.n}")
            begun = mark
    return found


def one_owner(seen: Evidence) -> list[str]:
    """INV-9: once an owner has begun, no earlier one commits anything."""
    return [
        f"generation {after.generation} committed after {before.generation}"
        for before, after in pairwise(seen.marks)
        if after.generation < before.generation
    ]


CHECKS: MappingProxyType[str, Callable[[Evidence], list[str]]] = MappingProxyType(
    {
        "CHK-1": newest_is_the_table,
        "CHK-2": never_backwards,
        "CHK-3": once,
        "CHK-4": none_missing,
        "CHK-5": nothing_else,
        "CHK-6": a_chain,
        "CHK-7": told_is_durable,
        "CHK-12": whole_transactions,
        "CHK-15": pairs,
        "INV-3": in_order,
        "INV-9": one_owner,
        "seq": same_seq,
        "seq order": seq_goes_back,
        "tombstones": deletes_have_tombstones,
    }
)


def findings(seen: Evidence, names: Iterable[str] = CHECKS) -> dict[str, list[str]]:
    """What is wrong, by the checker that says so."""
    return {name: wrong for name in names if (wrong := CHECKS[name](seen))}


def check_all(world: Seen, *, but: Sequence[str] = ()) -> Evidence:
    """Assert that all holds, but for checkers that a test leaves out and says why; return what was seen."""
    assert CHECKS.keys() >= set(but), "what is left out is no checker of a run"
    seen = world.evidence()
    assert seen.writes, "nothing was written, so nothing is proved"
    found = findings(seen, [name for name in CHECKS if name not in but])
    shown = "\n".join(f"{name}: {line}" for name, wrong in found.items() for line in wrong[:_SHOWN])
    counts = ", ".join(f"{name} {len(wrong)}" for name, wrong in found.items())
    assert not found, f"{counts}\n{shown}"
    return seen


def _by_key(events: Iterable[Event]) -> dict[Key, list[Event]]:
    found: dict[Key, list[Event]] = defaultdict(list)
    for event in events:
        found[event.key].append(event)
    return found


def _read_again(before: Event, after: Event) -> bool:
    """Whether two reads found the same row at the same place: a chunk, and one that asked for this row."""
    return before.op == after.op == "r" and (before.seq, before.n) == (after.seq, after.n)


def _says_n(seen: Evidence, table: str, op: str) -> bool:
    return op != "d" or table in seen.whole


def _written(seen: Evidence) -> Counter[_Change]:
    found: Counter[_Change] = Counter()
    for write in seen.writes:
        n = write.n if _says_n(seen, write.table, write.op) else None
        found[write.table, write.id, write.op, n, write.xid] += 1
    return found


def _published(seen: Evidence) -> Counter[_Change]:
    return Counter((event.table, event.id, event.op, event.n, event.xid) for event in seen.events)
