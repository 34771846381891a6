"""The promises of a log stream."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from wrackline.producers.contract.steps import Begin, Commit, Message, Progress, Rows, Shape, Truncate
from wrackline.schemas.errors import Definite
from wrackline.testing.sources.reading import (
    committed,
    events,
    open_stream,
    places,
    read,
    read_batches,
    row_changes,
    shapes,
)
from wrackline.testing.sources.source_world import (
    Ability,
    ColumnAdded,
    Delete,
    Elsewhere,
    Insert,
    Said,
    SourceWorld,
    Truncated,
    Update,
)

GENEROUS = 10.0  # seconds; a call that may not wait needs none of them
BIG = "long value " * 400
SELECTABLE = 1024  # descriptors from here on are refused by `select.select`


def row(shop: str, number: int, label: str = "x", big: str | None = None) -> Insert:
    """One order."""
    return Insert({"shop": shop, "number": number, "label": label, "big": big})


def truncated(world: SourceWorld) -> tuple[Truncated, ...]:
    """A truncate, where the database does it."""
    return (Truncated(),) if Ability.TRUNCATES in world.abilities else ()


@contextmanager
def low_numbers_taken() -> Iterator[None]:
    """Let whatever is opened meanwhile have a descriptor that `select.select` refuses."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * SELECTABLE, limits[1]))
    taken = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while taken[-1] < SELECTABLE:
            taken.append(os.dup(taken[0]))
        yield
    finally:
        for file in taken:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


