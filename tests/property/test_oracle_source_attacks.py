"""What may happen to an Oracle database at a bad moment: small tests of the source over the model."""

from collections.abc import Sequence

from tests.fixtures.oracle_reading import ORDERS, Make, first, insert, read_until, seen
from tests.fixtures.oracle_world import OWNER
from tests.property.test_oracle_source_tables import make, news
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.steps import Reshaped, Rows, Step
from wrackline.testing.sources.reading import events, open_stream, places, read

__all__ = ["make"]


def unsent(steps: Sequence[Step]) -> list[tuple[str, ...] | None]:
    """Name the columns that each change lacks, if its row is read again."""
    rows = [change for step in steps if isinstance(step, Rows) for change in step.rows]
    return [one[4].columns if one[4] is not None and one[4].again else None for one in rows]


def wide(number: int) -> str:
    names = '"shop", "number", "label", "big"'
    return f"INSERT INTO {ORDERS} ({names}) VALUES ('a', {number}, 'x', '{'long ' * 1_000}')"


def test_an_extended_text_with_rows_of_its_own_is_read_again(make: Make) -> None:
    """A new row shows LM_EMPTY_STRING where the text is in the rows behind it."""
    world = make()
    world.model.database.extended_apart = True
    stream = open_stream(world, first(world))
    one = world.model.begin(user=OWNER)
    one.run(wide(1))
    one.savepoint("s")
    one.run(wide(2), f'UPDATE {ORDERS} SET "big" = \'{"other " * 1_000}\' WHERE "number" = 1')
    one.rollback_to("s")
    one.run(insert(3))
    steps = read(world, stream, one.commit().lower())
    assert seen(world, steps) == [("c", 1), ("u", 1), ("c", 3)]
    assert unsent(steps) == [("big",), ("big",), None]
    assert not any("LM_EMPTY" in str(event.after) for event in events(world, steps))


def test_rows_of_a_partition_that_was_split_before_anybody_mined_them_are_not_lost(make: Make) -> None:
    """No table has the number of their partition any more, so nothing says whose they are."""
    world = make(**{"table.include.list": r"SHOP\.PARTS"})
    columns = {"ID": "NUMBER(9)"}
    world.grant("PARTS")
    world.model.create_table(f"{OWNER}.PARTS", columns, key=("ID",), partitions=("P1", "P2"))
    stream = open_stream(world, first(world))
    one = world.model.run("INSERT INTO PARTS VALUES (1)", user=OWNER).lower()
    at = places(read(world, stream, one))[-1]
    stream.close()
    world.model.run("INSERT INTO PARTS SELECT LEVEL + 1 FROM DUAL CONNECT BY LEVEL <= 9", user=OWNER)
    world.model.run("ALTER TABLE PARTS SPLIT PARTITION P1 AT (5) INTO (PARTITION X, PARTITION Y)", user=OWNER)
    steps = read_until(world, open_stream(world, first(world), at.saved()), Reshaped)
    assert [(step.refresh, step.void) for step in news(steps) if isinstance(step, Reshaped)] == [(True, True)]


def test_a_transaction_without_an_scn_hides_no_older_one(make: Make) -> None:
    """A server shows START_SCN = 0 for some transactions."""
    world = make()
    old, other = world.model.begin(user=OWNER), world.model.begin(user=OWNER)
    old.run(insert(1))
    other.run(f"INSERT INTO {OWNER}.ELSEWHERE (NOTE) VALUES (1)")
    assert other.session.transaction is not None
    other.session.transaction.start_scn = 0
    stream = open_stream(world, first(world))
    old.run(insert(2))
    assert seen(world, read(world, stream, old.commit().lower())) == [("c", 1), ("c", 2)]


def test_large_objects_of_a_chunk_are_values_and_no_objects_of_the_driver(make: Make) -> None:
    world = make(**{"table.include.list": r"SHOP\.DOCS"})
    columns = {"ID": "NUMBER(9)", "BODY": "CLOB", "N": "NCLOB", "B": "BLOB", "EMPTY": "CLOB"}
    world.grant("DOCS")
    world.model.create_table(f"{OWNER}.DOCS", columns, key=("ID",))
    text = "ä" * 5_000
    values = f"1, '{text}', 'n', HEXTORAW('00FF'), EMPTY_CLOB()"
    stream = open_stream(world, first(world))
    name = world.model.run(f"INSERT INTO DOCS VALUES ({values})", user=OWNER).lower()
    at = places(read(world, stream, name))[-1]
    reader = world.source.reader(first(world))
    (table,) = world.source.tables(first(world))
    chunk = reader.read(ChunkRequest(table, ("ID",)))
    tail = chunk.tail(at, ts_ms=0, snapshot="incremental", chunk="c")
    ((_, head),) = [one for part in chunk.slices for one in part.rows]
    found = world.value(head + tail)["after"]
    assert found == {"ID": 1, "BODY": text, "N": "n", "B": b"\x00\xff", "EMPTY": None}


def test_a_flush_table_that_is_dropped_is_made_again(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.model.run(insert(1), user=OWNER).lower())
    world.model.run("DROP TABLE WRACKLINE.LOG_MINING_FLUSH PURGE", user="WRACKLINE")
    assert seen(world, read(world, stream, world.model.run(insert(2), user=OWNER).lower())) == [("c", 2)]


def test_a_thread_that_comes_back_lacks_nothing_of_the_time_without_it(make: Make) -> None:
    world = make(threads=2, **{"rac.nodes": "node1,node2"})
    model = world.model
    stream = open_stream(world, first(world))
    at = places(read(world, stream, model.run(insert(1), user=OWNER, thread=2).lower()))[-1]
    model.switch_log(2)
    model.stop_instance(2, enabled=False)
    at = places(read(world, stream, model.run(insert(2), user=OWNER).lower()))[-1]
    stream.close()
    model.run(insert(3), user=OWNER)
    with model.database.lock:
        thread = model.database.threads[2]
        thread.enabled = thread.open = True
        thread.current.first_scn = model.database.next_scn()
        thread.logs[0].group = 98  # its file was used again
    name = model.run(insert(4), user=OWNER, thread=2).lower()
    world.oracle.resumable(first(world), at.saved())
    steps = read(world, open_stream(world, first(world), at.saved()), name)
    assert seen(world, steps) == [("c", 3), ("c", 4)]


def test_a_table_of_others_that_is_dropped_changes_no_number(make: Make) -> None:
    """Its rows have no name any more when the log is read again, and were left out before."""
    world = make(**{"table.include.list": r"SHOP\.ORDERS"})
    world.model.create_table("STOCK.STAGE", {"ID": "NUMBER(9)"}, key=("ID",))
    stream = open_stream(world, first(world))
    at = places(read(world, stream, world.model.run(insert(1), user=OWNER).lower()))[-1]
    name = world.model.run("INSERT INTO STOCK.STAGE VALUES (1)", insert(2), user=OWNER).lower()
    before = events(world, read(world, stream, name))
    stream.close()
    world.model.run("DROP TABLE STOCK.STAGE PURGE", user="STOCK")
    again = open_stream(world, first(world), at.saved())
    assert [one.seq for one in events(world, read(world, again, name))] == [one.seq for one in before]
