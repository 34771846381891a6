"""Tables that are created, dropped, renamed and altered while a stream runs, and while it does not."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.integration.mysql.shop import Shop, kinds
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.steps import (
    Appeared,
    Fault,
    Found,
    Renamed,
    Reshaped,
    Rows,
    Truncate,
    Vanished,
)
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.sources.mysql import source
from wrackline.testing.sources.reading import row_changes

pytestmark = pytest.mark.servers


@pytest.fixture
def quiet(server: MysqlServer) -> Iterator[Shop]:
    """The shop, whose catalogue is looked at once and then when there is a reason."""
    made = Shop(server)
    made.read_until(lambda steps: any(isinstance(step, Found) for step in steps))
    yield made
    made.close()


@pytest.fixture
def shop(server: MysqlServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """The shop, with a catalogue that is looked at twice a second."""
    monkeypatch.setattr(source, "CataloguePoller", partial(CataloguePoller, every=0.5))
    made = Shop(server)
    made.read_until(lambda steps: any(isinstance(step, Found) for step in steps))
    yield made
    made.close()


def test_statements_report_table_changes_with_their_text(quiet: Shop) -> None:
    shop = quiet
    statements = [
        "CREATE TABLE b (id int PRIMARY KEY, n int)",
        "ALTER TABLE b ADD COLUMN more int",
        "ALTER TABLE b MODIFY n bigint",
        "RENAME TABLE b TO c",
        "DROP TABLE c",
    ]
    shop.run(*statements)
    steps = [step for step in shop.told() if not (isinstance(step, Reshaped) and step.ddl is None)]
    assert kinds(steps) == [
        ("appeared", "b", "complete"),
        ("refresh", "b"),
        ("renamed", "b", "c"),
        ("vanished", "c"),
    ]
    texts = [step.ddl for step in steps if not isinstance(step, Truncate | Fault)]
    assert texts[:4] == statements[:4], "also of what needs nothing"
    assert (texts[4] or "").startswith("DROP TABLE `c`")


def test_a_table_that_is_created_is_known_before_its_first_row(shop: Shop) -> None:
    shop.run("CREATE TABLE b (id int PRIMARY KEY, n int)")
    shop.read_until(lambda steps: any(isinstance(step, Reshaped) for step in steps))
    assert shop.columns("b") == ["id", "n"], "the catalogue shows what no row did"
    shop.run("CREATE TABLE c LIKE b", "INSERT INTO c VALUES (1, 2)")
    steps = shop.all()
    assert kinds(steps) == [("appeared", "c", "complete")]
    assert shop.rows(steps) == [("c", {"id": 1, "n": 2})]


def test_a_table_made_of_a_query_has_its_rows_in_the_log(shop: Shop) -> None:
    shop.run("INSERT INTO a VALUES (1, 'one'), (2, 'two')")
    shop.all()
    shop.run("CREATE TABLE b (PRIMARY KEY (id)) SELECT id, note FROM a")
    steps = shop.all()
    assert kinds(steps) == [("appeared", "b", "complete")]
    assert shop.rows(steps) == [("b", {"id": 1, "note": "one"}), ("b", {"id": 2, "note": "two"})]
    appeared = next(at for at, step in enumerate(steps) if isinstance(step, Appeared))
    assert appeared < next(at for at, step in enumerate(steps) if isinstance(step, Rows))


def test_tables_that_swap_names_go_on_under_each_others(shop: Shop) -> None:
    shop.run("CREATE TABLE b (id int PRIMARY KEY, extra int)")
    shop.told()
    shop.run(
        "RENAME TABLE a TO _old, b TO a", "INSERT INTO a VALUES (7, 8)", "INSERT INTO _old VALUES (9, 'x')"
    )
    steps = shop.all()
    assert kinds(steps) == [("renamed", "a", "_old"), ("renamed", "b", "a")]
    assert shop.rows(steps) == [("a", {"id": 7, "extra": 8}), ("_old", {"id": 9, "note": "x"})]
    shop.run("RENAME TABLE a TO xhidden, _old TO a")
    assert kinds(shop.told()) == [("vanished", "a"), ("renamed", "_old", "a")]


def test_what_is_left_out_comes_in_by_its_name(shop: Shop) -> None:
    shop.run("CREATE TABLE x1 (id int PRIMARY KEY)", "INSERT INTO x1 VALUES (1)")
    assert kinds(shop.told()) == []
    shop.run("RENAME TABLE x1 TO b")
    assert kinds(shop.until(Appeared)) == [("appeared", "b", "to be read")]


def test_a_truncated_table_is_empty_and_a_dropped_database_takes_its_tables(shop: Shop) -> None:
    shop.run("INSERT INTO a VALUES (1, 'one')", "TRUNCATE TABLE a", "INSERT INTO a VALUES (2, 'two')")
    assert kinds(shop.all()) == [("truncate",)]
    shop.run("CREATE TABLE b (id int PRIMARY KEY)")
    shop.all()
    shop.run(f"DROP DATABASE {shop.database}", f"CREATE DATABASE {shop.database}", f"USE {shop.database}")
    shop.run("CREATE TABLE a (id int PRIMARY KEY)")
    came = kinds(shop.told())
    assert sorted(came[:2]) == [("vanished", "a"), ("vanished", "b")]
    assert came[2:] == [("appeared", "a", "complete")]


def test_temporary_tables_and_sequences_are_none(shop: Shop) -> None:
    shop.run("CREATE TEMPORARY TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (1)")
    shop.run("ALTER TABLE b ADD COLUMN n int NOT NULL DEFAULT 1", "DROP TEMPORARY TABLE b")
    shop.run(
        "CREATE TEMPORARY TABLE a (id int PRIMARY KEY)",
        "TRUNCATE TABLE a",
        "ALTER TABLE a ADD n int NOT NULL",
        "ALTER TABLE a RENAME TO b",
        "DROP TABLE b",
    )
    if shop.mariadb:
        shop.run(
            "CREATE TEMPORARY TABLE b (id int)",
            "RENAME TABLE b TO c",  # which is logged as any other
            "DROP TABLE c",
            "CREATE SEQUENCE s CACHE 1",
            "SELECT NEXTVAL(s)",
            "SELECT NEXTVAL(s)",
            "ALTER SEQUENCE s RESTART 5",
        )
        shop.run("SELECT NEXTVAL(s)", "RENAME TABLE s TO s2", "SELECT NEXTVAL(s2)", "DROP SEQUENCE s2")
    shop.run("INSERT INTO a VALUES (3, 'three')")
    steps = shop.all()
    assert kinds(steps) == []
    assert shop.rows(steps) == [("a", {"id": 3, "note": "three"})]


def test_a_wrong_statement_in_the_log_is_repaired_by_the_catalogue(shop: Shop) -> None:
    """MariaDB logs the RENAME of a temporary table as that of the table behind it."""
    if not shop.mariadb:
        return
    shop.run("CREATE TEMPORARY TABLE a (id int)", "RENAME TABLE a TO b", "DROP TABLE b")
    assert kinds(shop.until(Renamed, Vanished, Appeared)) == [
        ("renamed", "a", "b"),
        ("vanished", "b"),
        ("appeared", "a", "to be read"),
    ]


def test_what_a_session_did_without_a_log_is_seen(shop: Shop) -> None:
    """T-M06."""
    shop.run("SET SESSION sql_log_bin = 0", "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (1)")
    assert kinds(shop.until(Appeared)) == [("appeared", "b", "to be read")]
    shop.run("DROP TABLE b")
    assert kinds(shop.until(Vanished)) == [("vanished", "b")]


def test_changes_while_the_stream_was_stopped_are_reported_in_their_order(shop: Shop) -> None:
    shop.run("INSERT INTO a VALUES (1, 'one')")
    shop.all()
    shop.stop()
    shop.run(
        "INSERT INTO a VALUES (2, 'two')", "DROP TABLE a", "CREATE TABLE a (id int PRIMARY KEY, other int)"
    )
    shop.run(
        "INSERT INTO a VALUES (3, 33)", "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (4)"
    )
    shop.run("RENAME TABLE b TO c", "TRUNCATE TABLE c", "INSERT INTO c VALUES (5)")
    shop.source, shop.stream = shop.start()
    steps = shop.all()
    assert shop.rows(steps) == [
        ("a", {"id": 2, "note": "two"}),
        ("a", {"id": 3, "other": 33}),
        ("b", {"id": 4}),
        ("c", {"id": 5}),
    ]
    assert kinds(steps) == [
        ("vanished", "a"),
        ("appeared", "a", "complete"),
        ("appeared", "b", "complete"),
        ("vanished", "c"),  # the caller listed one that is not there yet
        ("renamed", "b", "c"),
        ("truncate",),
    ]
    assert kinds(shop.told()) == [], "a picture has no more to say"


def test_a_restart_reports_nothing_twice(shop: Shop) -> None:
    shop.run("CREATE TABLE b (id int PRIMARY KEY)", "RENAME TABLE a TO c", "INSERT INTO c VALUES (1, 'one')")
    shop.all()
    shop.go_on()
    shop.run("INSERT INTO b VALUES (2)")
    steps = shop.read_until(
        lambda came: sum(isinstance(step, Found) for step in came) == 2 and bool(row_changes(came))
    )
    assert kinds(steps) == []
    assert {step.table.id.name for step in steps if isinstance(step, Found)} == {"b", "c"}
    assert shop.rows(steps) == [("b", {"id": 2})]
