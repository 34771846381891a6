"""What flows where in a pipeline, column by column: from a table into its topic, from a topic into its copy.

In: a table's shape as it goes out, or as the target holds it; where both sides are.  Out: a `Flow`.  Pure.

Columns that the settings leave out are in no flow: nothing of them goes anywhere.  Types are the database's
own for its tables, and everywhere else the kinds of docs/types.md, which mean the same in every target.
"""

from collections.abc import Callable, Sequence

from wrackline.consumers.plan import ROW, PlannedColumn
from wrackline.control.lineage.events import Dataset, Field, Flow, Origin
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.located import Located
from wrackline.schemas.masks import Hash, Mask, Stars, Truncate
from wrackline.schemas.table import TableId, TableSchema
from wrackline.schemas.types import ColumnType, Kind

At = Callable[[TableId], Located]


def kafka_at(brokers: str) -> str:
    """Return the namespace of a Kafka's topics: the first of its brokers stands for all."""
    return f"kafka://{brokers.partition(',')[0].strip().rpartition('://')[2]}"


def published(table: TableSchema, rules: ColumnRules, at: Located, topic: Located) -> Flow:
    """Return what goes from a table into its topic; of a masked column the database's type is not known."""
    masks = {column.name: _masked(rules.mask(table.id, column.name), column.type) for column in table.columns}
    read = [
        Field(column.name, None if masks[column.name] else column.type.source) for column in table.columns
    ]
    written = [
        Field(column.name, kind_of(column.type), Origin(at, column.name, masks[column.name]))
        for column in table.columns
    ]
    return Flow(Dataset(at, read), Dataset(topic, written))


def merged(columns: Sequence[PlannedColumn], topic: Located, at: Located) -> Flow:
    """Return what goes from a topic into the columns of its copy; our own columns come from nowhere."""
    theirs = [column for column in columns if column.identity != ROW]
    read = [Field(column.source, kind_of(column.type)) for column in theirs]
    written = [Field(column.target, kind_of(column.type), Origin(topic, column.source)) for column in theirs]
    return Flow(Dataset(topic, read), Dataset(at, written))


def kind_of(column: ColumnType) -> str:
    """Name a kind of value, with what makes it exact."""
    if column.kind is Kind.DECIMAL:
        return f"decimal({column.precision},{column.scale})"
    if column.element is not None:
        return f"array<{kind_of(column.element)}>"
    return str(column.kind.value)


def _masked(mask: Mask | None, column: ColumnType) -> str:
    """Say how values are changed; a column that is no text is not truncated (schemas/projection.py)."""
    match mask:
        case Hash():
            return f"salted hash ({mask.digest})"
        case Stars():
            return f"{mask.count} stars"
        case Truncate() if column.kind is Kind.STRING:
            return f"first {mask.count} characters"
    return ""
