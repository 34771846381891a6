"""From settings to a Spark session's catalogue and to safe names, without Spark."""

import subprocess
from pathlib import Path

import pytest

from wrackline.consumers.targets.iceberg import PLUGIN, connect
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry, Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.versions import ICEBERG, ICEBERG_AWS

PREFIX = "spark.sql.catalog.lake"
CANARY = "hush-hush-7"


def reading(**given: str) -> CheckedSettings:
    named = {f"target.{name.replace('_', '.')}": value for name, value in given.items()}
    return SettingsRegistry(PLUGIN.settings).read(named, Resolver(Allowed(), {}))


def values(**given: str) -> Values:
    found = reading(**{"warehouse": "/w", **given})
    assert found.values is not None, found.problems
    return found.values


def refused(**given: str) -> list[str]:
    return [problem.error.code for problem in reading(**given).problems]


def test_a_folder_needs_nothing_else() -> None:
    needs = PLUGIN.needs(values(warehouse="/w/é x"))
    assert needs.jars == (ICEBERG,)
    assert needs.conf == {
        PREFIX: "org.apache.iceberg.spark.SparkCatalog",
        f"{PREFIX}.type": "hadoop",
        f"{PREFIX}.warehouse": "file:///w/é x",
        f"{PREFIX}.cache-enabled": "false",
    }


def test_tables_that_an_older_version_put_elsewhere_are_found(tmp_path: Path) -> None:
    place, old = tmp_path / "é x" / "lake", tmp_path / "%C3%A9%20x" / "lake"
    given = values(warehouse=str(place))
    connect.check_place(given)
    (old / "public").mkdir(parents=True)
    place.mkdir(parents=True)
    with pytest.raises(OperatorNeeded) as caught:
        connect.check_place(given)
    assert caught.value.code == "iceberg.warehouse_elsewhere"
    command = caught.value.hint.partition("metadata: ")[2].partition("; or")[0]
    subprocess.run(command, shell=True, check=True)  # noqa: S602 - as an operator runs it
    connect.check_place(given)
    assert (place / "public").is_dir()
    assert old.resolve() == place.resolve()
    connect.check_place(values(warehouse=str(tmp_path / "plain")))


def test_what_else_lies_there_hides_no_older_tables(tmp_path: Path) -> None:
    place, old = tmp_path / "é x", tmp_path / "%C3%A9%20x"
    given = values(warehouse=str(place))
    for folder in (old / "public", old / "sales", place / "lost+found", place / "public"):
        folder.mkdir(parents=True)
    (old / "README").touch()
    (place / "README").touch()
    with pytest.raises(OperatorNeeded) as caught:
        connect.check_place(given)
    assert caught.value.code == "iceberg.warehouse_elsewhere"
    command = caught.value.hint.partition("metadata: ")[2].partition("; or")[0]
    subprocess.run(command, shell=True, check=True)  # noqa: S602 - as an operator runs it
    connect.check_place(given)
    assert {one.name for one in place.iterdir()} == {"lost+found", "README", "public", "sales"}
    assert (old / "sales").resolve() == place / "sales"


def test_a_folder_without_namespaces_is_no_older_warehouse(tmp_path: Path) -> None:
    (tmp_path / "%20").mkdir()
    (tmp_path / "%20" / "README").touch()
    connect.check_place(values(warehouse=str(tmp_path / " ")))


def test_what_a_catalogue_wants_is_passed_on_and_not_shown() -> None:
    given = {"target.catalog.s3.secret-access-key": CANARY, "target.catalog.type": "rest"}
    given |= {"target.catalog.uri": "http://c:8181", "target.warehouse": "prod"}
    found = SettingsRegistry(PLUGIN.settings).read(given, Resolver(Allowed(), {})).values
    assert found is not None
    assert CANARY not in repr(found)
    conf = PLUGIN.needs(found).conf
    assert conf[f"{PREFIX}.s3.secret-access-key"] == CANARY
    assert (conf[f"{PREFIX}.uri"], conf[f"{PREFIX}.warehouse"]) == ("http://c:8181", "prod")


def test_s3_brings_its_jar_and_wants_a_catalogue_that_commits() -> None:
    assert PLUGIN.needs(values(warehouse="s3://b/w", catalog_type="glue")).jars == (ICEBERG, ICEBERG_AWS)
    at_rest = {"catalog_type": "rest", "catalog_uri": "http://c:8181"}  # it alone knows where the files are
    assert PLUGIN.needs(values(warehouse="prod", **at_rest)).jars == (ICEBERG, ICEBERG_AWS)
    in_hive = PLUGIN.needs(values(warehouse="s3://b/w", catalog_type="hive", catalog_uri="thrift://h:9083"))
    assert in_hive.jars == (ICEBERG, ICEBERG_AWS)
    assert in_hive.conf[f"{PREFIX}.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    with pytest.raises(OperatorNeeded) as caught:
        PLUGIN.needs(values(warehouse="s3a://b/w"))
    assert caught.value.code == "iceberg.unsafe_warehouse"


def test_what_cannot_be_obeyed_is_refused() -> None:
    assert refused() == ["settings.missing"]
    assert refused(warehouse="/w", catalog_type="rest") == ["settings.needed"]
    assert refused(warehouse="/w", format_version="1") == ["settings.invalid"]
    for template in ("", "a..b", "{table}", "{schema", "."):
        assert refused(warehouse="/w", namespace=template) == ["settings.invalid"]
    for name in ("target.catalog.cache-enabled", "target.catalog.catalog-impl"):
        found = SettingsRegistry(PLUGIN.settings).read(
            {"target.warehouse": "/w", name: "x"}, Resolver(Allowed(), {})
        )
        assert [problem.error.code for problem in found.problems] == ["iceberg.property_refused"]


@pytest.mark.parametrize(
    ("template", "table", "name"),
    [
        ("{schema}", TableId("d", "public", "orders"), "`lake`.`public`.`orders`"),
        ("{database}.{schema}", TableId("d", "a.b", "x`y"), "`lake`.`d`.`a.b`.`x``y`"),
        ("raw_{schema}", TableId("d", "{database}", "ö 1"), "`lake`.`raw_{database}`.`ö 1`"),
        ("{schema}", TableId("d", "..", "../../etc"), "`lake`.`__`.`_._.._etc`"),
    ],
)
def test_names_are_safe_in_a_path(template: str, table: TableId, name: str) -> None:
    assert connect.place(values(namespace=template)).quoted_name(table) == name


def test_a_service_gets_the_names_it_takes() -> None:
    place = connect.place(values(catalog_type="glue", warehouse="s3://b/w"))
    assert place.quoted_name(TableId("d", "Public", "Orders-2")) == "`lake`.`public`.`orders_2`"
