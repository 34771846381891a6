"""The target as a pipeline's settings open it: it is looked at, and tried with frames of Spark's."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from wrackline.consumers.contract.target import load_target
from wrackline.consumers.targets.snowflake.connect import SnowflakeAccount
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.probe.target_trial import try_target
from wrackline.schemas.pipelines.lineage_names import Located, Locating
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("db", "public", "orders")


@pytest.fixture
def pipeline(account: SnowflakeAccount) -> Pipeline:
    fields = account.fields
    assert account.passphrase is not None
    key = Path(fields["private_key_file"])
    given = {
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
        "target.private.key.file": str(key),
        "target.private.key.passphrase": account.passphrase.reveal(),
        "target.warehouse": "FAKESNOW_WAREHOUSE",
        "target.dbname": "opened",
        "consume.trigger.interval.ms": "3600000",
        "spark.master": "local[1]",
    }
    made = check(given, Installed(), Resolver(Allowed(folders=(key.parent,)), {}))
    assert made.values is not None, made.problems
    return made


def test_an_emulator_in_the_service_s_place_is_reached_and_looked_at(pipeline: Pipeline) -> None:
    """It shows no grants, and what can't be seen is not said to be missing."""
    plugin = load_target("snowflake")
    with_open = plugin.open(pipeline.good(), None)  # type: ignore[arg-type]  # nothing is merged
    assert with_open.check([ORDERS]) == []
    with_open.close()
    assert isinstance(plugin, Locating)
    assert plugin.located(pipeline.good(), ORDERS) == Located("snowflake://org-shop", "OPENED.PUBLIC.ORDERS")
    assert urlsplit(pipeline.good().text("target.endpoint")).port is not None


@pytest.mark.full
def test_the_probe_merges_ten_rows_twice_and_leaves_no_table(
    pipeline: Pipeline, account: SnowflakeAccount
) -> None:
    tried = try_target(pipeline, ["shop.db.public.orders"])
    assert tried is not None
    assert tried.finding is None, tried.finding
    assert tried.measures == {"rows": 10, "columns": 3}
    with account.connect() as connection:
        cursor = connection.cursor()
        cursor.execute('SHOW OBJECTS IN DATABASE "OPENED"')
        left = cursor.fetchall()
    assert [row[1] for row in left if "TRIAL" in row[1]] == []
