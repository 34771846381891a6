"""What several parts read of a pipeline's settings, and all must read alike."""

from collections.abc import Callable

from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.pipelines.table_lists import TableLists
from wrackline.schemas.settings.declared.target_settings import TRUNCATE_TABLE
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId


def naming_of(settings: Values) -> Naming:
    """Return how tables' topics are named."""
    return Naming(settings.text("topic.naming"))


def skipped_letters(settings: Values) -> bytes:
    """Return the operations that are not published, as an event's `op` names them."""
    return "".join(op for op in settings.listed("skipped.operations") if len(op) == 1).encode()


def excluded_changes(settings: Values) -> TableLists:
    """Return which changes of a table the target does not follow."""
    return TableLists(
        settings.listed("target.schema.change.exclude"),
        settings.family("target.schema.change.exclude.<table>"),
        naming_of(settings),
    )


def skipped_of_table(settings: Values) -> Callable[[TableId], frozenset[str]]:
    """Return what tells the operations that a table does not publish, though others do.

    A target that must not be emptied gets no truncates at all: Kafka would only keep what nobody may apply.
    """
    skipped = TableLists((), settings.family("skipped.operations.<table>"), naming_of(settings))
    excluded = excluded_changes(settings)

    def of(table: TableId) -> frozenset[str]:
        truncates = {"t"} if TRUNCATE_TABLE in excluded.of(table) else set()
        return skipped.more(table) | truncates

    return of
