"""`wrackline delete` on real servers: what goes, what stays, in which order, and what a crash leaves."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined] # it offers it
from psycopg import sql

from tests.fixtures.prepared import run_command
from tests.fixtures.servers import Database
from tests.fixtures.warm_spark import run_with_java
from tests.integration.running.world import CANARY, World, environment, wait_until
from tests.integration.targets.postgres.world import PostgresWorld
from wrackline.consumers.contract.letters import NAME
from wrackline.consumers.contract.target import Dropping
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.services.deletion import delete_planned
from wrackline.control.runtime.services.deletion_plan import DeletionRequest, open_parts, plan_deletion
from wrackline.producers.kafka import topic_deletion
from wrackline.producers.kafka.failures import UNREACHABLE
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.drop_suite import dropping
from wrackline.testing.targets.target_suite import TABLE, A, change, letter, plan_for, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.integration.targets.spark_world import SparkWorld

pytestmark = pytest.mark.servers


def topics(world: World) -> set[str]:
    """The topics of the pipeline, whatever they are for."""
    known = AdminClient({"bootstrap.servers": world.kafka.bootstrap}).list_topics(timeout=30).topics
    return {topic for topic in known if world.prefix in topic}


def slots(world: World) -> list[str]:
    rows = world.sql.execute(
        "SELECT slot_name FROM pg_replication_slots WHERE database = %s AND NOT temporary ORDER BY 1",
        [world.database.name],
    )
    return [str(slot) for (slot,) in rows]


def publications(world: World) -> list[str]:
    return [str(name) for (name,) in world.sql.execute("SELECT pubname FROM pg_publication ORDER BY 1")]


def ran(world: World) -> None:
    """Let the pipeline run once, and stop it."""
    running = world.run()
    world.insert(1, 2)
    world.arrived(2)
    assert running.stop() == Exit.OK
    wait_until(
        lambda: world.sql.execute("SELECT 1 FROM pg_replication_slots WHERE active").fetchone() is None
    )


def deleted(world: World, *arguments: str) -> Any:
    """Delete, which must succeed."""
    done = command(world, "--yes", "--json", *arguments)
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert CANARY not in done.stdout + done.stderr
    return json.loads(done.stdout)


def command(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it where nobody can be asked."""
    words = ["delete", str(world.file), *arguments]
    run = run_with_java if "[spark]" in world.file.read_text() else run_command
    return run(words, env=environment(), stdin=subprocess.DEVNULL)


def test_it_removes_what_the_pipeline_created_names_the_rest_and_then_finds_nothing(
    world: World,
) -> None:
    ran(world)
    before = topics(world)
    looked = command(world, "--dry-run")
    assert looked.returncode == Exit.OK, looked.stderr
    assert f"to remove: replication slot {world.slot} (keeps " in looked.stdout
    assert f'to remove: publication "{world.prefix}"' in looked.stdout
    assert "--topics removes them" in looked.stdout
    assert command(world).returncode == Exit.USAGE  # nobody can be asked
    assert (slots(world), publications(world), topics(world)) == ([world.slot], [world.prefix], before)

    told = deleted(world)
    assert told["removed"] == told["found"]
    assert told["removed"][:2] == [f"replication slot {world.slot}", f'publication "{world.prefix}"']
    assert told["removed"][-1] == f"topic {world.group}-offsets"
    assert (slots(world), publications(world)) == ([], [])
    assert topics(world) == {topic for topic in before if not topic.startswith(world.group)}
    assert world.topic in topics(world)

    again = deleted(world)
    assert (again["found"], again["removed"]) == ([], [])
    late = deleted(world, "--topics")  # nothing shows any more that they are its own
    assert late["removed"] == []
    assert any(world.topic in left["name"] for left in late["left"])
    assert "nothing of" in command(world, "--topics", "--yes").stdout
    assert world.file.exists()


