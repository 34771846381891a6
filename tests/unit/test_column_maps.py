"""Maps of columns: their records, which of them are written, and the ways of columns that they add up to."""

import orjson
import pytest

from wrackline.consumers.contract.plan import ROW, PlannedColumn
from wrackline.control.runtime.board.board_changes import Record
from wrackline.control.runtime.board.map_changes import MapChanges
from wrackline.control.runtime.lineage.column_maps import merge_map, publish_map
from wrackline.control.runtime.lineage.column_paths import ColumnPath, maps_of, periods, since, spans_of
from wrackline.schemas.events.projection import project
from wrackline.schemas.kafka import column_maps
from wrackline.schemas.kafka.board_records import (
    Board,
    BoardKey,
    Half,
    HalfState,
    encode,
    parse_key,
)
from wrackline.schemas.kafka.column_maps import (
    MOST_BYTES,
    MOST_MAPS,
    ColumnMap,
    ColumnStep,
    MapLog,
    read_map,
)
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = "shop.public.users"
TEXT = ColumnType(Kind.STRING, "text")
USERS = TableSchema(
    TableId("shop", "public", "users"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint")),
        Column("e-mail", 2, ColumnType(Kind.STRING, "varchar(80)")),
        Column("address", 3, ColumnType(Kind.TEXT_OF, "inet")),
        Column("note", 4, TEXT),
    ),
    ("id",),
)
HIDES = ColumnRules.of(
    {
        "column.mask.hash.v2.SHA-256.with.salt.c4n4ry": ("public.users.e-mail",),
        "column.exclude.list": ("public.users.note",),
    }
)
ID = ColumnStep("id", "id", "int64", "bigint")


def plan(*names: tuple[str, str]) -> list[PlannedColumn]:
    row = PlannedColumn(ROW, "_wl_row", "_wl_row", TEXT)
    return [
        row,
        *(PlannedColumn(number, source, target, TEXT) for number, (source, target) in enumerate(names, 1)),
    ]


def key(half: Half, since_ms: int, table: str = TABLE) -> bytes:
    return BoardKey("shop", half, table, since_ms).encode()


def board_of(source: dict[int, ColumnMap], target: dict[int, ColumnMap]) -> Board:
    made = Board()
    for half, maps in ((Half.SOURCE, source), (Half.TARGET, target)):
        for moment, one in maps.items():
            made.apply(key(half, moment), one.encode(), moment)
    return made


def both(board: Board) -> dict[Half, MapLog]:
    return {half: board.half("shop", half).maps for half in Half}


def test_a_table_s_map_says_what_is_hidden_carried_as_text_and_left_out() -> None:
    made = publish_map(project(USERS, HIDES).table, HIDES)
    assert made == ColumnMap(
        "shop.public.users",
        (
            ID,
            ColumnStep("e-mail", "e_mail", "string", "", "salted hash (sha256)"),
            ColumnStep("address", "address", "text-of", "inet", "as text"),
        ),
        ("note",),
    )
    assert b"c4n4ry" not in made.encode()
    assert read_map(made.encode()) == made


def test_a_copy_s_map_says_what_is_renamed_and_nothing_of_our_own_columns() -> None:
    made = merge_map(plan(("e-mail", "E_Mail")), "lake.users")
    assert made == ColumnMap("lake.users", (ColumnStep("e_mail", "E_Mail", "string"),))
    assert read_map(made.encode()) == made


def test_an_enum_s_type_is_shortened() -> None:
    made = read_map(ColumnMap("t", (ID._replace(type="e" * 999),)).encode())
    assert made.columns[0].type == "e" * 200


GOOD = orjson.loads(ColumnMap(TABLE, (ID,), ("note",)).encode())


@pytest.mark.parametrize(
    "value",
    [
        b"no JSON",
        b"[]",
        orjson.dumps({**GOOD, "version": 2}),
        orjson.dumps({**GOOD, "place": 7}),
        orjson.dumps({**GOOD, "columns": {"id": "id"}}),
        orjson.dumps({**GOOD, "columns": ["id"]}),
        orjson.dumps({**GOOD, "columns": [["id", "id", "int64", "bigint"]]}),
        orjson.dumps({**GOOD, "columns": [["id", "id", "int64", None, ""]]}),
        orjson.dumps({**GOOD, "left_out": [["note"]]}),
        orjson.dumps({name: part for name, part in GOOD.items() if name != "left_out"}),
        orjson.dumps({**GOOD, "place": "x" * MOST_BYTES}),
    ],
)
def test_a_map_that_another_program_wrote_is_refused_and_changes_nothing(value: bytes) -> None:
    board = board_of({5: ColumnMap(TABLE, (ID,))}, {})
    with pytest.raises((ValueError, KeyError, TypeError)):
        board.apply(key(Half.SOURCE, 6), value, 6)
    assert [one.since_ms for one in board.half("shop", Half.SOURCE).maps.of(TABLE)] == [5]


