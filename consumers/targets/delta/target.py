"""A Delta warehouse as a target: a format of a lake's tables (lake/table_format.py), part by part.

properties, create, keep_progress      table.py
progress                               applied.py
merge                                  apply.py
compact, shorten                       upkeep.py
letters, removal (drop.py), check      the modules of that name
"""

from functools import partial
from shlex import quote

from pyspark.sql import SparkSession

from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.lake.table_format import TableFormat
from wrackline.consumers.lake.table_shape import FormatRules, TableAddress
from wrackline.consumers.targets.delta import apply, check, connect, letters, rename, table, types, upkeep
from wrackline.consumers.targets.delta.applied import DeltaApplied, read_applied
from wrackline.consumers.targets.delta.drop import removal
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

NOT_KNOWN = define(
    "delta.session_without_delta",
    OperatorNeeded,
    "the Spark session does not know Delta's tables: {name} lacks {value}",
    hint='add it to the setting in the pipeline\'s file: {name} = "…,{value}"',
)


def open_delta(settings: Values, spark: SparkSession) -> LakeTarget[DeltaApplied]:
    """Open the warehouse; refuse a session that was not built with what it needs."""
    for name, value in connect.SESSION.items():
        if value not in (spark.conf.get(name, None) or "").split(","):
            raise NOT_KNOWN(name=name, value=value)
    return LakeTarget(spark, delta_format(settings))


def delta_format(settings: Values) -> TableFormat[DeltaApplied]:
    """Return Delta as the settings want it."""
    place, retention_ms = connect.place(settings), settings.integer("target.snapshot.retention.ms")

    def address(table_id: TableId) -> TableAddress:
        path = place.path(table_id)
        local = path.startswith("file:")  # Delta's DROP TABLE leaves the files, and so the table
        drop = f"rm -r {quote(path[5:])}" if local else f"hadoop fs -rm -r {quote(path)}"
        return TableAddress(connect.by_path(path), drop)

    return TableFormat(
        identifiers=types.IDENTIFIERS,
        rules=FormatRules(types.can_widen, str.casefold),
        letters=letters.letters_table_format(place),
        address=address,
        properties=table.properties,
        create=partial(table.create, retention_ms=retention_ms),
        progress=read_applied,
        merge=apply.merge,
        is_conflict=apply.is_conflict,
        conflict=apply.CONFLICT,
        keep_progress=table.keep_log,
        compact=upkeep.compact,
        shorten=partial(upkeep.shorten, retention_ms=retention_ms),
        removal=partial(removal, place=place),
        check=partial(check.check, warehouse=place.warehouse, address=address),
        rename=partial(rename.rename, place=place) if rename.can_rename(place) else None,
    )
