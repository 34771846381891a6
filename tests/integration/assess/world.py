"""A good pipeline of a role with no more rights than it needs, into which a test plants one fault."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psycopg
from confluent_kafka.admin import AdminClient
from psycopg import sql

from tests.fixtures.servers import Database
from tests.integration.mysql.world import run
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.runtime.check.file_check import check_file
from wrackline.control.runtime.check.server_check import check_server
from wrackline.control.runtime.check.target_check import check_target
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.control.runtime.probe.mending import statements_of
from wrackline.control.runtime.probe.pipeline_trials import PipelineTrials
from wrackline.producers.contract.source_plugin import load
from wrackline.producers.contract.trials import Trying
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.redaction import Secret

PASSWORD = "canary'pass 7"
GOOD = (
    "CREATE ROLE {role} LOGIN REPLICATION PASSWORD {password}",
    "CREATE TABLE orders (id int PRIMARY KEY, note text)",
    "INSERT INTO orders SELECT n, repeat('x', 5000) FROM generate_series(1, 20) n",
    "GRANT SELECT ON orders TO {role}",
    "CREATE PUBLICATION {role} FOR TABLE orders WITH (publish_via_partition_root = true)",
)


LATER = """
import sys
from wrackline.producers.contract import trials
trials.LEFT_S = -60  # nothing waits for an hour
from wrackline.control.cli.command_line import main
main(sys.argv[1:])
"""


@dataclass
class AssessWorld:
    """A pipeline's settings, by name, and the servers they name."""

    folder: Path
    given: dict[str, str]
    admin: str  # the URL of an administrator of the source

    def file(self) -> Path:
        """Write the settings as they are now."""
        file = self.folder / "pipeline.toml"
        file.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in self.given.items()))
        return file

    def pipeline(self) -> Pipeline:
        """Return the pipeline, whose settings are good."""
        checked = check_file(self.file(), Installed(), {})
        assert checked.pipeline is not None, checked.findings
        assert not checked.stops, checked.findings
        return checked.pipeline

    def found(self, *parts: str) -> Sequence[Finding]:
        """Return what the check finds, and what these parts find when they are tried."""
        pipeline = self.pipeline()
        looked = check_server(pipeline)
        tried = PipelineTrials(pipeline, pipeline.good())
        for part in parts:
            getattr(tried, f"try_{part}")()
        tried.end()
        return [*looked.findings, *check_target(pipeline, looked.topics), *tried.findings()]

    def ids(self, *parts: str) -> set[str]:
        """Return the ids of what is found."""
        return {one.id for one in self.found(*parts)}

    def mend(self, finding: Finding) -> None:
        """Run the fixes of a finding as the administrator, whether safe or not."""
        assert finding.fixes, finding
        pipeline = self.pipeline()
        source = load(pipeline.source or "").open(pipeline.good(), surroundings())
        assert isinstance(source, Trying)
        try:
            server = source.trying(source.partitions()[0])
            for fix in finding.fixes:
                for statement in statements_of(fix["sql"]):
                    server.mend(Secret(self.admin), statement)
        finally:
            source.close()


def assess_later(world: AssessWorld, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Assess it as it would be done an hour later."""
    command = [sys.executable, "-c", LATER, "assess", str(world.file()), "--probe", "--json"]
    said = subprocess.run(command, capture_output=True, check=False, env=env)
    done: dict[str, Any] = orjson.loads(said.stdout)
    return done


def _toml(value: str) -> str:
    return value if value.isdigit() else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


class PgAssessWorld(AssessWorld):
    """Over PostgreSQL; `names` are ready for SQL."""

    def __init__(
        self, folder: Path, database: Database, kafka: Broker, registry: SchemaRegistry, prefix: str
    ) -> None:
        role = f"r_{prefix}"
        self.database, self.kafka, self.role = database, kafka, role
        given = {
            "name": prefix,
            "topic.prefix": prefix,
            "connector.class": "postgres",
            "database.hostname": "127.0.0.1",
            "database.port": str(database.server.port),
            "database.user": role,
            "database.password": PASSWORD,
            "database.dbname": database.name,
            "database.sslmode": "disable",
            "publication.name": role,
            "table.include.list": r"public\.orders",
            "kafka.bootstrap.servers": kafka.bootstrap,
            "schema.registry.url": registry.url,
        }
        admin = f"postgresql://postgres@127.0.0.1:{database.server.port}/{database.name}"
        super().__init__(folder, given, admin)
        self.sql = psycopg.connect(database.dsn, autocommit=True)
        for statement in GOOD:
            self.run(statement)

    def run(self, *statements: str) -> None:
        """Run as a superuser; `{role}` and `{password}` stand for the pipeline's."""
        for statement in statements:
            filled = sql.SQL(statement).format(
                role=sql.Identifier(self.role),
                password=sql.Literal(PASSWORD),
                database=sql.Identifier(self.database.name),
            )
            self.sql.execute(filled)

    def close(self) -> None:
        """Drop the role, after its sessions."""
        self.sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [self.role]
        )
        self.run("DROP OWNED BY {role}", "DROP ROLE {role}")
        self.sql.close()

    def slots(self) -> list[object]:
        """Return the slots of the database."""
        asked = "SELECT slot_name FROM pg_replication_slots WHERE database = %s"
        return [name for (name,) in self.sql.execute(asked, [self.database.name])]

    def topics(self) -> set[str]:
        """Return the trials' topics that exist."""
        listed = AdminClient({"bootstrap.servers": self.kafka.bootstrap}).list_topics(timeout=30).topics
        return {topic for topic in listed if self.given["name"] in topic}