@pytest.mark.parametrize("moment", ["now", -1, 1.5, None, True, 1 << 62, 90_000_001])
def test_a_map_of_no_moment_or_of_the_future_is_refused(moment: object) -> None:
    board = Board()
    with pytest.raises((ValueError, TypeError)):
        board.apply(orjson.dumps(["shop", "source", TABLE, moment]), orjson.dumps(GOOD), 1)
    assert board.half("shop", Half.SOURCE).maps.tables() == []


def test_maps_are_no_sign_of_life_and_are_forgotten_with_the_pipeline() -> None:
    board = board_of({5: ColumnMap(TABLE, (ID,))}, {})
    board.apply(BoardKey("shop", Half.SOURCE).encode(), encode({"state": "running"}, 1), 1)
    board.apply(key(Half.SOURCE, 90_000), ColumnMap(TABLE, ()).encode(), 90_000)
    half = board.half("shop", Half.SOURCE)
    assert (half.state, half.heard_ms, len(half.maps.of(TABLE))) == (HalfState.RUNNING, 1, 2)
    board.apply(key(Half.SOURCE, 5), None, 6)
    assert [one.since_ms for one in half.maps.of(TABLE)] == [90_000]
    board.forget("shop")
    assert board.half("shop", Half.SOURCE).maps.tables() == []


def test_the_newest_maps_of_a_table_stay_in_whatever_order_they_come() -> None:
    log = MapLog()
    forgotten = [one for moment in range(MOST_MAPS + 5, 0, -1) for one in log.take(TABLE, moment, b"")]
    assert forgotten == [(TABLE, moment) for moment in range(5, 0, -1)]
    assert [one.since_ms for one in log.of(TABLE)] == list(range(6, MOST_MAPS + 6))


def test_of_too_many_tables_those_go_that_changed_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_maps, "MOST_TABLES", 2)
    log = MapLog()
    assert [log.take(table, 1, b"") for table in ("a", "b")] == [[], []]
    assert log.take("a", 2, b"") == []
    assert log.take("c", 3, b"") == [("b", 1)]
    assert log.tables() == ["a", "c"]


def test_of_too_many_bytes_those_go_that_changed_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_maps, "MOST_BYTES_OF_ALL", 10)
    log = MapLog()
    for _ in range(3):
        assert log.take("a", 1, b"12345678") == []
    assert log.take("a", 2, b"1") == []
    log.take("a", 1, None)
    assert log.take("b", 3, b"123456789") == []
    assert log.copy().take("c", 4, b"123456789") == [("a", 2), ("b", 3)]
    assert log.take("b", 5, b"1") == [("a", 2)]


class Clock:
    now = 100

    def __call__(self) -> int:
        return self.now


def moments(records: list[Record]) -> list[tuple[int | None, bool]]:
    return [(parse_key(one).since_ms, value is not None) for one, value in records]


def test_a_map_is_written_once_and_again_when_it_changes_also_back() -> None:
    clock, first, second = Clock(), ColumnMap(TABLE, (ID,)), ColumnMap(TABLE, ())
    changes = MapChanges("shop", Half.SOURCE, clock)
    changes.knows(TABLE, first)
    changes.knows(TABLE, first)
    [(written, value)] = changes.due()
    assert (written, value) == (key(Half.SOURCE, 100), first.encode())
    assert changes.due() == []
    changes.knows(TABLE, second)
    changes.knows(TABLE, first)
    assert moments(changes.due()) == [(101, True), (102, True)], "each has a moment of its own"


def test_a_later_process_writes_only_what_differs_and_never_before_what_is_there() -> None:
    clock, known, other = Clock(), ColumnMap(TABLE, (ID,)), ColumnMap(TABLE, ())
    board = board_of({500: known}, {})
    changes = MapChanges("shop", Half.SOURCE, clock)
    changes.knows(TABLE, known)  # before the board was read
    changes.recorded(board.half("shop", Half.SOURCE).maps)
    assert changes.due() == []
    changes.knows(TABLE, other)
    assert moments(changes.due()) == [(501, True)], "though this machine's clock is behind"


def test_what_is_forgotten_is_removed_from_kafka_too() -> None:
    clock = Clock()
    changes = MapChanges("shop", Half.SOURCE, clock)
    for number in range(MOST_MAPS + 2):
        clock.now += 1
        changes.knows(TABLE, ColumnMap(TABLE, (ID._replace(after=str(number)),)))
    found = moments(changes.due())
    assert [one for one, there in found if not there] == [101, 102]
    assert len([one for one, there in found if there]) == MOST_MAPS, "what goes at once is not written first"


