"""Gives an Iceberg table another name, in catalogues that can.

In: a table that says it is ours.  Out: the same in the same namespace, under a name that was free.
"""

from pyspark.sql import SparkSession

from wrackline.consumers.contract.identifiers import suffixed_names
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.targets.iceberg.connect import IcebergPlace


def rename(session: SparkSession, table: LakeTable, suffix: str, *, place: IcebergPlace) -> str:
    """Let the catalogue rename it, in one commit of its own."""
    source = table.origin.table
    names = suffixed_names(source.name, suffix, place.names)
    free = next(name for name in names if not session.catalog.tableExists(place.quoted_beside(source, name)))
    session.sql(f"ALTER TABLE {table.name} RENAME TO {place.within_catalogue(source, free)}")
    return place.quoted_beside(source, free)