class LogPromises:
    """What a task relies on when it polls."""

    def test_changes_come_as_they_were_committed(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        first = world.commit(partition, row("a", 1), row("a", 2))
        second = world.commit(partition, Update(("a", 1), {"label": "new"}), Delete(("a", 2)))
        steps = read(world, stream, first, second)
        seen = [(e.op, e.key, e.after and e.after["label"]) for e in events(world, steps)]
        assert seen == [
            ("c", ("a", 1), "x"),
            ("c", ("a", 2), "x"),
            ("u", ("a", 1), "new"),
            ("d", ("a", 2), None),
        ]

    def test_transactions_are_whole_and_do_not_mix(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        names = [world.commit(partition, row("a", n), row("b", n)) for n in range(3)]
        inside, seen = None, []
        for step in read(world, stream, *names):
            if isinstance(step, Begin):
                assert inside is None
                assert step.first == 0
                inside = step.transaction
                seen.append(inside)
            elif isinstance(step, Commit):
                assert inside == step.transaction
                inside = None
            elif isinstance(step, Rows | Truncate):
                assert inside is not None
            elif isinstance(step, Progress):
                assert inside is None
        assert [name for name in seen if name in names] == names

    def test_positions_and_seqs_rise(self, world: SourceWorld) -> None:
        """T-K13."""
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        names = [world.commit(partition, row("a", n), row("b", n), Elsewhere()) for n in range(9)]
        steps = read(world, stream, *names)
        assert all(a <= b for a, b in pairwise(places(steps)))
        ends = [step.position for step in steps if isinstance(step, Commit)]
        assert all(a < b for a, b in pairwise(ends))
        seqs = [event.seq for event in events(world, steps)]
        assert all(a < b for a, b in pairwise(seqs))
        assert len(set(map(len, seqs))) == 1

    def test_a_resume_anywhere_gives_the_rest_with_the_same_seq(self, world: SourceWorld) -> None:
        """T-P02."""
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        names = [
            world.commit(partition, *(row("a", n, big=BIG) for n in range(5))),
            world.commit(partition, Update(("a", 1), {"number": 9}), *truncated(world), row("b", 1)),
            world.commit(partition, row("b", 2)),
        ]
        steps = read(world, stream, *names)
        whole = events(world, steps)
        stream.close()
        reachable = places(steps)
        assert len(reachable) > len(names), "the first transaction was to be cut"
        for place in reachable:
            again = open_stream(world, partition, place.saved())
            world_goes_on = world.commit(partition, row("z", 1), Delete(("z", 1)))
            rest = events(world, read(world, again, world_goes_on))
            again.close()
            assert [e for e in rest if e.key != ("z", 1)] == [e for e in whole if place < e.upto]

    def test_a_resumed_transaction_says_where_it_continues(self, world: SourceWorld) -> None:
        """T-M02."""
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        name = world.commit(partition, *(row("a", n, big=BIG) for n in range(5)))
        cut = next(step for step in read(world, stream, name) if isinstance(step, Rows))
        stream.close()
        again = open_stream(world, partition, cut.upto.saved())
        begin = next(step for step in read(world, again, name) if isinstance(step, Begin))
        assert (begin.transaction, begin.first) == (name, len(cut.rows))

    def test_a_batch_ends_with_the_row_that_fills_it(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        name = world.commit(partition, *(row("a", n, big=BIG) for n in range(20)))
        batches = read_batches(world, stream, committed(name))
        for batch in batches:
            sizes = [len(key or b"") + len(value) for _, _, key, value, _ in row_changes(batch.steps)]
            assert batch.size == sum(sizes)
            assert sum(sizes[:-1]) < world.most_batch_bytes
        assert len(batches) > 1

    def test_both_halves_of_a_key_change_stay_together(self, world: SourceWorld) -> None:
        """T-P06."""
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        first = world.commit(partition, row("a", 0))
        chain = (Update(("a", 0), {"number": 1, "label": "y"}), Update(("a", 1), {"shop": "b"}))
        second = world.commit(partition, *chain)
        seen = events(world, read(world, stream, first, second))[1:]
        assert [(e.op, e.key) for e in seen] == [
            ("d", ("a", 0)),
            ("c", ("a", 1)),
            ("d", ("a", 1)),
            ("c", ("b", 1)),
        ]
        assert (seen[0].upto, seen[2].upto) == (seen[1].upto, seen[3].upto)
        assert seen[-1].after is not None
        assert seen[-1].after["label"] == "y"

    def test_a_past_deadline_does_not_wait(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        read(world, stream, world.commit(partition, row("a", 1)))
        start = world.now()
        for _ in range(3):
            batch = stream.poll(start - 1)
            assert batch is None or all(isinstance(step, Progress) for step in batch.steps)
        assert world.now() - start < GENEROUS

    def test_a_stream_that_is_woken_does_not_wait(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        read(world, stream, world.commit(partition, row("a", 1)))
        start = world.now()
        for _ in range(100):  # all that it has to say
            stream.poll(start - 1)
        stream.wake()
        stream.poll(start + 10 * GENEROUS)
        assert world.now() - start < GENEROUS
        stream.close()
        stream.wake()

    def test_staying_alive_reads_and_loses_nothing(self, world: SourceWorld) -> None:
        """T-P25."""
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        name = world.commit(partition, row("a", 1), row("a", 2))
        told = world.told(partition)
        start = world.now()
        for _ in range(100):
            stream.keep_alive()
        assert world.now() - start < GENEROUS
        assert world.told(partition) == told, "INV-1: nothing was published"
        assert [e.key for e in events(world, read(world, stream, name))] == [("a", 1), ("a", 2)]

    def test_a_log_is_read_whatever_the_number_of_its_socket(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        with low_numbers_taken():
            stream = open_stream(world, partition)
            (event,) = events(world, read(world, stream, world.commit(partition, row("a", 1))))
        assert event.key == ("a", 1)

    def test_a_quiet_log_reports_its_position(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        read_batches(world, stream, lambda steps: any(isinstance(step, Progress) for step in steps))

    def test_a_quiet_partition_does_not_hold_back_its_neighbour(self, world: SourceWorld) -> None:
        partitions = world.source.partitions()
        if len(partitions) == 1:
            pytest.skip("this source has one partition")
        quiet, busy = (open_stream(world, partition) for partition in partitions[:2])
        name = world.commit(partitions[1], row("a", 1))
        start = world.now()
        for _ in range(3):
            batch = quiet.poll(start + 0.2)
            assert batch is None or not row_changes(batch.steps)
        assert world.now() - start < GENEROUS
        (event,) = events(world, read(world, busy, name))
        assert event.key == ("a", 1)

    def test_what_is_not_captured_still_moves_the_position(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        seen = read(world, stream, world.commit(partition, row("a", 1)))
        before = places(seen)[-1]
        world.commit(partition, Elsewhere())
        batches = read_batches(world, stream, lambda steps: any(before < p for p in places(steps)))
        assert not any(row_changes(batch.steps) for batch in batches)

    def test_only_a_confirmed_position_is_reported_to_the_database(self, world: SourceWorld) -> None:
        """T-P13."""
        if Ability.TOLD not in world.abilities:
            pytest.skip(f"no database of this source {Ability.TOLD.value}")
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        before = world.told(partition)
        names = [world.commit(partition, row("a", n)) for n in range(3)]
        ends = [s.position for s in read(world, stream, *names) if isinstance(s, Commit)]
        assert world.told(partition) == before, "INV-1: nothing was published yet"
        stream.confirm(ends[1])
        read_batches(world, stream, lambda _: world.told(partition) == ends[1])

    def test_confirm_never_moves_back(self, world: SourceWorld) -> None:
        """T-P14."""
        if Ability.TOLD not in world.abilities:
            pytest.skip(f"no database of this source {Ability.TOLD.value}")
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        names = [world.commit(partition, row("a", n)) for n in range(3)]
        ends = [s.position for s in read(world, stream, *names) if isinstance(s, Commit)]
        stream.confirm(ends[1])
        stream.confirm(ends[0])
        read(world, stream, world.commit(partition, row("a", 9)))
        assert world.told(partition) == ends[1]

    def test_a_resume_before_what_was_confirmed_loses_nothing_in_silence(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        names = [world.commit(partition, row("a", n)) for n in range(3)]
        ends = [s.position for s in read(world, stream, *names) if isinstance(s, Commit)]
        stream.confirm(ends[2])
        if Ability.TOLD in world.abilities:
            read_batches(world, stream, lambda _: world.told(partition) == ends[2])
        stream.close()
        try:
            again = open_stream(world, partition, ends[0].saved())
            later = events(world, read(world, again, world.commit(partition, row("b", 1))))
        except Definite:
            return
        assert [e.key for e in later] == [("a", 1), ("a", 2), ("b", 1)]

    def test_a_truncate_is_one_event_in_its_place(self, world: SourceWorld) -> None:
        if not truncated(world):
            pytest.skip(f"no database of this source {Ability.TRUNCATES.value}")
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        name = world.commit(partition, row("a", 1), Truncated(), row("a", 2))
        seen = events(world, read(world, stream, name))
        assert [(e.op, e.key) for e in seen] == [("c", ("a", 1)), ("t", None), ("c", ("a", 2))]
        assert seen[0].seq < seen[1].seq < seen[2].seq

    def test_a_shape_comes_before_its_first_row(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        first = world.commit(partition, row("a", 1))
        world.commit(partition, ColumnAdded("extra"))
        second = world.commit(partition, Insert({"shop": "a", "number": 2, "extra": "e"}))
        steps = read(world, stream, first, second)
        announced: set[int] = set()
        for step in steps:
            if isinstance(step, Shape):
                assert step.ref not in announced, "a ref is used once"
                announced.add(step.ref)
            elif isinstance(step, Rows):
                assert {change[0] for change in step.rows} <= announced
        old, new = shapes(steps)
        assert (old.before, new.before) == (None, old.table)
        assert old.table == world.orders(partition)
        assert new.table.columns[: len(old.table.columns)] == old.table.columns
        assert new.table.columns[-1].name == "extra"
        last = events(world, steps)[-1].after
        assert last is not None
        assert last["extra"] == "e"

    def test_unsent_columns_are_named(self, world: SourceWorld) -> None:
        if Ability.UNSENT not in world.abilities:
            pytest.skip(f"this source never {Ability.UNSENT.value}")
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        names = [
            world.commit(partition, row("a", 1, big=BIG)),
            world.commit(partition, Update(("a", 1), {"label": "y"})),
            world.commit(partition, Update(("a", 1), {"big": BIG[1:]})),
        ]
        steps = read(world, stream, *names)
        whole, partial, again = events(world, steps)
        assert (whole.unchanged, partial.unchanged, again.unchanged) == ((), ("big",), ())
        assert partial.after is not None
        assert partial.after["big"] is None
        marks = [change[4] for change in row_changes(steps)]
        assert [m and m.columns for m in marks] == [None, ("big",), None]

    def test_a_partial_key_change_names_both_keys(self, world: SourceWorld) -> None:
        if Ability.UNSENT not in world.abilities:
            pytest.skip(f"this source never {Ability.UNSENT.value}")
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        first = world.commit(partition, row("a", 1, big=BIG))
        second = world.commit(partition, Update(("a", 1), {"number": 2}))
        _, gone, made = row_changes(read(world, stream, first, second))
        assert (gone[1], made[1]) == ("d", "c")
        assert gone[4] is not None
        assert made[4] is not None
        assert (gone[4].other_key, made[4].other_key) == (made[2], gone[2])
        assert made[4].columns == ("big",)

    def test_a_message_keeps_its_place_and_content(self, world: SourceWorld) -> None:
        if Ability.MESSAGES not in world.abilities:
            pytest.skip(f"no log of this source {Ability.MESSAGES.value}")
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        name = world.commit(partition, Said("app", b"\x00\xff"), row("a", 1))
        steps = read(world, stream, name)
        messages = [(step.prefix, step.content) for step in steps if isinstance(step, Message)]
        own = ("wrackline.push", b"")  # PostgreSQL's, while another session's log is not flushed
        assert [message for message in messages if message != own] == [("app", b"\x00\xff")]
