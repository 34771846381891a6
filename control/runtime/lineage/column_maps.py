"""The maps of columns that the board keeps: of a table into its events, and of its events into its copy.

In: a table's shape as it goes out, or as the target holds it; the settings.  Out: maps.  Pure.
"""

from collections.abc import Callable, Sequence

from wrackline.consumers.contract.plan import ROW, PlannedColumn
from wrackline.control.runtime.lineage.flows import kind_of, mask_text
from wrackline.schemas.events.avro_names import column_names
from wrackline.schemas.kafka.column_maps import ColumnMap, ColumnStep
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

Knows = Callable[[str, ColumnMap], None]  # takes a table, by its topic's name without the server


def publish_map(table: TableSchema, rules: ColumnRules) -> ColumnMap:
    """Return what goes from a table into its events."""
    names = column_names(str(table.id), (one.name for one in table.columns))
    return ColumnMap(
        str(table.id),
        tuple(_published(table.id, one, names[one.name], rules) for one in table.columns),
        table.left_out,
    )


def merge_map(columns: Sequence[PlannedColumn], place: str) -> ColumnMap:
    """Return what goes from events into the columns of a copy; our own columns come from nowhere."""
    names = column_names(place, (one.source for one in columns if one.identity != ROW))
    return ColumnMap(
        place,
        tuple(
            ColumnStep(names[one.source], one.target, kind_of(one.type))
            for one in columns
            if one.identity != ROW
        ),
    )


def name_of(topic: str) -> str:
    """Return how the board calls the table of a topic."""
    return topic.partition(".")[2]


def _published(table: TableId, column: Column, name: str, rules: ColumnRules) -> ColumnStep:
    masked = mask_text(rules.mask(table, column.name), column.type)
    how = masked or ("as text" if column.type.kind is Kind.TEXT_OF else "")
    source = "" if masked else column.type.source
    return ColumnStep(column.name, name, kind_of(column.type), source, how)