def test_a_file_with_another_pipelines_names_removes_nothing_of_it(world: World) -> None:
    ran(world)
    before = topics(world)
    text = world.file.read_text()
    world.file.write_text(text.replace(f'\nname = "{world.prefix}"', f'\nname = "other-{world.prefix}"'))
    assert deleted(world, "--topics")["removed"] == []
    assert (slots(world), publications(world), topics(world)) == ([world.slot], [world.prefix], before)


@pytest.mark.full
def test_without_its_source_the_rest_is_deleted_once_nothing_was_written_for_a_while(world: World) -> None:
    ran(world)
    world.file.write_text(world.file.read_text().replace(str(world.database.server.port), "1"))
    assert command(world, "--yes").returncode == Exit.TRANSIENT
    refused = command(world, "--yes", "--without-source")
    assert refused.returncode == Exit.TRANSIENT
    assert "[delete.task_may_run]" in refused.stderr
    (found,) = {world.group + "-offsets"} & topics(world)

    def went() -> bool:
        done = command(world, "--yes", "--topics", "--without-source", "--json")
        return done.returncode == Exit.OK and found in done.stdout

    wait_until(went, look=5)
    assert topics(world) == set()
    assert slots(world) == [world.slot]


def test_it_refuses_while_the_pipeline_runs_and_touches_nothing(world: World) -> None:
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)
    for arguments in (["--yes"], ["--dry-run"], ["--yes", "--topics", "--json"]):
        refused = command(world, *arguments)
        assert refused.returncode == Exit.OPERATOR, refused.stdout
        assert "[delete.task_runs]" in refused.stderr
    world.insert(2, 2)
    world.arrived(2)
    assert running.stop() == Exit.OK
    assert slots(world) == [world.slot]


def test_of_a_pipeline_that_never_ran_nothing_of_the_same_name_goes(world: World) -> None:
    world.sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [world.slot])
    world.sql.execute(sql.SQL("CREATE PUBLICATION {}").format(sql.Identifier(world.prefix)))
    told = deleted(world, "--topics")
    assert told["removed"] == []
    by_hand = [left["by_hand"] for left in told["left"] if left["by_hand"]]
    assert (slots(world), publications(world)) == ([world.slot], [world.prefix])
    for statement in by_hand:
        world.sql.execute(statement)
    assert (slots(world), publications(world)) == ([], [])


@pytest.mark.full
def test_a_slot_of_another_database_or_that_others_read_from_stays(world: World) -> None:
    ran(world)
    world.sql.execute("SELECT pg_drop_replication_slot(%s)", [world.slot])
    with psycopg.connect(world.database.server.dsn, autocommit=True) as elsewhere:
        elsewhere.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [world.slot])
        try:
            (left, *_) = json.loads(command(world, "--dry-run", "--json").stdout)["left"]
            assert f"and database {elsewhere.info.dbname}" in left["why"]
        finally:
            elsewhere.execute("SELECT pg_drop_replication_slot(%s)", [world.slot])
    world.insert(3, 3)
    world.sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [world.slot])
    (left, *_) = json.loads(command(world, "--dry-run", "--json").stdout)["left"]
    assert left["why"] == "another reader has read from it since"
    assert slots(world) == [world.slot]
    assert publications(world) == [world.prefix]


@pytest.mark.full
def test_the_publication_stays_while_another_slot_may_read_from_it(world: World) -> None:
    ran(world)
    world.sql.execute("SELECT pg_create_logical_replication_slot('another', 'pgoutput')")
    told = deleted(world)
    assert slots(world) == ["another"]
    assert publications(world) == [world.prefix]
    assert {left["name"]: left["why"] for left in told["left"]}[f'publication "{world.prefix}"'] == (
        "replication slot another of the database may read from it"
    )
    world.sql.execute("SELECT pg_drop_replication_slot('another')")
    assert deleted(world)["removed"] == [f'publication "{world.prefix}"']


