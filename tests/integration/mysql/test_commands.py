"""`wrackline check`, `offsets` and `delete` of a pipeline on each server, while it runs and later."""

from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import Path

import pytest
from pymysql.err import MySQLError

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.pipes import Pipe
from tests.integration.mysql.world import FLAVOURS, root
from tests.integration.running.world import free_port, metric_of, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


@pytest.fixture(params=alternatives(FLAVOURS))
def pipe(
    request: pytest.FixtureRequest,
    stack: Stack,
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[Pipe]:
    """A pipeline with the page's rights over one database, with a signal table."""
    server = getattr(stack, request.param)()
    signals = f'signal.data.collection = "{topic_prefix}_a.signals"'
    made = Pipe(tmp_path, request.param, server, kafka, registry, topic_prefix, ("a",), "initial", signals)
    [database] = made.databases
    made.execute(f"CREATE TABLE {database}.orders (id int PRIMARY KEY)")
    made.execute(
        f"CREATE TABLE {database}.signals (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))"
    )
    made.execute(f"INSERT INTO {database}.orders VALUES (1), (2)")
    user = f"u_{topic_prefix}"
    made.execute(f"CREATE USER {user} IDENTIFIED BY 'geheim'")
    more = ", XA_RECOVER_ADMIN" if made.kind == "mysql" else ""
    made.execute(f"GRANT REPLICATION SLAVE, REPLICATION CLIENT{more} ON *.* TO {user}")
    made.execute(f"GRANT SELECT ON {database}.* TO {user}")
    account = f'"{user}"\ndatabase.password = "geheim"\ndatabase.allowPublicKeyRetrieval = "true"'
    text = made.file.read_text()
    made.file.write_text(text.replace('database.user = "root"', f"database.user = {account}"))
    yield made
    made.execute(f"DROP USER {user}")
    made.close()


def test_the_commands_of_an_operator(pipe: Pipe) -> None:
    [database] = pipe.databases
    checked = pipe.command("check")
    assert (checked.returncode, checked.stdout.strip()) == (Exit.OK, f"{pipe.file}: good")
    running = pipe.run()
    wait_until(lambda: len(pipe.records(database, "orders")) == 2)
    checked = pipe.command("check")  # now with a position in the log, which a worker reads on from
    assert (checked.returncode, checked.stdout.strip()) == (Exit.OK, f"{pipe.file}: good")
    # MariaDB does not show this account the readers
    for command in (("offsets", "reset"), ("delete", "--yes")):
        refused = pipe.command(*command)
        expected = "task_runs" if pipe.kind == "mysql" else "task_may_run"
        assert f"[{command[0]}.{expected}]" in refused.stderr
    assert running.stop() == Exit.OK
    shown = pipe.command("offsets", "show").stdout
    assert "binlog.0" in shown
    assert f"{database}.{database}.orders  streaming" in shown
    grant = f"GRANT REPLICATION MASTER ADMIN ON *.* TO u_{pipe.prefix}"
    if pipe.kind == "mariadb":
        pipe.execute(grant)
    reset = pipe.command("offsets", "reset")
    assert reset.returncode == Exit.OK, reset.stderr
    assert "the end of the log (epoch 2)" in reset.stdout
    deleted = pipe.command("delete", "--yes")
    assert deleted.returncode == Exit.OK, deleted.stderr
    assert f"DROP TABLE `{database}`.`signals`" in deleted.stdout
    assert f"DROP USER 'u_{pipe.prefix}'@'%'" in deleted.stdout
    assert "nothing is stored" in pipe.command("offsets", "show").stdout
    assert pipe.execute(f"SELECT COUNT(*) FROM {database}.signals") == [(0,)]


@pytest.mark.full
def test_the_figures_say_how_far_the_log_is_ahead_and_when_it_is_dropped(pipe: Pipe) -> None:
    [database] = pipe.databases
    port = free_port()
    pipe.file.write_text(pipe.file.read_text().replace("metrics.port = 0", f"metrics.port = {port}"))
    [(kept,)] = pipe.execute("SELECT @@global.binlog_expire_logs_seconds")
    pipe.execute("SET GLOBAL binlog_expire_logs_seconds = 86400")

    def metric(name: str) -> float:
        return metric_of(port, f"wrackline_{name}")

    running = pipe.run()
    with root(pipe.server, database=database) as session, session.cursor() as cursor:
        try:
            wait_until(lambda: metric("lag_bytes") == 0 < metric("position_bytes"))
            assert (metric("slot_seconds_until_lost"), metric("log_kept_seconds")) == (inf, 86400)
            wait_until(lambda: "binlog: 0 B behind" in pipe.command("status").stdout)
            cursor.execute(f"XA START '{pipe.prefix}'")
            cursor.execute("INSERT INTO orders VALUES (3)")
            cursor.execute(f"XA END '{pipe.prefix}'")
            cursor.execute(f"XA PREPARE '{pipe.prefix}'")
            pipe.execute("FLUSH BINARY LOGS")
            pipe.execute(f"INSERT INTO {database}.orders VALUES (4)")
            wait_until(lambda: 0 < metric("slot_seconds_until_lost") <= 86400)
            wait_until(lambda: "what is not read is lost in 24 h" in pipe.command("status").stdout)
            cursor.execute(f"XA COMMIT '{pipe.prefix}'")
            wait_until(lambda: metric("slot_seconds_until_lost") == inf)
        finally:
            with suppress(MySQLError):  # a transaction that is left prepared holds the table for ever
                cursor.execute(f"XA ROLLBACK '{pipe.prefix}'")
            pipe.execute(f"SET GLOBAL binlog_expire_logs_seconds = {kept}")
    assert running.stop() == Exit.OK
