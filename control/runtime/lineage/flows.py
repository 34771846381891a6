"""What flows where in a pipeline, column by column: from a table into its topic, from a topic into its copy.

In: a table's shape as it goes out, or as the target holds it; where both sides are.  Out: a `LineageFlow`.
Pure.

Columns that the settings leave out are in no flow, because nothing of them is published.  Types are the
database's own for its tables, and everywhere else the kinds of docs/types.md, which mean the same in every
target.
"""

from collections.abc import Callable, Sequence

from wrackline.consumers.contract.plan import ROW, PlannedColumn
from wrackline.control.runtime.lineage.run_events import ColumnOrigin, Dataset, Field, LineageFlow
from wrackline.schemas.language.masks import HashMask, Mask, StarsMask, TruncateMask
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

At = Callable[[TableId], Located]


def kafka_at(brokers: str) -> str:
    """Return the namespace of a Kafka's topics: named after the first of its brokers."""
    return f"kafka://{brokers.partition(',')[0].strip().rpartition('://')[2]}"


def publish_flow(table: TableSchema, rules: ColumnRules, at: Located, topic: Located) -> LineageFlow:
    """Return what goes from a table into its topic; of a masked column the database's type is not known."""
    masks = {
        column.name: mask_text(rules.mask(table.id, column.name), column.type) for column in table.columns
    }
    read = [
        Field(column.name, None if masks[column.name] else column.type.source) for column in table.columns
    ]
    written = [
        Field(column.name, kind_of(column.type), ColumnOrigin(at, column.name, masks[column.name]))
        for column in table.columns
    ]
    return LineageFlow(Dataset(at, read), Dataset(topic, written))


def merge_flow(columns: Sequence[PlannedColumn], topic: Located, at: Located) -> LineageFlow:
    """Return what goes from a topic into the columns of its copy; our own columns come from nowhere."""
    theirs = [column for column in columns if column.identity != ROW]
    read = [Field(column.source, kind_of(column.type)) for column in theirs]
    written = [
        Field(column.target, kind_of(column.type), ColumnOrigin(topic, column.source)) for column in theirs
    ]
    return LineageFlow(Dataset(topic, read), Dataset(at, written))


def kind_of(column: ColumnType) -> str:
    """Name a kind of value, with what makes it exact."""
    if column.kind is Kind.DECIMAL:
        return f"decimal({column.precision},{column.scale})"
    if column.element is not None:
        return f"array<{kind_of(column.element)}>"
    return str(column.kind.value)


def mask_text(mask: Mask | None, column: ColumnType) -> str:
    """Return how values are changed; a column that is not text is not truncated (projection.py)."""
    match mask:
        case HashMask():
            return f"salted hash ({mask.digest})"
        case StarsMask():
            return f"{mask.count} stars"
        case TruncateMask() if column.kind is Kind.STRING:
            return f"first {mask.count} characters"
    return ""
