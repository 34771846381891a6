"""The promises of a reader that reads a table without a key; the suite's has one, to distinguish rows."""

import pytest

from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Whole
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, passing, read
from wrackline.testing.sources.source_world import Delete, SourceWorld

RELEASED_MS = 1_700_000_000_000
ROWS = [("a", 1), ("a", 2), ("b", 1), ("b", 20), ("c", 3), ("c", 4), ("d", 5)]


def keys(world: SourceWorld, chunk: Chunk) -> list[tuple[object, ...]]:
    """The keys of a chunk's rows, decoded."""
    return [tuple(world.key(key or b"").values()) for part in chunk.slices for key, _ in part.rows]


class WholeReadPromises:
    """One read of all rows at one place; a source whose readers have none keeps nothing of it."""

    def test_pieces_meet_every_row_once_and_number_them(self, world: SourceWorld) -> None:
        partition, table, reader = begun(world)
        world.commit(partition, *(row(*key) for key in ROWS))
        for most_rows in (1, 4, 100):
            read_on, seen = reader.whole(table), 0
            wanted = ChunkRequest(table, (), most_rows=most_rows, slice_rows=3)
            rows: list[tuple[object, ...]] = []
            for _ in range(2 * len(ROWS)):
                chunk = read_on.next(wanted)
                assert chunk.piece is not None
                assert chunk.piece.before == seen
                assert len(keys(world, chunk)) <= most_rows
                assert all(len(part.rows) <= 3 for part in chunk.slices)
                rows += keys(world, chunk)
                seen = len(rows)
                if chunk.complete:
                    break
            read_on.close()
            read_on.close()
            assert sorted(map(str, rows)) == sorted(map(str, ROWS))

    def test_a_whole_read_has_what_is_older_than_its_rows_and_nothing_else(self, world: SourceWorld) -> None:
        partition, table, reader = begun(world)
        stream = open_stream(world, partition)
        world.commit(partition, row("a", 1))
        read_on = reader.whole(table)
        last = world.commit(partition, row("a", 2), Delete(("a", 1)))
        chunk = read_on.next(ChunkRequest(table, ()))
        read_on.close()
        assert keys(world, chunk) == [("a", 1)]
        log = events(world, read(world, stream, last))
        assert chunk.piece is not None
        assert chunk.mark is not None
        later = passing(read(world, stream, world.commit(partition, row("a", 3))))
        assert any(chunk.mark.passed(step) for step in later)
        place = later[-1].position
        tail = chunk.tail(place, ts_ms=RELEASED_MS, snapshot="true", chunk="c-1")
        void = world.value(chunk.piece.void(place, ts_ms=RELEASED_MS, snapshot="true", chunk="c-1"))
        assert (void["op"], void["after"]) == ("t", None)
        assert tail.endswith(str(void["seq"]).encode()), "its rows are not older than their truncate"
        assert [event.seq > str(void["seq"]) for event in log] == [False, True, True]

    def test_a_later_read_voids_the_rows_of_an_earlier_one_on_an_idle_database_too(
        self, world: SourceWorld
    ) -> None:
        partition, table, reader = begun(world)
        stream = open_stream(world, partition)
        steps = read(world, stream, world.commit(partition, row("a", 1)))
        place = passing(steps)[-1].position
        found: list[str] = []
        for number in range(3):
            read_on = reader.whole(table)
            chunk = read_on.next(ChunkRequest(table, ()))
            read_on.close()
            assert chunk.piece is not None
            void = chunk.piece.void(place, ts_ms=RELEASED_MS, snapshot="true", chunk=f"c-{number}")
            found.append(str(world.value(void)["seq"]))
        assert found == sorted(set(found))

    def test_a_read_that_another_thread_gave_up_ends(self, world: SourceWorld) -> None:
        partition, table, reader = begun(world)
        world.commit(partition, *(row(*key) for key in ROWS))
        read_on = reader.whole(table)
        assert len(keys(world, read_on.next(ChunkRequest(table, (), most_rows=2)))) == 2
        read_on.give_up()
        read_on.close()


def begun(world: SourceWorld) -> tuple[SourcePartition, TableId, Whole]:
    """A partition, its table, and a reader that can read all of it at once."""
    partition = world.source.partitions()[0]
    reader = world.source.reader(partition)
    if not isinstance(reader, Whole):
        pytest.skip("this source has no whole reads")
    return partition, world.orders(partition).id, reader
