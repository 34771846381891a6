"""The target as a pipeline's settings open it: it is looked at, and tried with frames of Spark's."""

import json
import subprocess
import sys

import pytest
from google.cloud.bigquery import Client

from tests.fakes.bigquery_world import connect
from wrackline.consumers.contract.target import load_target
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import TableId

PROBE = """
import json, sys
from tests.integration.targets.bigquery.test_bigquery_opened import checked
from wrackline.control.runtime.probe.target_trial import try_target
tried = try_target(checked(json.loads(sys.argv[1])), ["shop.db.public.orders"])
print(json.dumps(tried.measures if tried.ok else {"failed": tried.finding.id}))
"""
ORDERS = TableId("db", "public", "orders")


def checked(given: dict[str, str]) -> Pipeline:
    made = check(given, Installed(), Resolver(Allowed(), {}))
    assert made.values is not None, made.problems
    return made


@pytest.fixture
def given(bigquery_emulator: str) -> dict[str, str]:
    return {
        "name": "Shop.2026",
        "topic.prefix": "shop",
        "connector.class": "postgres",
        "database.hostname": "127.0.0.1",
        "database.user": "wrackline",
        "database.password": "x",
        "database.dbname": "db",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "target.kind": "bigquery",
        "target.endpoint": bigquery_emulator,
        "target.project": "shop",
        "target.schema": "opened_{schema}",
        "target.storage.schema": "opened",
        "consume.trigger.interval.ms": "3600000",
        "spark.master": "local[1]",
    }


def jobs_of(client: Client) -> list[tuple[str, str]]:
    return [
        (str(job.job_type), str(job.labels.get("wrackline"))) for job in client.list_jobs(max_results=200)
    ]


def test_an_emulator_in_the_service_s_place_is_reached_and_looked_at(given: dict[str, str]) -> None:
    pipeline = checked(given)
    opened = load_target("bigquery").open(pipeline.good(), None)  # type: ignore[arg-type]  # nothing is merged
    assert opened.check([ORDERS]) == []
    opened.close()


@pytest.mark.full
def test_the_probe_merges_ten_rows_twice_and_leaves_no_table(
    given: dict[str, str], bigquery_emulator: str
) -> None:
    """In a process of its own, as a command has its Spark."""
    command = [sys.executable, "-c", PROBE, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"rows": 10, "columns": 11}
    client = connect(bigquery_emulator)
    left = [table.table_id for name in ("opened", "opened_public") for table in client.list_tables(name)]
    assert [name for name in left if "trial" in name] == []
    assert ("load", "shop_2026") in jobs_of(client)
