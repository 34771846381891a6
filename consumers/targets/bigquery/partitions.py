"""How a table is cut and sorted, so that a merge reads, and is paid for, no more than it must.

BigQuery skips partitions by literals alone.  A merge has the range of its batch's keys as literals, so the
key is what a table is cut by; a key never changes for a row.

    first whole number of the key    RANGE_BUCKET, ranges of the width that is set
    else its first day               months
    else                             not cut

In: a shape.  Out: the statement that creates its table.  Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from google.cloud.bigquery import Table

from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.service import StageTable
from wrackline.consumers.staged.shape import StagedColumn, StagedShape, columns_text
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.consumers.targets.bigquery.limits import CLUSTERS, MOST_CLUSTER_COLUMNS, MOST_PARTITIONS
from wrackline.consumers.targets.bigquery.types import physical

_RANGES: Final = MOST_PARTITIONS - 2  # beside them are two: of what is outside, and of null


@dataclass(frozen=True, slots=True)
class KeyPartitions:
    """Whether tables are cut by their key, and how wide the ranges of whole numbers are."""

    width: int | None  # None: tables are not cut

    def clause(self, shape: StagedShape) -> str | None:
        """Write by what a table is cut; None: it is not."""
        types = {one.place: physical(one.type) for one in _key(shape)}
        for of, write in (("INT64", self._ranges), ("DATE", _months)):
            place = next((place for place, found in types.items() if found == of), None)
            if place is not None and self.width is not None:
                return write(DIALECT.quoted(place))
        return None

    def _ranges(self, place: str) -> str:
        width = self.width or 0
        return f"RANGE_BUCKET({place}, GENERATE_ARRAY(0, {_RANGES * width}, {width}))"


def clusters(shape: StagedShape) -> Sequence[str]:
    """Return the places that rows are sorted by: the key's own, or, if they can't be, the key's hash."""
    places = [one.place for one in _key(shape) if physical(one.type).split("(", 1)[0] in CLUSTERS]
    return places[:MOST_CLUSTER_COLUMNS] or [shape.key_place]


def key_places(shape: StagedShape) -> Sequence[str]:
    """Return where the key's own columns lie."""
    return [one.place for one in _key(shape)]


def cut_by(table: Table) -> str | None:
    """Return the column by which a table that is there is cut."""
    cut = table.range_partitioning or table.time_partitioning
    return None if cut is None else cut.field


def create_table(table: StagedRelation, shape: StagedShape, partitions: KeyPartitions) -> str:
    """Write the creation of a table; where it is there already, it changes nothing."""
    columns = columns_text(shape, DIALECT)
    clause = partitions.clause(shape)
    parts = [
        f"CREATE TABLE IF NOT EXISTS {DIALECT.path(table)} ({columns})",
        *([] if clause is None else [f"PARTITION BY {clause}"]),
        f"CLUSTER BY {', '.join(map(DIALECT.quoted, clusters(shape)))}",
    ]
    return "\n".join(parts)


def create_stage(stage: StageTable) -> str:
    """Write the creation of a stage, which BigQuery removes after a day, if nobody else did."""
    columns = stage.columns_text(DIALECT)
    day = "TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 1 DAY)"
    return f"CREATE TABLE {DIALECT.path(stage.relation)} ({columns})\nOPTIONS (expiration_timestamp = {day})"


def _months(place: str) -> str:
    return f"DATE_TRUNC({place}, MONTH)"


def _key(shape: StagedShape) -> list[StagedColumn]:
    """Return the key's columns in the order of the key; an event's own row has none."""
    columns = {one.column.identity: one for one in shape.of_source}
    return [columns[identity] for identity in shape.key if identity in columns]
