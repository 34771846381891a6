"""A Spark as the product starts it, in a process of its own: says what others see of it, as JSON.

python -m tests.integration.consuming.started <warehouse> <the other warehouse> <secret>
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from pyspark.errors.utils import is_debugging_enabled

from wrackline.consumers.spark import sessions
from wrackline.consumers.targets.iceberg import PLUGIN
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import spark_jars
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry

CATALOG = "spark.sql.catalog.lake"


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _command_lines() -> Iterator[bytes]:
    """What any user of this machine may read of its processes, some of which end meanwhile."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield file.read_bytes()


def _children() -> Iterator[list[str]]:
    """The command lines of our own children, of which Java's helpers end meanwhile."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # and ZombieProcess, which is one
            yield child.cmdline()


def look(warehouse: str, other: str, secret: str) -> None:
    """Start it, write into a warehouse and into another, and say how it was."""
    given = {"target.warehouse": warehouse, "target.catalog.credential": secret}
    values = SettingsRegistry(PLUGIN.settings).read(given, Resolver(Allowed(), {})).values
    assert values is not None
    needs = PLUGIN.needs(values)
    os.environ["JAVA_HOME"] = str(java.find_java().home)
    told = {"spark.master": "local[*]", "spark.driver.memory": "600m"}
    session = sessions.start(spark_jars(needs.jars), needs.conf, told, name="started")
    seen = list(_command_lines())
    [command] = [one for one in _children() if "org.apache.spark.deploy.SparkSubmit" in one]
    read = Path(command[command.index("--properties-file") + 1])
    session.sql("CREATE TABLE lake.s.t USING iceberg AS SELECT 1 AS id")
    session.sql("INSERT INTO lake.s.t VALUES (2)")
    there = session.newSession()  # an older version's catalogue, for tables that it has left
    for name in ("", ".type", ".cache-enabled"):
        there.conf.set(f"spark.sql.catalog.old{name}", needs.conf[CATALOG + name])
    there.conf.set("spark.sql.catalog.old.warehouse", other)
    there.sql("CREATE TABLE old.s.old USING iceberg AS SELECT 1 AS id")
    rows = sorted(row[0] for row in session.table("lake.s.t").collect())
    odd = session.sql("SELECT '${env:WRACKLINE_DB_PASSWORD}', 1 AS `${env:WRACKLINE_DB_PASSWORD}`")
    said = {
        "known": session.conf.get(f"{CATALOG}.credential") == secret,
        "seen": sum(secret.encode() in one for one in seen),
        "java": sum(b"SparkSubmit" in one for one in seen),
        "read": str(read),
        "left": [read.exists(), "PYSPARK_SUBMIT_ARGS" in os.environ],
        "notes_callers": is_debugging_enabled(),
        "partitions": session.conf.get("spark.sql.shuffle.partitions"),
        "rows": rows,
        "odd": [*odd.columns, *odd.collect()[0]],
    }
    _say(said)
    sys.stdin.readline()  # meanwhile the old tables are moved
    session.sql("INSERT INTO lake.s.old VALUES (2)")
    _say(sorted(row[0] for row in session.table("lake.s.old").collect()))
    sessions.end(session)


if __name__ == "__main__":
    look(*sys.argv[1:])
