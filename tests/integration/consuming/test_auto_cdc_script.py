"""The script of docs/auto-cdc.md, run as a user runs it, into PostgreSQL."""

import json
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is public

from tests.fixtures.servers import Database
from tests.integration.consuming.world import SPARK_PATIENCE
from tests.integration.running.world import environment
from wrackline.control.local.stack.servers import Broker

DOC = Path(__file__).parents[3] / "docs" / "auto-cdc.md"
FILE = """
name = "legacy"
kafka.bootstrap.servers = "{brokers}"
spark.master = "local[2]"
[target]
kind = "postgres"
hostname = "127.0.0.1"
port = {port}
user = "postgres"
dbname = "{database}"
sslmode = "disable"
"""

HISTORY = """
    from pyspark.sql.avro.functions import to_avro
    flows._spark.range(1).select(to_avro("id")).collect()  # as a view of topics in Avro does with from_avro
    flows.create_auto_cdc_flow(
        "legacy.sales.versions", "customers", ["id"], "at", name="versions", stored_as_scd_type=2,
        apply_as_deletes="op = 'delete'", except_column_list=["op", "at"],
    )
    flows.run(once=True)
"""
VERSIONS = """
SELECT id, name, extract(second FROM "__START_AT")::int, extract(second FROM "__END_AT")::int,
       pg_typeof("__END_AT")::text
FROM sales.versions ORDER BY id, "__START_AT" """


def put(number: int, key: int, name: str, op: str = "put") -> str:
    return json.dumps({"id": key, "name": name, "op": op, "at": f"2026-01-01T00:00:{number:02}Z"})


@pytest.mark.full  # it starts a Java of its own; flows have their tests in test_auto_cdc.py
def test_the_script_of_the_docs_makes_a_table(
    tmp_path: Path, database: Database, kafka: Broker, topic_prefix: str
) -> None:
    script, *_ = re.findall(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)
    topic = f"{topic_prefix}.customers"
    script = script.replace("flows.run(once=True)", HISTORY)
    (tmp_path / "customers.py").write_text(script.replace("legacy.customers", topic))
    file = FILE.format(brokers=kafka.bootstrap, port=database.server.port, database=database.name)
    (tmp_path / "feeds.toml").write_text(file)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
    for event in (put(3, 1, "newest"), put(1, 1, "old"), put(5, 2, "newer"), put(2, 2, "b")):
        producer.produce(topic, event)
    for event in (put(9, 3, "", "delete"), put(8, 3, "late")):
        producer.produce(topic, event)
    assert producer.flush(30) == 0
    done = subprocess.run(
        [sys.executable, "customers.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SPARK_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with psycopg.connect(database.dsn) as connection:
        rows = connection.execute("SELECT id, name FROM sales.customers ORDER BY id").fetchall()
        versions = connection.execute(VERSIONS).fetchall()
    assert rows == [(1, "newest"), (2, "newer")]
    assert {of for *_, of in versions} == {"timestamp with time zone"}
    assert [version for *version, _ in versions] == [
        [1, "old", 1, 3],
        [1, "newest", 3, None],
        [2, "b", 2, 5],
        [2, "newer", 5, None],
        [3, "late", 8, 9],
    ]
