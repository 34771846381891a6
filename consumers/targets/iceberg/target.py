"""An Iceberg catalogue as a target: a format of a lake's tables (lake/table_format.py), part by part.

properties, create                     table.py
progress                               applied.py
merge                                  apply.py
compact, shorten                       upkeep.py
letters, removal (drop.py), check      the modules of that name
"""

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from wrackline.consumers.contract.direct import DirectMerge
from wrackline.consumers.contract.plan import Applied, MergePlan, PlannedColumn
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.lake.table_format import LakeTable, TableFormat
from wrackline.consumers.lake.table_shape import FormatRules, TableAddress
from wrackline.consumers.targets.iceberg import apply, check, connect, letters, table, types, upkeep
from wrackline.consumers.targets.iceberg.applied import read_applied
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergApplied
from wrackline.consumers.targets.iceberg.drop import removal
from wrackline.consumers.targets.iceberg.rename import rename
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from wrackline.consumers.targets.iceberg.direct.direct_table import DirectTables, LoadedTable

NO_CATALOGUE = define(
    "iceberg.no_catalogue",
    OperatorNeeded,
    "the Spark session has no Iceberg catalogue named {catalogue} with {name}",
    hint="let the session be built from the pipeline's file: wrackline consume <pipeline.toml>",
    connects=True,
)
_SECRET_FREE = ("type", "warehouse", "uri", "cache-enabled")


class IcebergTarget(LakeTarget[IcebergApplied]):
    """A lake's target that asks Iceberg itself where Spark runs here, and merges a few rows by itself."""

    def __init__(self, spark: SparkSession, form: TableFormat[IcebergApplied]) -> None:
        super().__init__(spark, form)
        self._direct = _direct_tables(self._session, form)
        self._held: dict[TableId, tuple[str, tuple[PlannedColumn, ...]]] = {}

    def applied(self, table_id: TableId) -> Applied:
        """Return what the table's history says."""
        found = self._loaded(table_id)
        return super().applied(table_id) if found is None else found.before.applied

    def held(self, table_id: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return the table's columns that came from the source; they are read where its shape has changed."""
        found = self._loaded(table_id)
        if found is None:
            return super().held(table_id)
        shape = f"{found.schema_text} {found.properties.get(table_shape.COLUMNS)}"
        known = self._held.get(table_id)
        if known is None or known[0] != shape:
            columns = super().held(table_id)
            if columns is None:  # it was dropped just now
                return None
            known = self._held[table_id] = (shape, columns)
        return known[1]

    def ensure_table(self, plan: MergePlan) -> None:
        """Create the table, or refuse one that the plan can't be merged into."""
        found = self._loaded(plan.table.id)
        if found is None:
            super().ensure_table(plan)
        else:
            table_shape.check_matches_plan(found.origin, plan, found.address)

    def drop(self, table_id: TableId) -> bool:
        """Drop the table with its letters, and forget it."""
        self._forget(table_id)
        return super().drop(table_id)

    def set_aside(self, table_id: TableId, suffix: str) -> str | None:
        """Give the table another name, and forget it."""
        self._forget(table_id)
        return super().set_aside(table_id, suffix)

    def begin_direct(self, plan: MergePlan) -> DirectMerge | None:
        """Load the plan's table; None: it can't be merged into without Spark."""
        found = self._loaded(plan.table.id)
        return None if found is None or self._direct is None else self._direct.begin(found, plan)

    def _forget(self, table_id: TableId) -> None:
        if self._direct is not None:
            self._direct.forget(table_id)
        self._held.pop(table_id, None)

    def _loaded(self, table_id: TableId) -> "LoadedTable | None":
        return None if self._direct is None else self._direct.load(self._form.address(table_id), table_id)


def _direct_tables(session: SparkSession, form: TableFormat[IcebergApplied]) -> "DirectTables | None":
    """Return the way to Iceberg's own objects; None: Spark's Java is elsewhere, or there is no Arrow."""
    if getattr(session, "_jsparkSession", None) is None:
        return None
    try:
        from wrackline.consumers.targets.iceberg.direct.direct_table import (  # noqa: PLC0415 - it needs Arrow
            DirectTables,
        )
    except ImportError:
        return None
    return DirectTables(session, form.is_conflict)


def open_iceberg(settings: Values, spark: SparkSession) -> IcebergTarget:
    """Open the catalogue; refuse a session that was not built with what it needs."""
    conf = connect.needs(settings).conf
    prefix = f"spark.sql.catalog.{connect.CATALOG}"
    for name in (prefix, *(f"{prefix}.{part}" for part in _SECRET_FREE)):
        if spark.conf.get(name, None) != conf.get(name):
            raise NO_CATALOGUE(catalogue=connect.CATALOG, name=name)
    return IcebergTarget(spark, iceberg_format(settings))


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
        rename=partial(rename, place=place) if connect.can_rename(settings) else None,
    )


def _lose_nothing(_session: SparkSession, _table: LakeTable) -> None:
    """Do nothing: only an expiry of snapshots could lose what is applied, and upkeep.py prevents that."""
