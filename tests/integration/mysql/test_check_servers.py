"""What the preflight finds that takes a server of its own: left-out databases, small names, replicas."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.world import FLAVOURS, run, settings_of
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import Edge, Surroundings, WriterIds
from wrackline.producers.contract.steps import Rows, Signal, Step
from wrackline.producers.sources.mysql.check.check import check
from wrackline.producers.sources.mysql.connect.connect import MySqlServer
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

EDITIONS = {"mariadb": mariadb.pinned_edition, "mysql": mysql.pinned_mysql}
UNLOGGED = {"mariadb": "--log-slave-updates=OFF", "mysql": "--log-replica-updates=OFF"}
REPLICA = {
    "mariadb": ("CHANGE MASTER TO MASTER_HOST = 'nowhere.example'", "START SLAVE SQL_THREAD"),
    "mysql": ("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'nowhere.example'",),
}
OPTIONS = ("--binlog-do-db=kept", "--binlog-do-db=also", "--lower-case-table-names=1")


@pytest.fixture(scope="module", params=alternatives(FLAVOURS, by="file"))
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[str, MysqlServer]]:
    edition = EDITIONS[request.param]()
    more = (*edition.settings, *OPTIONS, UNLOGGED[request.param])
    initialise = [*edition.initialise, "--lower-case-table-names=1"]
    folder = tmp_path_factory.mktemp("odd")
    made = binlog_server.server(folder, replace(edition, settings=more, initialise=initialise))
    made.process.start()
    run(made, "CREATE DATABASE kept", "CREATE DATABASE lost")
    run(
        made, "CREATE TABLE kept.orders (id int PRIMARY KEY)", "CREATE TABLE lost.Orders (id int PRIMARY KEY)"
    )
    yield request.param, made
    made.process.stop()


def found(server: MysqlServer, *tables: TableId, **more: str) -> list[Finding]:
    settings = settings_of(server, **{"database.include.list": "kept,lost", **more})
    return list(check(MySqlServer(settings), settings, tables))


def test_a_captured_database_that_the_log_leaves_out_is_named(server: tuple[str, MysqlServer]) -> None:
    [finding] = found(server[1])
    assert finding.id == "mysql.log_leaves_out"
    assert "binlog_do_db" in finding.description
    assert "lost" in finding.description
    assert found(server[1], **{"database.include.list": "kept"}) == []
    settings = settings_of(server[1], **{"database.exclude.list": "lost"})
    assert list(check(MySqlServer(settings), settings, [TableId("kept", "kept", "orders")])) == []


def test_a_name_with_capitals_is_answered_with_the_one_that_is_there(server: tuple[str, MysqlServer]) -> None:
    findings = found(server[1], TableId("Kept", "Kept", "Orders"), **{"database.include.list": "kept"})
    assert [one.id for one in findings] == ["mysql.name_case"]
    assert "`kept`.`orders`" in findings[0].suggestion


def test_a_signal_table_in_other_letters_is_the_one_that_is_there(server: tuple[str, MysqlServer]) -> None:
    """Else its rows would be no signals, and be copied in their place."""
    _, made = server
    run(made, "CREATE TABLE kept.Signals (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))")
    marks = {
        "database.include.list": "kept",
        "signal.data.collection": "Kept.Signals",
        "incremental.snapshot.watermarking.strategy": "insert_insert",
    }
    assert found(made, **marks) == []
    around = Surroundings(time.monotonic, lambda: 0, lambda _: WriterIds(1, 2))
    source = PLUGIN.open(settings_of(made, **marks), around)
    [partition] = source.partitions()
    assert source.tables(partition) == [TableId("kept", "kept", "orders")]
    assert [kept.name for kept in source.kept(partition, None)] == ["signal table `kept`.`signals`"]
    stream = source.stream(partition, source.tables(partition), None)
    with closing(source.reader(partition)) as reader:
        mark = reader.marks.set("a", Edge.OPEN)
    steps: list[Step] = []
    end = time.monotonic() + 30
    while not any(mark.passed(step) for step in steps if isinstance(step, Signal)):
        assert time.monotonic() < end
        batch = stream.poll(time.monotonic() + 0.2)
        steps += [] if batch is None else batch.steps
    assert not [step for step in steps if isinstance(step, Rows)]
    source.close()
    run(made, "DROP TABLE kept.Signals")


def test_a_replica_that_does_not_log_is_refused(server: tuple[str, MysqlServer]) -> None:
    flavour, made = server
    run(made, *REPLICA[flavour])
    run(made, "CREATE USER reader IDENTIFIED BY 'geheim'", "GRANT SELECT ON kept.* TO reader")
    more = ", XA_RECOVER_ADMIN" if flavour == "mysql" else ""
    run(made, f"GRANT REPLICATION SLAVE, REPLICATION CLIENT{more} ON *.* TO reader")
    reader = {
        "database.user": "reader",
        "database.password": "geheim",
        "database.allowPublicKeyRetrieval": "true",
    }
    for user in ({}, reader):
        [finding] = found(made, **{"database.include.list": "kept"}, **user)
        assert finding.id == "mysql.replica_unlogged"
        assert "=ON below [mysqld]" in finding.suggestion
