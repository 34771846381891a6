"""The source contract as tests: what every source promises its task.

A real source runs all of it in a few lines:

    class TestPostgres(SourceSuite):
        @pytest.fixture
        def world(self, postgres_world: PostgresWorld) -> SourceWorld:
            return postgres_world
"""

import json
import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import pytest

from wrackline.producers.contract.optional_parts import LogEnding, LogSurvey
from wrackline.producers.contract.row_chunks import KEY_GONE, Bound, Chunk, ChunkRequest, Mark
from wrackline.producers.contract.source_plugin import ChunkReader, Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Rows, Saved, Step
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import BIG, LogPromises, row, truncated
from wrackline.testing.sources.reading import (
    committed,
    events,
    open_stream,
    passing,
    places,
    read,
    read_batches,
    row_changes,
)
from wrackline.testing.sources.source_world import (
    KEY,
    Ability,
    Delete,
    Elsewhere,
    SourceWorld,
    Truncated,
    Update,
)
from wrackline.testing.sources.source_world import Change as SourceChange
from wrackline.testing.sources.whole_suite import WholeReadPromises
from wrackline.testing.targets.merge_model import Change, Stored, latest, merge, visible

RELEASED_MS = 1_700_000_000_000
GRID = [(shop, number) for shop in ("a", "b", "c") for number in (1, 2, 3, 10, 20)]


def request(  # one keyword a field that a test varies
    world: SourceWorld,
    partition: SourcePartition,
    *,
    after: Bound | None = None,
    upto: Bound | None = None,
    only: tuple[Bound, ...] = (),
    condition: str | None = None,
    most_rows: int = 1000,
    slice_rows: int = 1000,
) -> ChunkRequest:
    """Ask for rows of the partition's table."""
    table = world.orders(partition).id
    return ChunkRequest(table, KEY, after, upto, only, condition, most_rows, slice_rows)


def keys(world: SourceWorld, chunk: Chunk) -> list[tuple[object, ...]]:
    """The keys of a chunk's rows, decoded."""
    return [tuple(world.key(key or b"").values()) for part in chunk.slices for key, _ in part.rows]


def text(key: tuple[str, int]) -> Bound:
    """A key as both the fake and the real databases write it."""
    return (key[0], str(key[1]))


