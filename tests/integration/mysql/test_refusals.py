"""What servers answer to a login or a request that they refuse: our errors, by who must act on them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.world import FLAVOURS, root, run, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts
from wrackline.producers.sources.mysql.connect.server_errors import translate_errors
from wrackline.producers.sources.mysql.heartbeat import MySqlHeartbeat
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

USER = {
    "database.user": "guest",
    "database.password": "geheim",
    "database.allowPublicKeyRetrieval": "true",
}
ORDERS = TableId("refusals", "refusals", "orders")


@dataclass
class Hotel:
    """A server with a database and a guest without any right."""

    server: MysqlServer

    def refused(self, **more: str) -> WracklineError:
        with pytest.raises(WracklineError) as caught:
            MySqlServer(settings_of(self.server, **(USER | more))).connect()
        return caught.value

    def answer(self, statement: str, **user: str) -> WracklineError:
        """Return what a statement ends with."""
        with MySqlServer(settings_of(self.server, **user)).connect() as connection:
            with pytest.raises(WracklineError) as caught, translate_errors(connection, "try", ORDERS):
                query_dicts(connection, statement)
            return caught.value


@pytest.fixture(params=alternatives(FLAVOURS))
def hotel(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Hotel]:
    made = Hotel(getattr(stack, request.param)())
    run(
        made.server,
        "DROP USER IF EXISTS guest",
        "DROP DATABASE IF EXISTS refusals",
        "CREATE DATABASE refusals",
    )
    run(made.server, "CREATE USER guest IDENTIFIED BY 'geheim'")
    run(made.server, "CREATE TABLE refusals.orders (id int PRIMARY KEY, note varchar(9))")
    run(made.server, "INSERT INTO refusals.orders VALUES (1, 'secret1')")
    yield made
    run(made.server, "DROP USER guest", "DROP DATABASE refusals")


def test_a_rejected_login_is_reported_with_its_repair(hotel: Hotel) -> None:
    assert hotel.refused(**{"database.password": "falsch"}).code == "mysql.login_refused"
    assert hotel.refused(**{"database.user": "nobody"}).code == "mysql.login_refused"
    run(hotel.server, "ALTER USER guest ACCOUNT LOCK")
    locked = hotel.refused()
    assert isinstance(locked, OperatorNeeded)
    assert "ACCOUNT UNLOCK" in locked.hint
    run(hotel.server, "ALTER USER guest ACCOUNT UNLOCK", "ALTER USER guest PASSWORD EXPIRE")
    try:
        expired = hotel.answer("SELECT 1", **USER)  # MariaDB lets in, and answers nothing
    except WracklineError as refused:
        expired = refused
    assert isinstance(expired, OperatorNeeded)
    assert "PASSWORD EXPIRE NEVER" in expired.hint


def test_a_full_server_is_tried_again(hotel: Hotel) -> None:
    run(hotel.server, "ALTER USER guest WITH MAX_USER_CONNECTIONS 1")
    with MySqlServer(settings_of(hotel.server, **USER)).connect():
        full = hotel.refused()
    assert isinstance(full, Transient)
    assert "ALTER USER 'guest'@'%' WITH MAX_USER_CONNECTIONS 0" in full.hint


def test_a_server_that_is_not_reachable_is_tried_again() -> None:
    nowhere = MysqlServer(process=None, port=1)  # type: ignore[arg-type] # never asked
    with pytest.raises(Transient) as caught:
        MySqlServer(settings_of(nowhere)).connect()
    assert caught.value.code == "mysql.unreachable"
    assert "mysql -h 127.0.0.1 -P 1 -u root -p" in caught.value.hint


def test_a_server_that_says_nothing_is_given_up(hotel: Hotel) -> None:
    hotel.server.process.pause()
    try:
        silent = hotel.refused(**{"connect.timeout.ms": "500"})
    finally:
        hotel.server.process.resume()
    assert silent.code == "mysql.unreachable"


@pytest.mark.parametrize(
    ("statement", "code", "kind"),
    [
        ("SELECT * FROM refusals.gone", "mysql.object_missing", OperatorNeeded),
        ("SELECT gone FROM refusals.orders", "mysql.server_lost", Transient),  # altered meanwhile
        ("SELEC 1", "mysql.statement_refused", OperatorNeeded),
        ("SET STATEMENT_OF_NOBODY = 1", "mysql.statement_refused", OperatorNeeded),
    ],
)
def test_a_statement_that_fails(hotel: Hotel, statement: str, code: str, kind: type[WracklineError]) -> None:
    error = hotel.answer(statement)
    assert (error.code, type(error)) == (code, kind)


def test_no_value_of_a_row_is_shown(hotel: Hotel) -> None:
    run(hotel.server, "ALTER TABLE refusals.orders ADD UNIQUE (note)")
    error = hotel.answer("INSERT INTO refusals.orders SELECT 2, note FROM refusals.orders")  # is quoted then
    assert "secret1" not in str(error)
    assert not isinstance(error, Definite)


def test_a_grant_that_is_missing_is_named(hotel: Hotel) -> None:
    error = hotel.answer("SELECT * FROM refusals.orders", **USER)
    assert error.code == "mysql.right_missing"
    assert "GRANT SELECT ON `refusals`.`orders` TO 'guest'" in error.hint


def test_a_read_only_server_is_reported(hotel: Hotel) -> None:
    run(hotel.server, "GRANT INSERT ON refusals.orders TO guest")
    run(hotel.server, "SET GLOBAL read_only = ON")
    try:
        error = hotel.answer("INSERT INTO refusals.orders VALUES (3, 'x')", **USER)
    finally:
        run(hotel.server, "SET GLOBAL read_only = OFF")
    assert (error.code, type(error)) == ("mysql.only_reads", OperatorNeeded)


def test_a_killed_connection_is_closed_and_tried_again(hotel: Hotel) -> None:
    with MySqlServer(settings_of(hotel.server)).connect() as connection:
        number = connection.thread_id()  # type: ignore[no-untyped-call]
        run(hotel.server, f"KILL {number}")
        with pytest.raises(Transient) as caught, translate_errors(connection, "try"):
            query_dicts(connection, "SELECT 1")
        assert caught.value.code == "mysql.server_lost"
        assert not connection.open
        with pytest.raises(Transient), translate_errors(connection, "try again"):
            query_dicts(connection, "SELECT 1")


def test_a_lock_is_waited_for_again(hotel: Hotel) -> None:
    with root(hotel.server) as holder, MySqlServer(settings_of(hotel.server)).connect() as connection:
        query_dicts(holder, "BEGIN")
        query_dicts(holder, "UPDATE refusals.orders SET note = 'x' WHERE id = 1")
        query_dicts(connection, "SET innodb_lock_wait_timeout = 1")
        with pytest.raises(Transient) as caught, translate_errors(connection, "try"):
            query_dicts(connection, "UPDATE refusals.orders SET note = 'y' WHERE id = 1")
        assert connection.open
    assert caught.value.code == "mysql.server_lost"


def test_a_heartbeats_query_runs_and_hides_what_it_says(hotel: Hotel) -> None:
    beats = {
        "heartbeat.interval.ms": "1000",
        "heartbeat.action.query": "UPDATE refusals.orders SET note = concat(note, '.')",
    }
    settings = settings_of(hotel.server, **beats)
    heartbeat = MySqlHeartbeat(MySqlServer(settings), settings)
    heartbeat.beat()
    heartbeat.beat()
    with pytest.raises(OperatorNeeded) as caught:
        heartbeat.beat()  # the column is full
    assert caught.value.code == "mysql.heartbeat_query"
    assert "secret" not in str(caught.value)
    heartbeat.close()
    with root(hotel.server) as connection:
        assert query_dicts(connection, "SELECT note FROM refusals.orders") == [{"note": "secret1.."}]
    forbidden = settings_of(hotel.server, **beats, **{"read.only": "true"})
    with pytest.raises(OperatorNeeded) as caught:
        MySqlHeartbeat(MySqlServer(forbidden), forbidden).beat()
    assert caught.value.code == "mysql.heartbeat_forbidden"


def test_a_session_shows_what_is_stored_whatever_the_server_is_set_to(hotel: Hotel) -> None:
    run(hotel.server, "SET GLOBAL time_zone = '+05:00'")
    try:
        with MySqlServer(settings_of(hotel.server)).connect() as connection:
            [row] = query_dicts(
                connection, "SELECT from_unixtime(0) AS zero, @@sql_mode AS mode, hex('é') AS text"
            )
    finally:
        run(hotel.server, "SET GLOBAL time_zone = 'SYSTEM'")
    assert (str(row["zero"]), row["mode"], row["text"]) == ("1970-01-01 00:00:00", "", "C3A9")