@pytest.mark.full
def test_a_topic_of_the_prefix_that_is_no_table_of_the_pipeline_stays(world: World) -> None:
    ran(world)
    other = f"{world.prefix}.another.public.orders"
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    admin.create_topics([NewTopic(other, 1)])[other].result()
    told = deleted(world, "--topics")
    assert f"topic {world.topic}" in told["removed"]
    assert topics(world) >= {other}
    assert not topics(world) & {world.topic, f"{world.group}-offsets"}
    assert any(other in left["name"] for left in told["left"])


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, at: int) -> Iterator[None]:
    """Let Kafka go away before so many deletions of topics."""
    real, calls = topic_deletion.delete_topics, [0]

    def away(*arguments: Any) -> None:
        calls[0] += 1
        if calls[0] > at:
            raise UNREACHABLE(who="the admin client", seconds=1)
        real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(topic_deletion, "delete_topics", away)
        yield


@pytest.mark.parametrize("at", [0, *(pytest.param(at, marks=pytest.mark.full) for at in (1, 2))])
def test_what_a_crash_cuts_short_is_finished_by_the_same_command(
    world: World, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    ran(world)
    monkeypatch.setenv("WRACKLINE_DB_PASSWORD", CANARY)
    pipeline, wanted = good_pipeline(world.file), DeletionRequest(topics=True)
    with open_parts(pipeline, wanted) as there, dying(monkeypatch, at):
        found = plan_deletion(there, pipeline, wanted)
        with pytest.raises(Transient):
            delete_planned(there, found, lambda _: None)
    assert (slots(world), publications(world)) == ([], [])  # what would keep growing went first
    assert f"{world.group}-offsets" in topics(world)
    world.kafka.process.stop()
    try:
        away = command(world, "--yes", "--topics")
        assert away.returncode == Exit.TRANSIENT, away.stdout
    finally:
        world.kafka.process.start()
    # a broker that has just come back may refuse once more with an error that a later try does not meet
    wait_until(lambda: command(world, "--yes", "--topics").returncode == Exit.OK)
    assert topics(world) == set()


@pytest.mark.full
def test_a_task_that_lives_between_two_connections_creates_nothing_again(world: World) -> None:
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)
    running.process.send_signal(signal.SIGSTOP)  # it is stopped where it stands, and its connection ended
    try:
        world.sql.execute(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s",
            [world.slot],
        )
        wait_until(
            lambda: world.sql.execute("SELECT FROM pg_replication_slots WHERE active").fetchone() is None
        )
        deleted(world)
    finally:
        running.process.send_signal(signal.SIGCONT)
    # it finds its positions' topic gone, or itself superseded
    wait_until(lambda: "[offsets.gone]" in running.output or running.process.poll() is not None)
    assert running.stop() != Exit.OK or "[offsets.gone]" in running.output
    assert (slots(world), publications(world)) == ([], [])