class CatalogPromises:
    """What is known before anything is read."""

    def test_each_partition_has_tables_with_a_shape(self, world: SourceWorld) -> None:
        partitions = world.source.partitions()
        assert len(set(partitions)) == len(partitions) > 0
        for partition in partitions:
            shape = world.orders(partition)
            assert shape.id in world.source.tables(partition)
            assert world.source.describe(partition, shape.id) == shape
            said = world.source.support(partition, shape.id)
            assert [one.column for one in said] == [column.name for column in shape.columns]

    def test_a_missing_table_is_the_operators(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        missing = world.orders(partition).id._replace(name="nowhere")
        with pytest.raises(OperatorNeeded):
            world.source.describe(partition, missing)
        (finding,) = [f for f in world.source.check(partition, [missing]) if f.table == missing]
        assert finding.severity is Severity.ERROR
        assert finding.suggestion

    def test_closing_twice_is_harmless(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        for opened in (open_stream(world, partition), world.source.reader(partition), world.source):
            opened.close()
            opened.close()

    def test_a_reader_that_another_thread_gave_up_is_closed_as_any(self, world: SourceWorld) -> None:
        reader = world.source.reader(world.source.partitions()[0])
        giving = threading.Thread(target=reader.give_up)
        giving.start()
        giving.join()
        reader.close()


class ChunkPromises:
    """What the snapshot engine relies on when it reads rows."""

    def test_chunks_meet_every_row_once_in_order(self, world: SourceWorld) -> None:
        """T-W01."""
        partition = world.source.partitions()[0]
        world.commit(partition, *(row(*key) for key in reversed(GRID)))
        reader = world.source.reader(partition)
        for most_rows in (1, 2, 4, 7):
            seen: list[tuple[object, ...]] = []
            after: Bound | None = None
            for _ in GRID:
                chunk = reader.read(request(world, partition, after=after, most_rows=most_rows))
                assert len(keys(world, chunk)) <= most_rows
                seen += keys(world, chunk)
                if chunk.complete:
                    break
                after = chunk.slices[-1].upto
            assert seen == GRID

    def test_a_chunk_ends_with_the_row_that_reaches_its_bytes(self, world: SourceWorld) -> None:
        """T-W28."""
        partition = world.source.partitions()[0]
        world.commit(partition, *(row(*key) for key in GRID))
        reader = world.source.reader(partition)
        whole = reader.read(request(world, partition))
        most = whole.slices[0].size * 2 // len(GRID)
        seen: list[tuple[object, ...]] = []
        wanted = request(world, partition)
        for _ in GRID:
            chunk = reader.read(replace(wanted, most_bytes=most))
            assert len(keys(world, chunk)) <= 3
            seen += keys(world, chunk)
            if chunk.complete:
                break
            wanted = request(world, partition, after=chunk.slices[-1].upto)
        assert seen == GRID

    def test_bounds_of_a_composite_key_are_lexicographic(self, world: SourceWorld) -> None:
        """T-W01, T-S1."""
        partition = world.source.partitions()[0]
        world.commit(partition, *(row(*key) for key in GRID))
        reader = world.source.reader(partition)
        for after in GRID:
            for upto in GRID[::3]:
                wanted = request(world, partition, after=text(after), upto=text(upto))
                chunk = reader.read(wanted)
                assert keys(world, chunk) == [key for key in GRID if after < key <= upto]
                assert chunk.complete
                last = max((key for key in GRID if after < key <= upto), default=None)
                assert reader.last_key(wanted) == (None if last is None else text(last))

    def test_cuts_come_in_the_order_of_the_key(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        world.commit(partition, *(row(*key) for key in GRID))
        cuts = world.source.reader(partition).cuts(request(world, partition), 4)
        ranked = [[text(key) for key in GRID].index(cut) for cut in cuts]
        assert ranked == sorted(ranked)
        assert len(cuts) < 4

    def test_how_many_rows_there_are_is_a_guess_or_unknown(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        world.commit(partition, *(row(*key) for key in GRID))
        reader = world.source.reader(partition)
        for wanted in (
            request(world, partition),
            request(world, partition, after=text(GRID[3]), upto=text(GRID[9])),
        ):
            expected = reader.expected(wanted)
            assert expected is None or expected >= 0

    def test_a_slice_ends_where_a_resume_begins(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        world.commit(partition, *(row(*key) for key in GRID))
        reader = world.source.reader(partition)
        chunk = reader.read(request(world, partition, slice_rows=4))
        assert [len(part.rows) for part in chunk.slices] == [4, 4, 4, 3]
        for place, part in enumerate(chunk.slices, start=1):
            assert part.size == sum(len(key or b"") + len(head) for key, head in part.rows)
            cursor: Bound = tuple(json.loads(json.dumps(part.upto)))
            rest = reader.read(request(world, partition, after=cursor))
            assert keys(world, rest) == GRID[4 * place :]

    def test_single_keys_and_conditions(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        world.commit(partition, row("a", 1), row("a", 2, "it"), row("b", 1, "it"), row("b", 2))
        reader = world.source.reader(partition)
        some = request(world, partition, only=(("b", "2"), ("a", "1"), ("z", "9")))
        assert keys(world, reader.read(some)) == [("a", 1), ("b", 2)]
        conditional = request(world, partition, condition="label = 'it'")
        assert keys(world, reader.read(conditional)) == [("a", 2), ("b", 1)]
        assert reader.last_key(conditional) == ("b", "1")

    def test_a_key_whose_column_is_gone_is_said_to_be(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        reader = world.source.reader(partition)
        gone = replace(request(world, partition), key=("shop", "gone"))
        for ask in (reader.read, reader.last_key):
            with pytest.raises(Transient) as caught:
                ask(gone)
            assert caught.value.code == KEY_GONE.code

    def test_an_empty_range_is_complete(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        chunk = world.source.reader(partition).read(request(world, partition))
        assert (chunk.slices, chunk.complete) == ((), True)
        assert chunk.shape == world.orders(partition)

    def test_a_chunk_sees_all_that_was_committed(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        reader = world.source.reader(partition)
        for number in range(3):
            world.commit(partition, row("a", number))
            assert len(keys(world, reader.read(request(world, partition)))) == number + 1
        world.commit(partition, Delete(("a", 1)), Update(("a", 2), {"shop": "b"}))
        assert keys(world, reader.read(request(world, partition))) == [("a", 0), ("b", 2)]

    def test_a_row_is_the_same_by_log_and_by_chunk(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        first = world.commit(partition, row("ä", 1, "é\n'\"", "x" * 10), row("b", -2))
        steps = read(world, stream, first)
        chunk = world.source.reader(partition).read(request(world, partition))
        (place,) = [s.position for s in steps if isinstance(s, Commit) and s.transaction == first]
        tail = chunk.tail(place, ts_ms=RELEASED_MS, snapshot="incremental", chunk="c-1")
        by_chunk = {key: world.value(head + tail) for part in chunk.slices for key, head in part.rows}
        by_log = {change[2]: world.value(change[3]) for change in row_changes(steps)}
        assert by_chunk.keys() == by_log.keys(), "the window compares these bytes"
        for key, value in by_chunk.items():
            assert value["after"] == by_log[key]["after"]
            source = value["source"]
            assert isinstance(source, dict)
            assert (value["op"], value["before"]) == ("r", None)
            assert (source["snapshot"], source["chunk"]) == ("incremental", "c-1")

    def test_a_released_row_is_older_than_the_log_at_its_place(self, world: SourceWorld) -> None:
        """T-W22."""
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        first = world.commit(partition, row("a", 1))
        steps = read(world, stream, first)
        chunk = world.source.reader(partition).read(request(world, partition))
        tail = chunk.tail(places(steps)[-1], ts_ms=RELEASED_MS, snapshot="incremental", chunk="c-1")
        (_, head) = chunk.slices[0].rows[0]
        released = str(world.value(head + tail)["seq"])
        assert tail.endswith(released.encode()), "seq stands last, its ordinal last in it"
        assert released.endswith("00000000")
        older = events(world, steps)
        newer = events(world, read(world, stream, world.commit(partition, row("a", 2))))
        assert older[-1].seq < released < newer[0].seq

    def test_a_truncate_that_is_not_the_logs_is_as_old_as_rows_that_are_read(
        self, world: SourceWorld
    ) -> None:
        partition = world.source.partitions()[0]
        stream = open_stream(world, partition)
        steps = read(world, stream, world.commit(partition, row("a", 1)))
        reader = world.source.reader(partition)
        void, told = reader.void(world.orders(partition).id), reader.read(request(world, partition)).tail
        made = world.value(void(places(steps)[-1], ts_ms=RELEASED_MS, snapshot="true", chunk="c-1"))
        source = made["source"]
        assert isinstance(source, dict)
        assert (made["op"], made["before"], made["after"]) == ("t", None, None)
        assert (source["table"], source["snapshot"]) == (world.orders(partition).id.name, "true")
        tail = told(places(steps)[-1], ts_ms=RELEASED_MS, snapshot="true", chunk="c-2")
        assert tail.endswith(str(made["seq"]).encode()), "rows that are released there stay"
        newer = events(world, read(world, stream, world.commit(partition, row("a", 2))))
        assert events(world, steps)[-1].seq < str(made["seq"]) < newer[0].seq


class WholePromises:
    """Log and chunks against each other."""

    def test_the_log_gives_the_table_that_a_chunk_reads(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        chance = random.Random(7)
        stream = open_stream(world, partition)
        held: set[tuple[str, int]] = set()
        names = [
            world.commit(
                partition, *(any_change(chance, held, truncated(world)) for _ in range(chance.randint(1, 4)))
            )
            for _ in range(60)
        ]
        rows: dict[tuple[object, ...], Stored] = {}
        for event in events(world, read(world, stream, *names)):
            if event.key is None:
                rows = merge(rows, {}, event.seq)
            else:
                values = event.after or {}
                change = Change(event.key, event.seq, event.op, values, frozenset(event.unchanged))
                rows = merge(rows, latest([change]))
        chunk = world.source.reader(partition).read(request(world, partition))
        assert [key for key, row in sorted(rows.items()) if not row.deleted] == keys(world, chunk)
        released_at = places(read(world, stream, world.commit(partition, row("z", 0))))[-1]
        tail = chunk.tail(released_at, ts_ms=RELEASED_MS, snapshot="incremental", chunk="c-1")
        read_rows = {
            key: world.value(head + tail)["after"] for part in chunk.slices for key, head in part.rows
        }
        by_key = {tuple(world.key(key or b"").values()): after for key, after in read_rows.items()}
        complete = visible(rows)
        assert complete, "a log of partial changes alone proves nothing"
        assert complete == {key: by_key[key] for key in complete}


class Unplaced:
    """The place of a transaction that was streamed before a start: nobody knows it any more."""

    def __lt__(self, other: Self, /) -> bool:
        return False

    def __le__(self, other: Self, /) -> bool:
        return True

    def saved(self) -> Saved:
        raise NotImplementedError


class MarkPromises:
    """What a window relies on: moments that are found again, and a gate for what is not visible yet."""

    def test_what_a_select_saw_is_in_the_log_before_its_mark(self, world: SourceWorld) -> None:
        """T-W05."""
        partition = world.source.partitions()[0]
        stream, reader = open_stream(world, partition), world.source.reader(partition)
        before = [world.commit(partition, row("a", number)) for number in (1, 2)]
        open_mark(reader, "w1")
        chunk = reader.read(request(world, partition))
        mark = chunk.mark or reader.marks.set("w1", Edge.CLOSE)
        after = world.commit(partition, Update(("a", 1), {"label": "later"}))
        steps = read(world, stream, *before, after)
        place = steps.index(reached(mark, steps)[0])
        assert [e.key for e in events(world, steps[:place])][:2] == [("a", 1), ("a", 2)]
        assert committed(*before)(steps[: place + 1])
        assert chunk.mark or mark.name == "w1"

    def test_a_mark_is_found_on_an_idle_database(self, world: SourceWorld) -> None:
        """T-W07."""
        partition = world.source.partitions()[0]
        stream, reader = open_stream(world, partition), world.source.reader(partition)
        steps = read(world, stream, world.commit(partition, row("a", 1)))
        world.commit(partition, Elsewhere())
        open_mark(reader, "w1")
        mark = reader.read(request(world, partition)).mark or reader.marks.set("w1", Edge.CLOSE)
        if not reached(mark, steps[-1:]):
            read_batches(world, stream, lambda more: bool(reached(mark, more)))

    def test_what_a_select_saw_ends_before_the_logs_end_which_is_reached_in_quiet(
        self, world: SourceWorld
    ) -> None:
        source, partition = world.source, world.source.partitions()[0]
        if not isinstance(source, LogEnding):
            pytest.skip("the source does not say where its log ends")
        stream = open_stream(world, partition)
        seen = [world.commit(partition, row("a", number)) for number in (1, 2)]
        end = source.log_end(partition)
        steps = read(world, stream, *seen, world.commit(partition, row("a", 3)))
        place = steps.index(reached(end, steps)[0])
        assert committed(*seen)(steps[: place + 1])
        world.commit(partition, Elsewhere())
        end = source.log_end(partition)
        if not reached(end, steps[-1:]):
            read_batches(world, stream, lambda more: bool(reached(end, more)))

    def test_one_answer_about_all_logs_is_right_for_each(self, world: SourceWorld) -> None:
        source, partitions = world.source, world.source.partitions()
        if not isinstance(source, LogSurvey) or source.survey_s is None:
            pytest.skip("the source is asked about each log")
        streams = [open_stream(world, partition) for partition in partitions]
        before = [[world.commit(one, row("a", number)) for number in (1, 2)] for one in partitions]
        ends = source.log_ends()
        assert ends.keys() == source.log_states().keys() == set(partitions)
        for partition, stream, seen in zip(partitions, streams, before, strict=True):
            steps = read(world, stream, *seen, world.commit(partition, row("a", 3)))
            place = steps.index(reached(ends[partition], steps)[0])
            assert committed(*seen)(steps[: place + 1])

    def test_one_mark_is_not_another(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        stream, reader = open_stream(world, partition), world.source.reader(partition)
        marks, names = [], []
        for number in range(3):
            names.append(world.commit(partition, row("a", number)))
            open_mark(reader, f"w{number}")
            own = reader.read(request(world, partition)).mark
            marks.append(own or reader.marks.set(f"w{number}", Edge.CLOSE))
        names.append(world.commit(partition, row("b", 1)))
        steps = read(world, stream, *names)
        ends = [n for n, s in enumerate(steps) if isinstance(s, Commit) and s.transaction in names]
        for number, mark in enumerate(marks):
            assert ends[number] <= steps.index(reached(mark, steps)[0]) <= ends[number + 1]

    def test_marks_of_another_run_do_not_count(self, world: SourceWorld) -> None:
        """T-W10."""
        partition = world.source.partitions()[0]
        stream, reader = open_stream(world, partition), world.source.reader(partition)
        start = places(read(world, stream, world.commit(partition, row("a", 1))))[-1]
        open_mark(reader, "run1/1")
        reader.marks.set("run1/1", Edge.CLOSE)
        stream.close()
        again = open_stream(world, partition, start.saved())
        name = world.commit(partition, row("a", 2))
        steps = read(world, again, name)
        open_mark(reader, "run2/1")
        mark = reader.read(request(world, partition)).mark or reader.marks.set("run2/1", Edge.CLOSE)
        early = steps[: next(n for n, s in enumerate(steps) if isinstance(s, Rows))]
        assert not reached(mark, early)

    def test_the_gate_names_what_is_logged_and_not_visible(self, world: SourceWorld) -> None:
        if Ability.HIDDEN not in world.abilities:
            pytest.skip(f"no transaction of this world {Ability.HIDDEN.value}")
        partition = world.source.partitions()[0]
        stream, reader = open_stream(world, partition), world.source.reader(partition)
        seen = world.commit(partition, row("a", 1))
        hidden = world.commit(partition, Update(("a", 1), {"label": "new"}), hidden=True)
        ours = {seen, hidden}  # a source may commit something itself, which is hidden as well
        commits = [s for s in read(world, stream, *ours) if isinstance(s, Commit) and s.transaction in ours]
        assert [c.transaction for c in reader.marks.unseen(commits)] == [hidden]
        of_before = [Commit(hidden, Unplaced(), 0)]
        assert list(reader.marks.unseen(of_before)) == of_before
        assert labels(world, reader.read(request(world, partition)), commits[0]) == ["x"]
        world.show(partition, hidden)
        assert list(reader.marks.unseen([*commits, *of_before])) == []
        assert labels(world, reader.read(request(world, partition)), commits[0]) == ["new"]

    def test_the_gate_knows_transactions_of_before_a_start_by_name(self, world: SourceWorld) -> None:
        partition = world.source.partitions()[0]
        names = [world.commit(partition, row("a", number)) for number in range(3)]
        reader = world.source.reader(partition)
        assert list(reader.marks.unseen([Commit(name, Unplaced(), 0) for name in names])) == []


class SourceSuite(
    CatalogPromises, LogPromises, ChunkPromises, WholeReadPromises, WholePromises, MarkPromises
):
    """Everything that a source promises."""


def any_change(
    chance: random.Random, held: set[tuple[str, int]], emptying: Sequence[Truncated]
) -> SourceChange:
    """A change that the rows which are there allow, and what it makes of their keys."""
    free = [key for key in GRID if key not in held]
    kind = chance.choice(["insert", "insert", "update", "update", "big", "move", "delete", "truncate"])
    label = f"label {chance.random()}"
    if not held or (kind == "insert" and free):
        new = chance.choice(free)
        held.add(new)
        return row(*new, label, BIG if chance.random() < 0.8 else None)
    key = chance.choice(sorted(held))
    if kind == "truncate" and chance.random() < 0.3 and emptying:
        held.clear()
        return emptying[0]
    if kind == "delete":
        held.remove(key)
        return Delete(key)
    if kind == "move" and free:
        new = chance.choice(free)
        held.remove(key)
        held.add(new)
        return Update(key, {"shop": new[0], "number": new[1], "label": label})
    return Update(key, {"label": label} | ({"big": BIG + label} if kind == "big" else {}))


def open_mark(reader: ChunkReader, name: str) -> None:
    """Open a window where its kind has an open mark."""
    if reader.marks.kind is MarkKind.SIGNAL:
        reader.marks.set(name, Edge.OPEN)


def reached(mark: Mark, steps: Sequence[Step]) -> list[Step]:
    """The steps that pass a mark."""
    return [step for step in passing(steps) if mark.passed(step)]


def labels(world: SourceWorld, chunk: Chunk, released: Commit) -> list[object]:
    """The labels of a chunk's rows."""
    made = []
    tail = chunk.tail(released.position, ts_ms=RELEASED_MS, snapshot="incremental", chunk="c-1")
    for part in chunk.slices:
        for _, head in part.rows:
            after = world.value(head + tail)["after"]
            assert isinstance(after, dict)
            made.append(after["label"])
    return made
