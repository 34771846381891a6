"""Changes of captured tables: the log reports them, and a picture those that the log left out; each once."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.steps import Appeared, Found, Renamed, Reshaped, Vanished
from wrackline.producers.sources.mysql.ddl.ddl_effects import TableEmptied, effects
from wrackline.producers.sources.mysql.ddl.sql_tokens import SqlSpelling
from wrackline.producers.sources.mysql.follow.table_tracker import (
    MySqlCatalogueSnapshot,
    MySqlTableTracker,
    TableStep,
)
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

NAMES = ("a", "b", "c", "x1", "x2")  # those of x are not captured


def named(name: str) -> TableId:
    return TableId("d", "d", name)


def captures(table: TableId) -> bool:
    return table.database == "d" and not table.name.startswith("x")


def roll(*listed: str) -> MySqlTableTracker:
    """A roll that captures what does not begin with x."""
    return MySqlTableTracker(captures, [named(name) for name in listed])


def shape(name: str, *columns: str) -> TableSchema:
    number = ColumnType(Kind.INT32, "int")
    return TableSchema(named(name), tuple(Column(column, at, number) for at, column in enumerate(columns)))


def told(made: MySqlTableTracker, text: str) -> list[TableStep]:
    return list(made.done(effects(text.encode(), "d", SqlSpelling(mariadb=True)), "d"))


def picture(made: MySqlTableTracker, *names: str, begun: int | None = None) -> list[TableStep | Found]:
    tables = {named(name): shape(name, "id") for name in names}
    return list(made.picture(MySqlCatalogueSnapshot(made.reports.count if begun is None else begun, tables)))


def test_a_table_that_is_created_is_whole_in_the_log() -> None:
    made = roll("a")
    assert told(made, "CREATE TABLE b (id int)") == [Appeared(named("b"), complete=True)]
    assert told(made, "CREATE TABLE x1 (id int)") == []
    assert told(made, "CREATE TABLE e.b (id int)") == []


def test_a_table_whose_first_rows_are_in_no_event_is_read() -> None:
    made = roll("a")
    assert told(made, "CREATE TABLE b SELECT * FROM a") == [Appeared(named("b"), complete=False)]
    assert told(made, "CREATE TABLE IF NOT EXISTS c (id int)") == [Appeared(named("c"), complete=False)], (
        "it may have been there, by a session that wrote no log"
    )
    assert told(made, "CREATE TABLE IF NOT EXISTS a (id int)") == []


def test_a_table_that_is_replaced_goes_and_comes() -> None:
    made = roll("a")
    assert told(made, "CREATE OR REPLACE TABLE a (id int)") == [
        Vanished(named("a"), dropped=True),
        Appeared(named("a"), complete=True),
    ]
    assert told(made, "CREATE TABLE a (id int)") == [
        Vanished(named("a"), dropped=True),
        Appeared(named("a"), complete=True),
    ], "it was dropped without a log"


def test_what_is_dropped_vanishes_once() -> None:
    made = roll("a", "b", "c")
    assert told(made, "DROP TABLE IF EXISTS a, nope, x1") == [Vanished(named("a"), dropped=True)]
    assert told(made, "DROP TABLE IF EXISTS a") == []
    assert told(made, "DROP DATABASE e") == []
    assert told(made, "DROP DATABASE d") == [
        Vanished(named("b"), dropped=True),
        Vanished(named("c"), dropped=True),
    ]


def test_a_rename_that_the_start_already_saw_is_reported_only_as_a_statement() -> None:
    assert told(roll("b"), "RENAME TABLE a TO b") == [Reshaped(named("b"), refresh=False)]
    assert told(roll("b"), "RENAME TABLE a TO c") == [], "a view, for all that anybody knows"
    assert told(roll("x2"), "RENAME TABLE a TO x2") == []


def test_a_rename_goes_into_another_topic_or_out_of_or_into_the_filters() -> None:
    made = roll("a")
    made.met(named("a"), shape("a", "id"))
    assert told(made, "RENAME TABLE a TO b") == [Renamed(named("a"), named("b"), shape("b", "id"))]
    assert told(made, "ALTER TABLE b RENAME TO x1") == [Vanished(named("b"), dropped=True)]
    assert told(made, "RENAME TABLE x1 TO a") == [Appeared(named("a"), complete=False)]


def test_tables_that_swap_names_are_read_again() -> None:
    of_one = MySqlTableTracker(lambda table: table == named("t"), [named("t")])
    swap = "RENAME TABLE `d`.`t` TO `d`.`_t_old`, `d`.`_t_new` TO `d`.`t`"
    assert told(of_one, swap) == [Vanished(named("t"), dropped=True), Appeared(named("t"), complete=False)]
    of_all = roll("t", "_t_new")
    assert told(of_all, swap) == [
        Renamed(named("t"), named("_t_old")),
        Renamed(named("_t_new"), named("t")),
    ]


def test_what_is_no_table_as_far_as_anybody_knows_is_left_to_the_catalogue() -> None:
    made = roll("a")
    stirred = made.reports.wakes
    assert told(made, "RENAME TABLE view TO view2") == []
    assert told(made, "RENAME TABLE IF EXISTS x1 TO b") == []
    assert made.reports.wakes == stirred + 2
    assert picture(made, "a", "b") == [
        Found(shape("a", "id"), frozenset()),
        Appeared(named("b"), complete=False, shape=shape("b", "id")),
    ]


def test_a_picture_of_a_table_that_is_being_changed_is_not_believed() -> None:
    made = roll("a", "b")
    told(made, "DROP TABLE b")
    unsettled = MySqlCatalogueSnapshot(
        made.reports.count, {named("b"): shape("b", "id")}, unsettled=frozenset({named("a"), named("b")})
    )
    assert list(made.picture(unsettled)) == []
    assert named("b") in made.reports.recent(), "it is requested again"
    assert picture(made, "b") == [
        Vanished(named("a")),
        Appeared(named("b"), complete=False, shape=shape("b", "id")),
    ]
    assert set(made.reports.recent()) == {named("a")}


def test_an_alteration_requires_a_refresh_only_if_values_may_differ() -> None:
    made = roll("a")
    stirred = made.reports.wakes
    assert told(made, "ALTER TABLE a ADD COLUMN n int") == [Reshaped(named("a"), refresh=False)]
    assert made.reports.wakes > stirred, "a picture shows the new shape where no row does"
    assert told(made, "ALTER TABLE a ADD COLUMN n int NOT NULL") == [Reshaped(named("a"), refresh=True)]
    assert told(made, "ALTER TABLE a DROP PARTITION p") == [Reshaped(named("a"), refresh=True, void=True)]
    assert told(made, "ALTER TABLE x1 ADD COLUMN n int NOT NULL") == []
    assert told(made, "ALTER TABLE a MODIFY n bigint, RENAME b") == [
        Reshaped(named("a"), refresh=True),
        Renamed(named("a"), named("b")),
    ]


def test_a_truncate_is_at_its_place() -> None:
    made = roll("a")
    assert told(made, "TRUNCATE a") == [TableEmptied(named("a"))]
    assert told(made, "TRUNCATE x1") == []


def test_a_statement_in_place_of_its_rows_stops_the_stream() -> None:
    made = roll("a")
    with pytest.raises(OperatorNeeded) as caught:
        told(made, "UPDATE secrets SET password = 'canary'")
    assert caught.value.code == "mysql.statement_logged"
    assert "UPDATE" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert told(made, "UPDATE mysql.user SET a = 1") == []


def test_only_the_end_of_a_set_aside_table_is_reported() -> None:
    made = roll("a", "b")
    made.tables.aside |= {named("a"), named("b")}
    assert told(made, "TRUNCATE a") == []
    assert told(made, "ALTER TABLE a MODIFY n bigint") == []
    assert told(made, "RENAME TABLE a TO c") == [
        Vanished(named("a"), dropped=True),
        Appeared(named("c"), complete=False),
    ]
    assert told(made, "DROP TABLE b") == [Vanished(named("b"), dropped=True)]
    assert told(made, "CREATE TABLE b (id int)") == []


def test_what_was_listed_is_found_once() -> None:
    made = roll("a")
    assert picture(made, "a", "x1") == [Found(shape("a", "id"), frozenset())]
    assert picture(made, "a", "x1") == []


def test_a_picture_shows_what_the_log_left_out() -> None:
    made = roll("a", "b")
    picture(made, "a", "b")
    steps = picture(made, "a", "c")
    assert steps == [Vanished(named("b")), Appeared(named("c"), complete=False, shape=shape("c", "id"))]
    altered = MySqlCatalogueSnapshot(
        made.reports.count, {named("a"): shape("a", "id", "n"), named("c"): None}
    )
    assert list(made.picture(altered)) == [Reshaped(named("a"), refresh=False, shape=shape("a", "id", "n"))]


def test_a_change_logged_meanwhile_is_newer_than_a_picture() -> None:
    made = roll("a", "b", "c")
    begun = made.reports.count
    told(made, "DROP TABLE a")
    told(made, "CREATE TABLE n (id int)")
    told(made, "RENAME TABLE b TO m")
    assert picture(made, "a", "b", "c", begun=begun) == [Found(shape("c", "id"), frozenset())]
    assert picture(made, "c", "m", "n") == [
        Reshaped(named("m"), refresh=False, shape=shape("m", "id")),
        Reshaped(named("n"), refresh=False, shape=shape("n", "id")),
    ]
    begun = made.reports.count
    told(made, "DROP DATABASE d")
    assert picture(made, "c", "m", "other", begun=begun) == [], "all of the database is gone"


def test_a_row_of_an_unknown_table_makes_the_table_appear() -> None:
    made = roll("a")
    assert made.met(named("a"), shape("a", "id")) == []
    assert made.met(named("b"), shape("b", "id")) == [
        Appeared(named("b"), complete=False, shape=shape("b", "id"))
    ]
    assert made.met(named("b"), shape("b", "id", "n")) == []


class World:
    """The server's tables, each with a number for what it holds, and the copy that the steps make of them."""

    def __init__(self, there: Iterable[str]) -> None:
        self._numbers = itertools.count()
        self.tables = {name: next(self._numbers) for name in there}
        self.copy = {name: number for name, number in self.tables.items() if captures(named(name))}
        self.roll = roll(*self.copy)
        self.fresh: set[str] = set()  # made by the statement that runs

    def run(self, kind: str, one: str, two: str, *, logged: bool = True) -> None:
        """Run a statement if the server would, and apply what the log reports."""
        self.fresh.clear()
        text = self._statement(kind, one, two)
        if text and logged:
            self.take(told(self.roll, text))

    def _statement(self, kind: str, one: str, two: str) -> str:
        there, made = one in self.tables, f"TABLE {one} (id int)"
        texts = {
            "perhaps": f"CREATE TABLE IF NOT EXISTS {one} (id int)",
            "replace": f"CREATE OR REPLACE {made}",
            "create": "" if there else f"CREATE {made}",
            "drop": f"DROP TABLE {one}" if there else "",
            "alter": f"ALTER TABLE {one} MODIFY c int" if there else "",
            "rename": f"RENAME TABLE {one} TO {two}" if there and two not in self.tables else "",
            "swap": f"RENAME TABLE {one} TO temporary, {two} TO {one}, temporary TO {two}"
            if there and two in self.tables and one != two
            else "",
        }
        if texts[kind]:
            self._do(kind, one, two)
        return texts[kind]

    def _do(self, kind: str, one: str, two: str) -> None:
        tables = self.tables
        if kind in {"create", "replace"} or (kind == "perhaps" and one not in tables):
            self._make(one)
        elif kind == "drop":
            del tables[one]
        elif kind == "alter":
            tables[one] = next(self._numbers)
        elif kind == "rename":
            tables[two] = tables.pop(one)
        elif kind == "swap":
            tables[one], tables[two] = tables[two], tables[one]

    def _make(self, name: str) -> None:
        self.tables[name] = next(self._numbers)
        self.fresh.add(name)

    def take(self, steps: Iterable[TableStep | Found]) -> None:
        """Do to the copy what its keeper does."""
        read: set[str] = set()
        for step in steps:
            match step:
                case Appeared(table, complete):
                    assert not complete or table.name in self.fresh, "rows would be missing"
                    self.copy[table.name] = -1
                    read.add(table.name)
                case Vanished(table):
                    self.copy.pop(table.name)
                case Renamed(old, new):
                    self.copy.pop(old.name)
                    self.copy[new.name] = -1
                    read.add(new.name)
                case Reshaped(table, refresh):
                    if refresh:
                        read.add(table.name)
        for name in read & self.copy.keys():
            self.copy[name] = self.tables[name]

    @property
    def captured(self) -> dict[str, int]:
        """What the copy should be."""
        return {name: number for name, number in self.tables.items() if captures(named(name))}


OPERATIONS = st.tuples(
    st.sampled_from(["create", "perhaps", "replace", "drop", "alter", "rename", "swap"]),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
)


@given(st.sets(st.sampled_from(NAMES)), st.lists(OPERATIONS, max_size=30))
def test_the_copy_has_what_the_server_has_after_each_statement(
    there: set[str], operations: list[tuple[str, str, str]]
) -> None:
    world = World(there)
    for operation in operations:
        world.run(*operation)
        assert world.copy == world.captured


@given(st.sets(st.sampled_from(NAMES)), st.lists(st.tuples(OPERATIONS, st.booleans()), max_size=30))
def test_a_picture_brings_back_the_tables_of_sessions_that_wrote_no_log(
    there: set[str], operations: list[tuple[tuple[str, str, str], bool]]
) -> None:
    world = World(there)
    for operation, logged in operations:
        if logged or operation[0] in {"create", "drop"}:
            world.run(*operation, logged=logged)
        world.take(picture(world.roll, *world.tables))
        assert world.copy.keys() == world.captured.keys()
