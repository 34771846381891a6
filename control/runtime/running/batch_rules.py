"""The rules in a pipeline's settings for all of its batches.  Pure."""

from collections.abc import Callable, Mapping

from wrackline.consumers.batch.evolve import SchemaChangeBehaviour, ShapeChange
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.contract.modes import ModeSettings
from wrackline.consumers.kafka.client_settings import spark_options
from wrackline.schemas.pipelines.publication_settings import excluded_changes
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import TableId


def batch_rules(values: Values, kafka: Mapping[str, Value], schema_text: Callable[[int], str]) -> BatchRules:
    """Return what all batches of a pipeline have in common."""
    return BatchRules(
        spark_options(kafka),
        schema_text,
        SchemaChangeBehaviour(values.text("target.schema.change.behavior")),
        values.text("target.column.prefix"),
        values.integer("consume.max.offsets.per.trigger"),
        most_letters=most_letters(values),
        keeping=ModeSettings.of(values),
        excluded=_excluded(values),
    )


def _excluded(values: Values) -> Callable[[TableId], frozenset[ShapeChange]]:
    """Return what tells which changes a table does not follow; its truncates are not published at all."""
    lists, known = excluded_changes(values), {one.value: one for one in ShapeChange}
    return lambda table: frozenset(known[name] for name in lists.of_copy(table) if name in known)


def most_letters(values: Values) -> int:
    """Return how many dead letters a table may have; 0: what can't become a row stops it."""
    tolerant = values.text("errors.tolerance") == "all"
    return values.integer("errors.dead.letters.max") if tolerant else 0
