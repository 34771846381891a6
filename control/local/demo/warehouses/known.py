"""The warehouses that the demo knows, by the names of their folders: a row each, in both lists."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from wrackline.control.local.demo.warehouses.bigquery import BigQueryWarehouse
from wrackline.control.local.demo.warehouses.iceberg import IcebergWarehouse
from wrackline.control.local.demo.warehouses.redshift import RedshiftWarehouse
from wrackline.control.local.demo.warehouses.snowflake import SnowflakeWarehouse
from wrackline.control.local.demo.warehouses.spanner import SpannerWarehouse
from wrackline.control.local.demo.warehouses.warehouse import Warehouse


class WarehouseKind(StrEnum):
    """What `--target` takes."""

    ICEBERG = IcebergWarehouse.kind
    BIGQUERY = BigQueryWarehouse.kind
    REDSHIFT = RedshiftWarehouse.kind
    SNOWFLAKE = SnowflakeWarehouse.kind
    SPANNER = SpannerWarehouse.kind


WAREHOUSES: Mapping[WarehouseKind, type[Warehouse]] = MappingProxyType(
    {
        WarehouseKind.ICEBERG: IcebergWarehouse,
        WarehouseKind.BIGQUERY: BigQueryWarehouse,
        WarehouseKind.REDSHIFT: RedshiftWarehouse,
        WarehouseKind.SNOWFLAKE: SnowflakeWarehouse,
        WarehouseKind.SPANNER: SpannerWarehouse,
    }
)