@pytest.fixture
def copy(database: Database) -> Iterator[PostgresWorld]:
    """A target in a database of its own."""
    name = f"{database.name}_copy"
    with psycopg.connect(database.server.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        made = PostgresWorld(database.server.database_dsn(name))
        yield made
        made.target.close()
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_tables_of_the_target_go_only_if_they_are_copies_of_the_pipelines(
    world: World, copy: PostgresWorld
) -> None:
    ran(world)
    server = world.database.server
    world.file.write_text(
        world.file.read_text()
        + f"""[target]
kind = "postgres"
hostname = "127.0.0.1"
port = {server.port}
user = "{world.user}"
password = "${{env:WRACKLINE_DB_PASSWORD}}"
dbname = "{world.database.name}_copy"
sslmode = "disable"
"""
    )
    ours, others = TableId(world.database.name, "public", "orders"), TableId("elsewhere", "public", "others")
    for table in (ours, others):
        put(copy, plan_for(copy, 1, table=replace(TABLE, id=table)), change("c", A, 1, "x"))
    copy.sql("CREATE VIEW theirs AS SELECT * FROM orders")

    assert "--tables removes them" in command(world, "--dry-run").stdout
    refused = command(world, "--yes", "--tables")  # a view of others stands on it
    assert refused.returncode == Exit.OPERATOR, refused.stdout
    assert "[pg_target.dependents]" in refused.stderr
    assert len(copy.visible(ours)) == 1
    assert f"{world.group}-offsets" in topics(world)  # what knows of the table is still there
    copy.sql("DROP VIEW theirs")
    told = deleted(world, "--tables")
    assert f"table {ours} of the target" in told["removed"]
    assert copy.target.held(ours) is None
    assert not copy.visible(ours)
    assert len(copy.visible(others)) == 1
    assert deleted(world, "--tables")["removed"] == []


@pytest.mark.full
def test_a_table_that_is_another_pipelines_copy_stays(world: World, copy: PostgresWorld) -> None:
    other = TableId("elsewhere", "public", "orders")
    put(copy, plan_for(copy, 1, table=replace(TABLE, id=other)), change("c", A, 1, "x"))
    target = copy.target
    assert isinstance(target, Dropping)
    with pytest.raises(OperatorNeeded, match="already belongs to"):
        target.drop(TableId(world.database.name, "public", "orders"))
    assert not target.drop(TableId("elsewhere", "public", "no"))
    copy.sql("DROP VIEW orders; CREATE VIEW orders AS SELECT 1 AS mine")
    assert target.drop(other)
    assert copy.sql("SELECT mine FROM orders") == [{"mine": 1}]


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_of_a_lake_go_only_if_they_are_copies_of_the_pipelines(
    world: World, kind: str, spark: "SparkSession", tmp_path: Path, namespace: str
) -> None:
    from tests.integration.targets.delta.world import DeltaWorld  # noqa: PLC0415 - most tests here need no PySpark
    from tests.integration.targets.iceberg.world import WAREHOUSE, IcebergWorld  # noqa: PLC0415 - as above

    ran(world)
    warehouse = tmp_path / "lake"
    if kind == "iceberg":
        lake: SparkWorld = IcebergWorld(spark, namespace)
        warehouse = Path(urlsplit(spark.conf.get(WAREHOUSE) or "").path)
    else:
        lake = DeltaWorld(spark, warehouse, namespace=namespace + "_{schema}")
    where = warehouse / f"{namespace}_public"
    ours = TableId(world.database.name, "public", "orders")
    others = TableId("elsewhere", "public", "others")
    with world.file.open("a") as file:
        file.write(
            f'[target]\nkind = "{kind}"\nwarehouse = "{warehouse}"\nnamespace = "{namespace}_{{schema}}"\n'
            '[spark]\nmaster = "local[1]"\n'
        )
    for table in (others, ours._replace(database="elsewhere")):
        put(lake, plan_for(lake, 1, table=replace(TABLE, id=table)), change("c", A, 1, "x"))
    looked = command(world, "--tables", "--dry-run")  # another's copy stands where ours would
    assert f"remains: table {ours} of the target: " in looked.stdout, looked.stderr
    assert f"is not the copy of {ours}" in looked.stdout
    assert dropping(lake).drop(ours._replace(database="elsewhere"))

    put(lake, plan_for(lake, 1, table=replace(TABLE, id=ours)), change("c", A, 1, "x"))
    lake.target.letters.keep(ours, [letter(1)])
    told = deleted(world, "--tables", "--topics")
    assert f"table {ours} of the target" in told["removed"]
    assert {path.name for path in where.iterdir()} == {"others", NAME}
    assert len(lake.visible(others)) == 1
    assert list(lake.target.letters.kept(ours)) == []
    assert topics(world) == set()
    assert deleted(world, "--tables", "--topics")["removed"] == []