def test_what_may_be_lost_is_written_again_with_its_moment() -> None:
    changes = MapChanges("shop", Half.SOURCE, Clock())
    changes.knows("a", ColumnMap("a", ()))
    changes.knows("b", ColumnMap("b", ()))
    first = changes.due()
    changes.arrived(first[0][0])
    changes.lost()
    assert changes.due() == first[1:]
    assert changes.due() == []


def history() -> Board:
    """E-mails were hashed from 20 on; the copy has the column since 12, and calls it so since 30."""
    mail, hashed = ColumnStep("e-mail", "e_mail", "string", "text"), ColumnStep("e-mail", "e_mail", "string")
    source = {
        10: ColumnMap(TABLE, (ID, mail)),
        20: ColumnMap(TABLE, (ID, hashed._replace(how="salted hash (sha256)")), ("note",)),
    }
    target = {
        12: merge_map(plan(("id", "id"), ("e-mail", "e_mail")), "lake.users"),
        30: merge_map(plan(("id", "id"), ("e-mail", "email_hash"), ("old", "old")), "lake.users"),
    }
    return board_of(source, target)


def test_both_halves_are_joined_for_each_time() -> None:
    [maps] = maps_of(both(history())).values()
    found = periods(maps)
    assert [(one.since_ms, one.until_ms) for one in found] == [(10, 12), (12, 20), (20, 30), (30, None)]
    assert [path.target for path in found[0].paths] == ["", ""], "the copy has not reported yet"
    newest = found[-1]
    assert (newest.table, newest.copy, newest.left_out) == (TABLE, "lake.users", ("note",))
    same, mail, old = newest.paths
    assert same == ColumnPath("id", "bigint", "", "id", "int64", "id")
    assert mail == ColumnPath("e-mail", "", "salted hash (sha256)", "e_mail", "string", "email_hash")
    assert (old.source, old.field, old.target) == ("", "old", "old"), "only the copy still has it"
    assert [since(found, path) for path in newest.paths] == [12, 30, 30]
    assert [path.renamed for path in newest.paths] == [False, True, False]


@pytest.mark.parametrize(
    "column", ["shop.public.users.email_hash", "public.users.email_hash", "lake.users.email_hash"]
)
def test_which_column_fed_one_of_the_copy_has_an_answer_for_each_time(column: str) -> None:
    [maps] = maps_of(both(history()), column).values()
    [span] = spans_of(TABLE, periods(maps), column)
    assert (span.since_ms, span.until_ms, span.path.source) == (30, None, "e-mail")


def test_a_column_is_found_by_each_of_its_names_and_what_stays_the_same_is_one_answer() -> None:
    [maps] = maps_of(both(history()), table=TABLE).values()
    found = spans_of(TABLE, periods(maps), "shop.public.users.e-mail")
    assert [(one.since_ms, one.until_ms, one.path.how, one.path.target) for one in found] == [
        (10, 12, "", ""),
        (12, 20, "", "e_mail"),
        (20, 30, "salted hash (sha256)", "e_mail"),
        (30, None, "salted hash (sha256)", "email_hash"),
    ]
    assert [(one.since_ms, one.until_ms) for one in spans_of(TABLE, periods(maps), f"{TABLE}.id")] == [
        (10, 12), (12, None),
    ]  # fmt: skip
    for nobody in ("shop.public.users", "id", "users.id", "other.users.id", f"{TABLE}.", f"{TABLE}.none"):
        assert spans_of(TABLE, periods(maps), nobody) == []


def test_only_tables_that_may_be_meant_are_looked_at() -> None:
    odd = ColumnStep('a"\u00e4.\n', "a", "string")
    board = board_of({1: ColumnMap("other", (odd,))}, {1: ColumnMap("lake.users", (ID,))})
    board.apply(key(Half.SOURCE, 1, "shop.public.items"), ColumnMap("shop.public.items", (ID,)).encode(), 1)
    halves = both(board)
    for column in ('other.a"\u00e4.\n', 'public.users.a"\u00e4.\n', "shop.public.users.a", "lake.users.id"):
        assert list(maps_of(halves, column)) == [TABLE], column
    assert list(maps_of(halves, "public.items.id")) == ["shop.public.items"]
    assert list(maps_of(halves)) == ["shop.public.items", TABLE]
    for nobody in ("zz.id", "other.i", "id"):
        assert maps_of(halves, nobody) == {}
    assert maps_of(halves, table="none") == {}
