"""A feed's columns as a table's: by name, and the same identity for the same name, whichever comes first."""

from pyspark.sql.types import LongType, StringType, StructField

from wrackline.consumers.auto_cdc.feed_shape import table_schema_of
from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableId("legacy", "sales", "customers")
LONG = ColumnType(Kind.INT64, "bigint")
HELD = [PlannedColumn(1, "id", "id", LONG), PlannedColumn(2, "gone", "gone", LONG)]


def identities(*names: str, held: list[PlannedColumn] | None = HELD) -> dict[str, int]:
    fields = [StructField("id", LongType()), *(StructField(name, StringType()) for name in names)]
    return {column.name: column.identity for column in table_schema_of(TABLE, fields, ["id"], held).columns}


def test_two_flows_that_do_not_see_each_other_give_each_column_its_own_identity() -> None:
    left, right, both = identities("more"), identities("other"), identities("other", "more")
    assert left == {"id": 1, "gone": 2, "more": both["more"]}
    assert right["other"] == both["other"] != both["more"]


def test_a_number_that_is_taken_is_given_to_no_other_column() -> None:
    number = identities("more")["more"]
    taken = [*HELD, PlannedColumn(number, "older", "older", LONG)]
    assert identities("more", held=taken)["more"] == number + 1
