"""An Iceberg catalogue as a target: a format of a lake's tables (lake/table_format.py), part by part.

properties, create                     table.py
progress                               applied.py
merge                                  apply.py
compact, shorten                       upkeep.py
letters, removal (drop.py), check      the modules of that name
"""

from functools import partial

from pyspark.sql import SparkSession

from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.lake.table_format import LakeTable, TableFormat
from wrackline.consumers.lake.table_shape import FormatRules, TableAddress
from wrackline.consumers.targets.iceberg import apply, check, connect, letters, table, types, upkeep
from wrackline.consumers.targets.iceberg.applied import IcebergApplied, read_applied
from wrackline.consumers.targets.iceberg.drop import removal
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

NO_CATALOGUE = define(
    "iceberg.no_catalogue",
    OperatorNeeded,
    "the Spark session has no Iceberg catalogue named {catalogue} with {name}",
    hint="let the session be built from the pipeline's file: wrackline consume <pipeline.toml>",
)
_SECRET_FREE = ("type", "warehouse", "uri", "cache-enabled")


def open_iceberg(settings: Values, spark: SparkSession) -> LakeTarget[IcebergApplied]:
    """Open the catalogue; refuse a session that was not built with what it needs."""
    conf = connect.needs(settings).conf
    prefix = f"spark.sql.catalog.{connect.CATALOG}"
    for name in (prefix, *(f"{prefix}.{part}" for part in _SECRET_FREE)):
        if spark.conf.get(name, None) != conf.get(name):
            raise NO_CATALOGUE(catalogue=connect.CATALOG, name=name)
    return LakeTarget(spark, iceberg_format(settings))


def iceberg_format(settings: Values) -> TableFormat[IcebergApplied]:
    """Return Iceberg as the settings want it."""
    place, version = connect.place(settings), settings.integer("target.format.version")
    warehouse = connect.needs(settings).conf[f"spark.sql.catalog.{connect.CATALOG}.warehouse"]

    def address(table_id: TableId) -> TableAddress:
        name = place.quoted_name(table_id)
        return TableAddress(name, f"DROP TABLE {name}")

    return TableFormat(
        identifiers=types.IDENTIFIERS,
        rules=FormatRules(types.can_widen),
        letters=letters.letters_table_format(place),
        address=address,
        properties=table.properties,
        create=partial(table.create, place=place, version=version),
        progress=read_applied,
        merge=apply.merge,
        is_conflict=apply.is_conflict,
        conflict=apply.CONFLICT,
        keep_progress=_lose_nothing,
        compact=upkeep.compact,
        shorten=partial(upkeep.shorten, retention_ms=settings.integer("target.snapshot.retention.ms")),
        removal=removal,
        check=partial(check.check, place=place, warehouse=warehouse, version=version),
    )


def _lose_nothing(_session: SparkSession, _table: LakeTable) -> None:
    """Do nothing: only an expiry of snapshots could lose what is applied, and upkeep.py prevents that."""