class WithTarget:
    """Gives a pipeline a target, and looks at the trial's tables in it."""

    def __init__(self, world: PgAssessWorld, kind: str, warehouse: Path) -> None:
        self._world, self._kind, self._warehouse = world, kind, warehouse
        world.given["target.kind"] = kind
        if kind == "postgres":
            world.run("GRANT CREATE ON DATABASE {database} TO {role}")
            world.given |= {
                "target.hostname": "127.0.0.1",
                "target.port": world.given["database.port"],
                "target.user": world.role,
                "target.password": PASSWORD,
                "target.dbname": world.database.name,
                "target.sslmode": "disable",
                "target.schema": "copy",
            }
        else:
            world.given["target.warehouse"] = str(warehouse)

    def tables(self) -> list[str]:
        """Return the names of the trial's tables that exist."""
        if self._kind == "postgres":
            asked = (
                "SELECT relname::text FROM pg_class WHERE relname LIKE '%wrackline_trial%' AND relkind = 'r'"
            )
            return [str(name) for (name,) in self._world.sql.execute(asked.encode())]
        found = self._warehouse.rglob("*wrackline_trial*")
        return sorted({one.name for one in found if one.is_dir()})


BINLOGGED = (
    "DROP DATABASE IF EXISTS assessed",
    "CREATE DATABASE assessed",
    "CREATE TABLE assessed.orders (id int PRIMARY KEY, note text)",
    "INSERT INTO assessed.orders VALUES (1, 'x')",
    "CREATE TABLE assessed.signals (id varchar(80) PRIMARY KEY, type varchar(32) NOT NULL, data text)",
    "DROP USER IF EXISTS assessed",
    "CREATE USER assessed IDENTIFIED BY 'canary''pass 7'",
    "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO assessed",
    "GRANT SELECT, INSERT, UPDATE ON assessed.orders TO assessed",
    "GRANT SELECT, INSERT, DELETE ON assessed.signals TO assessed",
)
KEPT = {
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "binlog_expire_logs_seconds": "2592000",
}


@contextmanager
def mysql_world(
    folder: Path, server: MysqlServer, kafka: Broker, registry: SchemaRegistry, kind: str
) -> Iterator[tuple[AssessWorld, MysqlServer]]:
    """A good pipeline over MySQL or MariaDB; the server is as it was when the block is left."""
    run(server, *BINLOGGED)
    admin = f"mysql://{server.user}@{server.host}:{server.port}"
    try:
        yield AssessWorld(folder, _mysql_given(server, kafka, registry, kind), admin), server
    finally:
        reset = (f"SET GLOBAL {name} = {value}" for name, value in KEPT.items())
        run(server, *reset, "DROP USER assessed", "DROP DATABASE assessed")
        if kind == "mysql":
            run(server, "RESET PERSIST")


def _mysql_given(server: MysqlServer, kafka: Broker, registry: SchemaRegistry, kind: str) -> dict[str, str]:
    """Return the settings of a good pipeline over MySQL or MariaDB."""
    return {
        "name": "shop",
        "topic.prefix": "shop",
        "connector.class": kind,
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": "assessed",
        "database.password": PASSWORD,
        "database.ssl.mode": "disabled",
        "database.allowPublicKeyRetrieval": "true",
        "table.include.list": r"assessed\.orders",
        "signal.data.collection": "assessed.signals",
        "incremental.snapshot.watermarking.strategy": "insert_insert",
        "kafka.bootstrap.servers": kafka.bootstrap,
        "schema.registry.url": registry.url,
    }
