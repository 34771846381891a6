"""Each planted fault is found by its id before a start, and is gone once it is mended as the finding says."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
import requests
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.fixtures.cut_proxy import CutProxy, Way
from tests.integration.assess.world import AssessWorld, PgAssessWorld, mysql_world
from tests.integration.mysql.world import rows_of, run
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.probe import pipeline_trials
from wrackline.schemas.language.findings import Finding, Severity

pytestmark = pytest.mark.servers

SQL: Final = "the fixes, run as an administrator"
HINT: Final = "the SQL that the hint prints behind its first colon"


@dataclass(frozen=True)
class Fault:
    """What is planted, what finds it, and what mends it."""

    id: str
    plant: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)  # wrong ones; the mend takes them back
    part: str = "source"  # what is tried
    mend: str = SQL

    def __str__(self) -> str:
        return self.id


POSTGRES = (
    Fault("pg.select_missing", ("REVOKE SELECT ON orders FROM {role}",)),
    Fault("pg.usage_missing", ("REVOKE USAGE ON SCHEMA public FROM PUBLIC",)),
    Fault("pg.replication_refused", ("ALTER ROLE {role} NOREPLICATION",)),
    Fault("pg.publication_forbidden", ("DROP PUBLICATION {role}",)),
    Fault("pg.publication_lacks", ("ALTER PUBLICATION {role} DROP TABLE orders",)),
    Fault("pg.publication_skips", ("ALTER PUBLICATION {role} SET (publish = 'insert')",)),
    Fault(
        "pg.row_security",
        ("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "CREATE POLICY one ON orders USING (id = 1)"),
    ),
    Fault("pg.identity_nothing", ("ALTER TABLE orders REPLICA IDENTITY NOTHING",)),
    Fault("pg.unlogged", ("ALTER PUBLICATION {role} DROP TABLE orders", "ALTER TABLE orders SET UNLOGGED")),
    Fault("pg.connections_full", ("ALTER ROLE {role} CONNECTION LIMIT 1",), mend=HINT),
    Fault("pg.no_tables", settings={"table.include.list": r"public\.ordres"}),
    Fault("pg.tls_refused", settings={"database.sslmode": "require"}),
    Fault("pg.login_refused", settings={"database.user": "nobody_of_this_name"}),
    Fault("kafka.replicas_few", settings={"topic.creation.default.min.insync.replicas": "2"}, part="kafka"),
    Fault("registry.unreachable", settings={"schema.registry.url": "http://127.0.0.1:1"}, part="registry"),
    Fault("pg_target.read_only", ("ALTER ROLE {role} SET default_transaction_read_only = on",), mend=HINT),
    Fault("pg_target.no_create", ("REVOKE CREATE ON DATABASE {database} FROM {role}",), mend=HINT),
)
GATE = {"pg.select_missing", "pg.replication_refused", "pg.publication_forbidden"}
TARGET = {"target.kind": "postgres", "target.hostname": "127.0.0.1", "target.sslmode": "disable"}


MARKED = [pytest.param(one, marks=() if one.id in GATE else pytest.mark.full) for one in POSTGRES]


@pytest.mark.parametrize("fault", MARKED, ids=str)
def test_a_fault_is_found_before_a_start_and_gone_once_it_is_mended(
    world: PgAssessWorld, fault: Fault
) -> None:
    good = dict(world.given)
    if fault.id.startswith("pg_target."):
        world.run("GRANT CREATE ON DATABASE {database} TO {role}")
        good |= TARGET | {
            "target.port": good["database.port"],
            "target.user": world.role,
            "target.password": good["database.password"],
            "target.dbname": world.database.name,
            "target.schema": "copy",
        }
    world.run(*fault.plant)
    world.given = good | fault.settings
    mend(world, fault, world.found(fault.part), good, world.run)
    assert fault.id not in world.ids(fault.part)


def mend(
    world: AssessWorld,
    fault: Fault,
    found: Iterable[Finding],
    good: dict[str, str],
    run_sql: Callable[[str], None],
) -> None:
    """Do what the finding says."""
    found = list(found)
    finding = next((one for one in found if one.id == fault.id), None)
    assert finding is not None, [one.id for one in found]
    world.given = dict(good)
    if fault.settings:
        return
    if fault.mend is SQL:
        world.mend(finding)
    else:
        printed = finding.suggestion
        run_sql(printed[min(at for word in ("ALTER", "GRANT") if (at := printed.find(word)) >= 0) :])


class QueriesAlone(CutProxy):
    """A pooler that carries queries, and not the log: it keeps what a stream of the log sends."""

    def __init__(self, upstream: int) -> None:
        super().__init__(upstream)
        self._streams: set[int] = set()
        self._found = threading.Lock()

    def parts(self, link: object, way: Way, piece: bytes) -> Iterable[bytes]:
        with self._found:
            if way is Way.UP and b"START_REPLICATION" in piece:
                self._streams.add(id(link))
            return [] if way is Way.DOWN and id(link) in self._streams else [piece]


@pytest.mark.full
def test_a_proxy_that_keeps_the_log_to_itself_is_found(world: PgAssessWorld) -> None:
    """It waits for as long as a server may be silent."""
    with QueriesAlone(world.database.server.port) as proxy:
        direct = world.given["database.port"]
        world.given["database.port"] = str(proxy.port)
        assert world.ids("source") & {"pg.log_unseen", "pg.log_ended"}
        world.given["database.port"] = direct
    assert not world.ids("source") & {"pg.log_unseen", "pg.log_ended"}


@contextmanager
def read_alone(registry: str) -> Iterator[str]:
    """Stand before a registry, and let nothing be written there, as a role that may only read."""

    class Reads(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with requests.get(f"{registry}{self.path}", timeout=60) as answer:
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_error(403)

        do_PUT = do_DELETE = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Reads) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.full
def test_a_registry_that_only_reads_is_found(world: PgAssessWorld) -> None:
    direct = world.given["schema.registry.url"]
    with read_alone(direct) as url:
        world.given["schema.registry.url"] = url
        assert "registry.denied" in world.ids("registry")
    world.given["schema.registry.url"] = direct
    assert "registry.denied" not in world.ids("registry")


def test_a_good_pipeline_has_no_error_and_no_warning_of_a_trial(world: PgAssessWorld) -> None:
    found = world.found("source", "kafka", "registry")
    assert {one.id for one in found if one.severity is not Severity.INFO} == {"pg.slot_keep_unlimited"}


@pytest.mark.full
def test_a_clock_that_is_off_is_found(world: PgAssessWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(pipeline_trials, "now_ms", lambda: now_ms() - 60_000)
        [found] = (one for one in world.found("source") if one.id == "assess.clock_off")
    assert "the source's server is" in found.description
    assert "ahead of" in found.description
    assert "assess.clock_off" not in world.ids("source")


@pytest.mark.full
def test_log_that_is_not_kept_for_as_long_as_the_first_read_takes_is_found(world: PgAssessWorld) -> None:
    """The catalogue says that the table is huge; the server keeps almost no log."""
    world.run(
        "INSERT INTO orders SELECT n, 'x' FROM generate_series(21, 20000) n",
        "UPDATE pg_class SET reltuples = 1e12 WHERE oid = 'orders'::regclass",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'",
        "SELECT pg_reload_conf()",
    )
    try:
        [found] = (one for one in world.found("source") if one.id == "forecast.log_kept")
        assert f"{world.database.name}.public.orders" in found.suggestion
        world.mend(found)
        assert "forecast.log_kept" not in world.ids("source")
    finally:
        world.run("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


@pytest.mark.full
def test_a_topic_that_takes_no_record_as_large_as_a_row_is_found(world: PgAssessWorld) -> None:
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    topic = f"{world.given['topic.prefix']}.{world.database.name}.public.orders"
    made = NewTopic(topic, 1, config={"max.message.bytes": "2000"})
    admin.create_topics([made])[topic].result(30)
    [found] = (one for one in world.found("source", "kafka") if one.id == "kafka.message_limit_small")
    assert topic in found.description
    more = found.suggestion.rpartition("max.message.bytes=")[2]
    entry = ConfigEntry("max.message.bytes", more, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(30)
    assert "kafka.message_limit_small" not in world.ids("source", "kafka")
    admin.delete_topics([topic])[topic].result(30)


MYSQL = (
    Fault("mysql.binlog_format", ("SET GLOBAL binlog_format = STATEMENT",)),
    Fault("mysql.binlog_row_image", ("SET GLOBAL binlog_row_image = MINIMAL",)),
    Fault("mysql.row_image", ("SET GLOBAL binlog_row_image = MINIMAL",), mend="mysql.binlog_row_image"),
    Fault("mysql.binlog_row_metadata", ("SET GLOBAL binlog_row_metadata = MINIMAL",)),
    Fault(
        "mysql.metadata_minimal",
        ("SET GLOBAL binlog_row_metadata = MINIMAL",),
        mend="mysql.binlog_row_metadata",
    ),
    Fault("mysql.retention_short", ("SET GLOBAL binlog_expire_logs_seconds = 7200",)),
    Fault("mysql.replication_slave_missing", ("REVOKE REPLICATION SLAVE ON *.* FROM assessed",)),
    Fault("mysql.replication_client_missing", ("REVOKE REPLICATION CLIENT ON *.* FROM assessed",)),
    Fault("mysql.select_missing", ("REVOKE SELECT ON assessed.orders FROM assessed",)),
    Fault("mysql.signal_table_unwritable", ("DROP TABLE assessed.signals",)),
    Fault("mysql.server_id_same", settings={"database.server.id": "{server_id}"}),
)
Binlogged = tuple[AssessWorld, MysqlServer]


@pytest.fixture(params=["mysql", "mariadb"])
def binlogged(
    request: pytest.FixtureRequest, tmp_path: Path, stack: Stack, kafka: Broker, registry: SchemaRegistry
) -> Iterator[Binlogged]:
    """A good pipeline over MySQL or MariaDB."""
    server = getattr(stack, request.param)()
    with mysql_world(tmp_path, server, kafka, registry, request.param) as made:
        yield made


@pytest.mark.full
@pytest.mark.parametrize("fault", MYSQL, ids=str)
def test_a_fault_of_a_binlog_is_found_before_a_start_and_gone_once_it_is_mended(
    binlogged: Binlogged, fault: Fault
) -> None:
    world, server = binlogged
    good = dict(world.given)
    run(server, *fault.plant)
    [(own,)] = rows_of(server, "SELECT @@server_id")
    world.given = good | {name: value.format(server_id=own) for name, value in fault.settings.items()}
    found = world.found("source")
    by = fault.id if fault.mend in (SQL, HINT) else fault.mend
    assert {fault.id, by} <= {one.id for one in found}
    mend(world, Fault(by, settings=fault.settings), found, good, lambda _: None)
    assert fault.id not in world.ids("source")
