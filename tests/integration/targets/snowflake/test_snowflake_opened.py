"""The target as a pipeline's settings open it: it is looked at, and tried with frames of Spark's."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wrackline.consumers.contract.target import load_target
from wrackline.consumers.targets.snowflake.connect import SnowflakeAccount
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.lineage_names import Located, Locating
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import TableId

PROBE = """
import json, sys
from tests.integration.targets.snowflake.test_snowflake_opened import checked
from wrackline.control.runtime.probe.target_trial import try_target
tried = try_target(checked(json.loads(sys.argv[1])), ["shop.db.public.orders"])
print(json.dumps(tried.measures if tried.ok else {"failed": tried.finding.id}))
"""
ORDERS = TableId("db", "public", "orders")


def checked(given: dict[str, str]) -> Pipeline:
    key = Path(given["target.private.key.file"])
    made = check(given, Installed(), Resolver(Allowed(folders=(key.parent,)), {}))
    assert made.values is not None, made.problems
    return made


@pytest.fixture
def given(account: SnowflakeAccount) -> dict[str, str]:
    fields = account.fields
    assert account.passphrase is not None
    return {
        "name": "shop",
        "topic.prefix": "shop",
        "connector.class": "postgres",
        "database.hostname": "127.0.0.1",
        "database.user": "wrackline",
        "database.password": "x",
        "database.dbname": "db",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "target.kind": "snowflake",
        "target.endpoint": f"http://127.0.0.1:{fields['port']}",
        "target.account": "org-shop",
        "target.user": "wrackline",
        "target.private.key.file": fields["private_key_file"],
        "target.private.key.passphrase": account.passphrase.reveal(),
        "target.warehouse": "FAKESNOW_WAREHOUSE",
        "target.dbname": "opened",
        "consume.trigger.interval.ms": "3600000",
        "spark.master": "local[1]",
    }


def test_an_emulator_in_the_service_s_place_is_reached_and_looked_at(given: dict[str, str]) -> None:
    """It shows no grants, and what can't be seen is not said to be missing."""
    plugin, pipeline = load_target("snowflake"), checked(given)
    target = plugin.open(pipeline.good(), None)  # type: ignore[arg-type]  # nothing is merged
    assert target.check([ORDERS]) == []
    target.close()
    assert isinstance(plugin, Locating)
    assert plugin.located(pipeline.good(), ORDERS) == Located("snowflake://org-shop", "OPENED.PUBLIC.ORDERS")


@pytest.mark.full
def test_the_probe_merges_ten_rows_twice_and_leaves_no_table(
    given: dict[str, str], account: SnowflakeAccount
) -> None:
    """In a process of its own, as a command has its Spark."""
    command = [sys.executable, "-c", PROBE, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"rows": 10, "columns": 11}
    with account.connect() as connection:
        cursor = connection.cursor()
        cursor.execute('SHOW OBJECTS IN DATABASE "OPENED"')
        left = cursor.fetchall()
    assert [row[1] for row in left if "TRIAL" in row[1]] == []
