"""From settings to a Spark session that knows Delta and to safe paths, without Spark."""

import pytest
from pyspark.sql import types as spark

from wrackline.consumers.contract.identifiers import target_name
from wrackline.consumers.targets.delta import PLUGIN, connect, types
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry, Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.versions import DELTA, HADOOP_AWS

CANARY = "hush-hush-7"
INT, LONG, FLOAT = spark.IntegerType(), spark.LongType(), spark.FloatType()


def reading(**given: str) -> CheckedSettings:
    named = {f"target.{name}": value for name, value in given.items()}
    return SettingsRegistry(PLUGIN.settings).read(named, Resolver(Allowed(), {}))


def values(**given: str) -> Values:
    found = reading(**{"warehouse": "/w", **given})
    assert found.values is not None, found.problems
    return found.values


def test_a_folder_needs_its_jar_and_two_lines() -> None:
    needs = PLUGIN.needs(values(warehouse="/w/é x/"))
    assert needs.jars == (DELTA,)
    assert needs.conf.items() >= connect.SESSION.items()
    table = TableId("d", "public", "orders")
    assert connect.place(values(warehouse="/w/é x/")).path(table) == "file:/w/é x/public/orders"


def test_s3_brings_its_jar_and_its_keys_are_not_shown() -> None:
    found = values(**{"warehouse": "s3://b/w", "storage.fs.s3a.secret.key": CANARY})
    needs = PLUGIN.needs(found)
    assert needs.jars == (DELTA, HADOOP_AWS)
    assert needs.conf["spark.hadoop.fs.s3a.secret.key"] == CANARY
    assert CANARY not in repr(found)
    assert connect.place(found).path(TableId("d", "s", "t")) == "s3a://b/w/s/t"


def test_what_cannot_be_obeyed_is_refused() -> None:
    def refused(**given: str) -> list[str]:
        return [problem.error.code for problem in reading(**given).problems]

    assert refused() == ["settings.missing"]
    for template in ("", "a/b", "{table}", "{schema"):
        assert refused(warehouse="/w", namespace=template) == ["settings.invalid"]
    assert refused(**{"warehouse": "/w", "snapshot.retention.ms": "1000"}) == ["settings.invalid"]


@pytest.mark.parametrize(
    ("template", "table", "path"),
    [
        ("{database}.{schema}", TableId("d", "a.b", "x`y"), "file:/w/d.a.b/x`y"),
        ("{schema}", TableId("d", "..", "../../etc"), "file:/w/__/_._.._etc"),
        ("{schema}", TableId("d", "s", "a*[b]{c}?%20"), "file:/w/s/a__b__c___20"),
        ("{schema}", TableId("d", "_delta_log", "_samples"), "file:/w/_delta_lo_/_sample_"),
        ("{schema}", TableId("d", "s", "_prisma_migrations"), "file:/w/s/_prisma_migrations"),
    ],
)
def test_names_are_safe_in_a_path(template: str, table: TableId, path: str) -> None:
    assert connect.place(values(namespace=template)).path(table) == path


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        (INT, LONG, True),
        (LONG, INT, False),
        (spark.DecimalType(5, 2), spark.DecimalType(9, 3), True),
        (spark.DecimalType(5, 2), spark.DecimalType(5, 3), False),
        (spark.ArrayType(INT), spark.ArrayType(LONG), True),
        (spark.ArrayType(INT), INT, False),
        (FLOAT, spark.DoubleType(), True),
        (INT, spark.StringType(), False),
    ],
)
def test_only_what_delta_does_in_place_widens(
    old: spark.DataType, new: spark.DataType, *, fits: bool
) -> None:
    assert types.can_widen(old, new) is fits


def test_names_that_a_merge_of_delta_uses_are_moved_aside() -> None:
    names = types.IDENTIFIERS
    assert [
        target_name(name, names) for name in ("_metadata", "_row_dropped_", "_metadatas", "a.b;c=\n")
    ] == [
        "_metada_a",
        "_row_droppe__",
        "_metadatas",
        "a.b;c=\n",
    ]
