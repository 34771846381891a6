"""Catalogue, chunks and whole reads over the model of a database, which parses and runs their SQL."""

import threading
from collections.abc import Sequence

import pytest

from tests.fixtures.oracle_model import READER, ModelOracle
from wrackline.producers.contract.row_chunks import Bound, Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.snapshot.key_bounds import bound_of
from wrackline.producers.sources.oracle.chunks import chunks
from wrackline.producers.sources.oracle.chunks.chunks import OracleReader, OracleReadSession, chunk_reader
from wrackline.producers.sources.oracle.chunks.fence import OracleFence, OracleMarks, current_scn
from wrackline.producers.sources.oracle.chunks.whole import OracleReadScns, OracleWholeReader
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.producers.sources.oracle.rows.source_record import OracleSourceLabels
from wrackline.schemas.errors import Transient
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import KeyKind, TableId

LABELS = OracleSourceLabels("1", "shop")
AROUND = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(1, 2))


@pytest.fixture
def model() -> ModelOracle:
    made = ModelOracle()
    made.create_user("READER", "secret", *READER)
    made.create_user("SHOP", "secret", "RESOURCE")
    made.advance(600)
    return made


def table(name: str) -> TableId:
    return TableId("DB", "SHOP", name)


def session(model: ModelOracle) -> OracleSession:
    return OracleSession(model.driver, model.driver.connect(user="READER", password="secret"))


def reading(model: ModelOracle, **settings: Value) -> OracleReadSession:
    rules = ColumnRules.of({name.replace("_", "."): value for name, value in settings.items()})
    one = session(model)
    return OracleReadSession(one, OracleCatalogue(one, "DB", OracleShapes(rules)), OracleMarks(one))


def reader(model: ModelOracle, **settings: Value) -> OracleReader:
    def begin() -> OracleReadSession:
        return reading(model, **settings)

    return chunk_reader(begin, LABELS, AROUND, OracleWholeReader(begin, LABELS, AROUND, OracleReadScns()))


def bounds(chunk: Chunk) -> list[Bound]:
    """The keys of a chunk with one row in each slice."""
    return [part.upto for part in chunk.slices]


def walked(
    using: OracleReader, name: str, key: Sequence[str], most_rows: int, condition: str | None = None
) -> list[Bound]:
    """Read a table chunk by chunk; return the keys in the order in which they came."""
    found: list[Bound] = []
    for _ in range(100):
        after = found[-1] if found else None
        chunk = using.read(
            ChunkRequest(
                table(name),
                tuple(key),
                after=after,
                condition=condition,
                most_rows=most_rows,
                slice_rows=1,
            )
        )
        found += bounds(chunk)
        if chunk.complete:
            return found
    raise AssertionError("it does not end")


