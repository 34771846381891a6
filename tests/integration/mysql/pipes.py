"""`wrackline` as real processes over databases of one server, and what stands in Kafka of them."""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import orjson
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.fixtures.prepared import Forked, run_command
from tests.integration.mysql.world import root
from tests.integration.running.world import Running, committed, environment
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.producers.sources.mysql.connect.quoting import identifier
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.tables.table import TableId

FILE = """
name = "{prefix}"
topic.prefix = "{prefix}"
metrics.port = 0
[source]
connector.class = "{kind}"
snapshot.mode = "{mode}"
database.hostname = "{host}"
database.port = {port}
database.user = "{user}"
database.ssl.mode = "disabled"
database.include.list = '{databases}'
{more}
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""


class Event(NamedTuple):
    """One record of a table's topic; `columns` are the cells of `after` by their columns' identities."""

    key: bytes | None
    op: str
    seq: str
    value: dict[str, Any]
    columns: dict[int, Any]
    names: dict[str, int]


@dataclass
class Pipe:
    """Databases of the test's own and one pipeline over them."""

    folder: Path
    kind: str
    server: MysqlServer
    kafka: Broker
    registry: SchemaRegistry
    prefix: str
    names: Sequence[str] = ("a", "b")
    mode: str = "no_data"
    more: str = ""
    started: list[Running] = field(default_factory=list)
    shapes: dict[int, Any] = field(default_factory=dict)  # the registry's, which never change

    def __post_init__(self) -> None:
        self.databases = [f"{self.prefix}_{name}" for name in self.names]
        self.sql = root(self.server)
        for database in self.databases:
            self.execute(f"CREATE DATABASE {identifier(database)} CHARACTER SET utf8mb4")
        self.file = self.folder / "pipeline.toml"
        self.file.write_text(
            FILE.format(
                prefix=self.prefix,
                kind=self.kind,
                mode=self.mode,
                host=self.server.host,
                port=self.server.port,
                user=self.server.user,
                databases=",".join(map(re.escape, self.databases)),
                more=self.more,
                brokers=self.kafka.bootstrap,
                registry=self.registry.url,
            )
        )

    def execute(self, statement: str, *given: object) -> list[tuple[Any, ...]]:
        """Run a statement as root."""
        with self.sql.cursor() as cursor:
            cursor.execute(statement, given or None)
            return list(cursor.fetchall())

    def run(self) -> Running:
        """Start `wrackline run` and wait until it runs."""
        printed = self.folder / f"printed-{len(self.started)}"
        with printed.open("wb") as out:
            command = ["run", "--text", str(self.file)]
            process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=environment())
        self.started.append(Running(process, printed))
        self.started[-1].says("running\n")
        return self.started[-1]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another `wrackline` command on the file, which stands behind the command's own words."""
        words = 1 if arguments[0] in {"check", "doctor", "delete", "status"} else 2
        command = [*arguments[:words], str(self.file), *arguments[words:]]
        return run_command(command, env=environment())

    def offsets(self, *arguments: str) -> Any:
        """Run `wrackline offsets … --json`, which must succeed."""
        done = self.command("offsets", *arguments, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def records(self, database: str, table: str) -> list[tuple[bytes | None, bytes | None]]:
        """What Kafka has of a table."""
        return committed(self.kafka.bootstrap, self.topic(database, table))

    def topic(self, database: str, table: str) -> str:
        """The topic of a table: the database's name stands in it twice."""
        return table_topic(self.prefix, TableId(database, database, table), Naming.WRACKLINE)

    def events(self, database: str, table: str) -> list[Event]:
        """What Kafka has of a table, but for tombstones."""
        return self._events(self.records(database, table))

    def schema_changes(self) -> list[tuple[str, str, str | None]]:
        """Each record of the schema change topic: kind, table, and the statement where it is said."""
        found = []
        for event in self._events(committed(self.kafka.bootstrap, self.prefix)):
            (change,) = event.value["tableChanges"]
            found.append((change["type"], change["id"].rpartition(".")[2].strip('"'), event.value["ddl"]))
        return found

    def folded(self, database: str, table: str) -> list[tuple[Any, ...]]:
        """The copy that a reader of each key's newest event makes of a topic, in the last shape; sorted."""
        events = self.events(database, table)
        floor = max((event.seq for event in events if event.op == "t"), default="")
        newest: dict[bytes | None, Event] = {}
        for event in events:
            if event.op != "t" and event.seq >= floor:
                held = newest.get(event.key)
                if held is None or held.seq <= event.seq:
                    newest[event.key] = event
        columns = [] if not events else list(events[-1].names.values())
        rows = [
            tuple(event.columns.get(number) for number in columns)
            for event in newest.values()
            if event.op != "d"
        ]
        return sorted(rows, key=repr)

    def table(self, database: str, table: str) -> list[tuple[Any, ...]]:
        """The table itself; sorted."""
        named = f"{identifier(database)}.{identifier(table)}"
        return sorted(self.execute(f"SELECT * FROM {named}"), key=repr)

    def difference(self, database: str, table: str) -> str:
        """What only the copy has, and what only the table: a few rows of each."""
        copy, table_now = set(self.folded(database, table)), set(self.table(database, table))
        only_copy, only_table = copy - table_now, table_now - copy
        return (
            f"{len(only_copy)} rows only in the copy, {sorted(only_copy, key=repr)[:5]};"
            f" {len(only_table)} only in the table, {sorted(only_table, key=repr)[:5]}"
        )

    def close(self) -> None:
        """End what was started."""
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        for database in self.databases:
            self.execute(f"DROP DATABASE IF EXISTS {identifier(database)}")
        self.sql.close()

    def _events(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> list[Event]:
        found = []
        with SchemaRegistryClient({"url": self.registry.url}) as registry:
            for key, value in records:
                if value is None:
                    continue
                number = int.from_bytes(value[1:5], "big")
                if number not in self.shapes:
                    self.shapes[number] = orjson.loads(registry.get_schema(number).schema_str or "")
                read: Any = fastavro.schemaless_reader(BytesIO(value[5:]), self.shapes[number], None)
                names = _identities(self.shapes[number])
                after = read.get("after") or {}
                columns = {names[name]: cell for name, cell in after.items()}
                found.append(Event(key, read.get("op", ""), read.get("seq", ""), read, columns, names))
        return found


def _identities(envelope: Any) -> dict[str, int]:
    """The columns of an envelope's rows, in their order, and the numbers that outlive their names."""
    for outer in envelope["fields"]:
        if outer["name"] == "before":
            row = next(one for one in outer["type"] if isinstance(one, dict))
            return {column["name"]: column["wrackline.column"] for column in row["fields"]}
    return {}
