"""Another name for an Iceberg table, in a catalogue that renames tables; one of the type hadoop does not."""

import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.iceberg.world import IcebergWorld, settings
from wrackline.consumers.contract.plan import OurColumns
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.lake.table_shape import TableAddress, TableOrigin
from wrackline.consumers.targets.iceberg import connect
from wrackline.consumers.targets.iceberg.connect import _IN_A_PATH, IcebergPlace
from wrackline.consumers.targets.iceberg.rename import rename
from wrackline.testing.targets.target_suite import TABLE


@pytest.fixture
def renaming(spark: SparkSession) -> SparkSession:
    """A session whose catalogue keeps names itself."""
    session = spark.newSession()
    catalogue = f"spark.sql.catalog.{connect.CATALOG}"
    session.conf.unset(f"{catalogue}.type")
    session.conf.set(f"{catalogue}.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    return session


def test_a_table_gets_a_free_name_and_keeps_its_rows(renaming: SparkSession) -> None:
    place = IcebergPlace("aside", _IN_A_PATH)
    found = []
    renaming.sql("CREATE NAMESPACE lake.aside")
    for number in (1, 2):
        name = place.quoted_name(TABLE.id)
        renaming.sql(f"CREATE TABLE {name} (n int) USING iceberg")
        renaming.sql(f"INSERT INTO {name} VALUES ({number})")
        table = LakeTable(TableAddress(name, ""), {}, TableOrigin(TABLE.id, OurColumns.prefixed("_wl_")))
        found.append(rename(renaming, table, "__dropped_20270101", place=place))
        assert not renaming.catalog.tableExists(name)
    rows = [[row.n for row in renaming.table(name).collect()] for name in found]
    assert rows == [[1], [2]]
    assert found == [f"`lake`.`aside`.`orders__dropped_20270101{end}`" for end in ("", "_2")]


def test_a_catalogue_of_folders_says_that_it_can_not(spark: SparkSession, namespace: str) -> None:
    assert not IcebergWorld(spark, namespace).target.can.sets_aside
    assert connect.can_rename(settings(spark, catalog_type="glue"))