KEYS = {
    "NUMBER": ["-1.5", "0.25", "7", "10", "12345678901234567890", "1E30"],
    "NUMBER(10)": ["-3", "2", "10"],
    "FLOAT": ["-0.5", "1E10"],
    "VARCHAR2(20)": ["'10'", "'9'", "'A'", "'a'", "'a '", "'it''s'", "'é'"],
    "CHAR(4)": ["'B'", "'a'", "'ab'"],
    "NVARCHAR2(20)": ["N'a'", "UNISTR('\\00E9')", "UNISTR('\\4E2D')"],
    "NCHAR(3)": ["N'a'", "N'ab'", "UNISTR('\\00E9')"],
    "RAW(4)": ["HEXTORAW('00')", "HEXTORAW('00FF')", "HEXTORAW('7F')", "HEXTORAW('FF')"],
    "DATE": [
        "TO_DATE('-0044-03-15', 'SYYYY-MM-DD')",
        "TO_DATE('2026-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS')",
        "TO_DATE('2026-01-02 03:04:06', 'YYYY-MM-DD HH24:MI:SS')",
    ],
    "TIMESTAMP(6)": [
        "TO_TIMESTAMP('2026-01-02 03:04:05.000001', 'YYYY-MM-DD HH24:MI:SS.FF')",
        "TO_TIMESTAMP('2026-01-02 03:04:05.1', 'YYYY-MM-DD HH24:MI:SS.FF')",
    ],
    "TIMESTAMP(6) WITH TIME ZONE": [
        "TO_TIMESTAMP_TZ('2026-01-02 03:04:05.0 +02:00', 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM')",
        "TO_TIMESTAMP_TZ('2026-01-02 02:04:05.0 +00:00', 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM')",
    ],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [
        "TO_TIMESTAMP_TZ('2026-01-02 03:04:05.25 +02:00', 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM')",
        "TO_TIMESTAMP_TZ('2026-01-02 02:04:05.0 +00:00', 'YYYY-MM-DD HH24:MI:SS.FF TZH:TZM')",
    ],
    "INTERVAL DAY(3) TO SECOND(3)": ["TO_DSINTERVAL('-1 02:03:04.5')", "TO_DSINTERVAL('100 00:00:00')"],
    "INTERVAL YEAR(3) TO MONTH": ["TO_YMINTERVAL('-1-2')", "TO_YMINTERVAL('1-11')"],
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("most_rows", [1, 2, 100])
def test_keys_of_each_type_are_met_once_and_in_order(model: ModelOracle, kind: str, most_rows: int) -> None:
    model.create_table("SHOP.T", {"K": kind}, key=("K",))
    model.advance(60)
    values = KEYS[kind]
    model.run(*(f"INSERT INTO T VALUES ({value})" for value in reversed(values)))
    using = reader(model)
    found = walked(using, "T", ("K",), most_rows)
    assert len(found) == len(values) == len(set(found))
    assert using.last_key(ChunkRequest(table("T"), ("K",))) == found[-1]
    for place, bound in enumerate(found):
        one = ChunkRequest(table("T"), ("K",), only=(bound,), slice_rows=1)
        assert bounds(using.read(one)) == [bound]
        upto = ChunkRequest(table("T"), ("K",), upto=bound, slice_rows=1)
        assert bounds(using.read(upto)) == found[: place + 1]


@pytest.mark.parametrize("kind", KEYS)
def test_a_row_is_found_by_the_key_of_its_event(model: ModelOracle, kind: str) -> None:
    model.create_table("SHOP.T", {"K": kind}, key=("K",))
    model.advance(60)
    model.run(*(f"INSERT INTO T VALUES ({value})" for value in KEYS[kind]))
    using = reader(model)
    chunk = using.read(ChunkRequest(table("T"), ("K",), slice_rows=1))
    assert len(chunk.slices) == len(KEYS[kind])
    for part in chunk.slices:
        ((key, _),) = part.rows
        bound = bound_of(chunk.shape, key or b"")
        if bound is None:
            assert kind in {"RAW(4)", "DATE"}, "all rows are read instead"
            continue
        again = using.read(ChunkRequest(table("T"), ("K",), only=(bound,), slice_rows=1))
        assert [one.rows for one in again.slices] == [part.rows]


def test_rows_are_read_in_the_order_of_a_requested_column(model: ModelOracle) -> None:
    model.create_table("SHOP.T", {"ID": "NUMBER(9)", "PRICE": "BINARY_DOUBLE"}, key=("ID",))
    model.advance(60)
    prices = ["2.5", "-1E300", "0.1", "1E-5"]
    model.run(*(f"INSERT INTO T VALUES ({number}, {price})" for number, price in enumerate(prices)))
    found = walked(reader(model), "T", ("PRICE", "ID"), 1)
    assert found == [("-1e+300", "1"), ("1e-05", "3"), ("0.1", "2"), ("2.5", "0")]


def test_a_table_is_cut_by_a_sample(model: ModelOracle, monkeypatch: pytest.MonkeyPatch) -> None:
    orders(model, *range(40))
    wanted = ChunkRequest(table("ORDERS"), ("ID",))
    assert reader(model).cuts(wanted, 4) == ()
    monkeypatch.setattr(chunks, "WORTH_PARTS", 10)
    cuts = reader(model).cuts(wanted, 4)
    numbers = [int(cut[0] or 0) for cut in cuts]
    assert numbers == sorted(set(numbers))
    assert 1 <= len(numbers) <= 3
    assert reader(model).expected(wanted) == 40


GRID = [(shop, number) for shop in ("a", "b", "c") for number in (1, 2, 10)]


def test_ranges_of_a_composite_key_are_lexicographic(model: ModelOracle) -> None:
    model.create_table("SHOP.T", {"SHOP": "VARCHAR2(9)", "NO": "NUMBER(9)"}, key=("SHOP", "NO"))
    model.advance(60)
    model.run(*(f"INSERT INTO T VALUES ('{shop}', {number})" for shop, number in reversed(GRID)))
    using = reader(model)
    every: list[Bound] = [(shop, str(number)) for shop, number in GRID]
    assert walked(using, "T", ("SHOP", "NO"), 2) == every
    for first, after in enumerate(every):
        for last, upto in enumerate(every[::2]):
            wanted = ChunkRequest(table("T"), ("SHOP", "NO"), after=after, upto=upto, slice_rows=1)
            assert bounds(using.read(wanted)) == every[first + 1 : 2 * last + 1]


def test_nulls_of_a_chosen_key_come_last(model: ModelOracle) -> None:
    model.create_table("SHOP.T", {"A": "VARCHAR2(9) NULL", "B": "NUMBER(9) NULL", "C": "NUMBER(9)"})
    model.advance(60)
    pairs = [("'a'", "1"), ("'a'", "NULL"), ("'b'", "2"), ("NULL", "1"), ("''", "NULL")]
    model.run(*(f"INSERT INTO T VALUES ({a}, {b}, 0)" for a, b in reversed(pairs)))
    expected: list[Bound] = [("a", "1"), ("a", None), ("b", "2"), (None, "1"), (None, None)]
    using = reader(model, message_key_columns="SHOP.T:A,B")
    for most_rows in (1, 2, 9):
        assert walked(using, "T", ("A", "B"), most_rows) == expected


def test_single_keys_and_conditions(model: ModelOracle) -> None:
    model.create_table("SHOP.T", {"ID": "NUMBER(9)", "LABEL": "VARCHAR2(9) NULL"}, key=("ID",))
    model.advance(60)
    labels = {1: "'it'", 2: "NULL", 3: "'its'", 4: "'x'"}
    model.run(*(f"INSERT INTO T VALUES ({number}, {label})" for number, label in labels.items()))
    using = reader(model)
    for condition, numbers in (
        ("label = 'it'", "1"),
        ("label LIKE 'it%'", "13"),
        ("label IS NULL", "2"),
        ("label <> 'it'", "34"),
        ("id IN (1, 4) OR label = 'its'", "134"),
        ("id BETWEEN 2 AND 3", "23"),
    ):
        assert walked(using, "T", ("ID",), 2, condition) == [(number,) for number in numbers]
        wanted = ChunkRequest(table("T"), ("ID",), condition=condition)
        assert using.last_key(wanted) == (numbers[-1],)
    some = ChunkRequest(table("T"), ("ID",), only=(("4",), ("9",), ("1",)), slice_rows=1)
    assert bounds(using.read(some)) == [("1",), ("4",)]


def orders(model: ModelOracle, *numbers: int, key: Sequence[str] = ("ID",)) -> None:
    model.create_table("SHOP.ORDERS", {"ID": "NUMBER(9)", "NAME": "VARCHAR2(20) NULL"}, key=key)
    model.advance(60)
    if numbers:
        model.run(*(f"INSERT INTO ORDERS VALUES ({number}, 'x')" for number in numbers))


WANTED = ChunkRequest(table("ORDERS"), ("ID",), slice_rows=1)


def test_a_chunk_has_what_was_committed_up_to_its_scn_and_nothing_else(
    model: ModelOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(model, 1, 2)
    waiting = model.begin()
    waiting.run("INSERT INTO ORDERS VALUES (3, 'later')", "DELETE FROM ORDERS WHERE ID = 1")

    def then_commit(one: OracleSession, doing: str) -> int:
        scn = current_scn(one, doing)
        waiting.commit()
        return scn

    with monkeypatch.context() as patched:
        patched.setattr(chunks, "current_scn", then_commit)
        chunk = reader(model).read(WANTED)
    assert bounds(chunk) == [("1",), ("2",)]
    assert isinstance(chunk.mark, OracleFence)
    assert chunk.mark.scn < model.scn
    assert bounds(reader(model).read(WANTED)) == [("2",), ("3",)]


@pytest.mark.parametrize("number", [8181, 1466])
def test_rows_that_are_gone_as_of_an_scn_are_read_again(model: ModelOracle, number: int) -> None:
    orders(model, 1)
    using = reader(model)
    model.fail("AS OF SCN", number)
    with pytest.raises(Transient) as caught:
        using.read(WANTED)
    assert caught.value.code == "oracle.rows_gone"
    assert bounds(using.read(WANTED)) == [("1",)]


def test_rows_whose_undo_is_gone_are_read_as_of_a_newer_scn(
    model: ModelOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(model, 1)
    using = reader(model)

    def then_forget(one: OracleSession, doing: str) -> int:
        scn = current_scn(one, doing)
        model.run("INSERT INTO ORDERS VALUES (2, 'x')")
        model.forget_undo()
        return scn

    with monkeypatch.context() as patched:
        patched.setattr(chunks, "current_scn", then_forget)
        with pytest.raises(Transient) as caught:
            using.read(WANTED)
    assert caught.value.code == "oracle.rows_gone"
    assert bounds(using.read(WANTED)) == [("1",), ("2",)]


def test_a_key_column_that_is_gone_is_said_to_be(model: ModelOracle) -> None:
    model.create_table("SHOP.ORDERS", {"ID": "NUMBER(9)", "OTHER": "NUMBER(9)"}, key=("ID",))
    using = reader(model)
    by_other = ChunkRequest(table("ORDERS"), ("OTHER",))
    using.read(by_other)
    model.run("ALTER TABLE ORDERS DROP COLUMN OTHER")
    model.advance(60)
    for ask in (using.read, using.last_key):
        with pytest.raises(Transient) as caught:
            ask(by_other)
        assert caught.value.code == "snapshot.key_gone"


def test_an_empty_table_is_complete_and_has_no_last_key(model: ModelOracle) -> None:
    orders(model)
    using = reader(model)
    chunk = using.read(WANTED)
    assert (chunk.slices, chunk.complete) == ((), True)
    assert using.last_key(WANTED) is None


def test_doubled_keys_are_counted_up_to_two(model: ModelOracle) -> None:
    orders(model, 1, 1, 1, 2, key=())
    using = reader(model, message_key_columns="SHOP.ORDERS:ID")
    queries = using.queries
    shape = queries.describe(table("ORDERS"))
    assert [queries.rows_at(WANTED, shape, (key,)) for key in ("0", "1", "2")] == [0, 2, 1]


def test_a_whole_read_has_the_rows_of_its_scn_in_pieces(model: ModelOracle) -> None:
    orders(model, *range(10), key=())
    using = reader(model)
    read = using.whole(table("ORDERS"))
    model.run("DELETE FROM ORDERS")
    pieces = []
    for _ in range(20):
        pieces.append(read.next(ChunkRequest(table("ORDERS"), (), most_rows=3, slice_rows=2)))
        if pieces[-1].complete:
            break
    assert sum(len(part.rows) for piece in pieces for part in piece.slices) == 10
    assert pieces[0].shape.key_kind is KeyKind.NONE
    assert len({piece.mark for piece in pieces}) == 1
    again = using.whole(table("ORDERS"))
    last = again.next(ChunkRequest(table("ORDERS"), ()))
    assert (last.slices, last.complete) == ((), True)
    assert isinstance(last.mark, OracleFence)
    assert isinstance(pieces[0].mark, OracleFence)
    assert last.mark.scn > pieces[0].mark.scn
    for one in (read, again):
        one.close()
        one.close()


def test_a_read_that_another_thread_gives_up_ends(model: ModelOracle) -> None:
    orders(model, 1)
    using = reader(model)
    stalled = model.stall("AS OF SCN")
    caught: list[Exception] = []

    def read() -> None:
        try:
            using.read(WANTED)
        except Transient as error:
            caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    assert stalled.wait(10)
    using.give_up()
    thread.join(10)
    assert not thread.is_alive()
    assert len(caught) == 1
    using.close()
    using.close()


def test_a_look_follows_the_database(model: ModelOracle) -> None:
    orders(model)
    catalogue = reading(model).catalogue

    def columns() -> list[str]:
        (facts,) = catalogue.look(lambda _: True).tables.values()
        return [column.name for column in facts.columns]

    assert columns() == ["ID", "NAME"]
    model.run("ALTER TABLE ORDERS ADD (EXTRA NUMBER DEFAULT 7)")
    model.advance(60)
    assert columns() == ["ID", "NAME", "EXTRA"]
    model.run("ALTER TABLE ORDERS DROP COLUMN NAME")
    assert columns() == ["ID", "EXTRA"]
    (facts,) = catalogue.look(lambda _: True).tables.values()
    assert [column.number for column in facts.columns] == [1, 2], "so a number identifies no column"
    model.run("ALTER TABLE ORDERS RENAME COLUMN EXTRA TO MORE")
    model.advance(3600)
    assert columns() == ["ID", "MORE"]
    before = set(catalogue.look(lambda _: True).tables)
    model.run("RENAME ORDERS TO SALES")
    look = catalogue.look(lambda _: True)
    assert set(look.tables) == before
    assert look.names[before.pop()] == table("SALES")
    model.run("DROP TABLE SALES")
    assert catalogue.look(lambda _: True).tables == {}


def test_the_catalogue_says_what_the_log_has_of_a_table(model: ModelOracle) -> None:
    orders(model)
    model.create_table("SHOP.PART", {"ID": "NUMBER(9)"}, log_all=False, unique=[("ID",)])
    catalogue = reading(model).catalogue
    assert catalogue.facts(table("ORDERS")).logs_all
    assert not catalogue.facts(table("PART")).logs_all
    assert catalogue.describe(table("ORDERS")).table.key_kind is KeyKind.PRIMARY
