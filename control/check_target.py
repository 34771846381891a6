"""Asks a pipeline's target what stands in the way, once the source has named its tables.

In: a checked pipeline, and the topics that its tables have.  Out: the target's findings; one that can't be
reached, or whose Spark is not installed here, is a finding as well.  Nothing is changed.  Spark is started
only for a target that needs something of it.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from wrackline.consumers import plugin
from wrackline.consumers.writers import table_id
from wrackline.control.check_file import STOPS
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.findings import Finding, Severity, rule
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_LOOKED_AT = rule(
    "target.not_looked_at",
    Severity.WARNING,
    "target not looked at",
    "{module} is not installed here, and the target {kind} is reached with it",
    "what stands in the way of its tables shows when they are merged",
    "where wrackline consume runs: pip install 'wrackline[spark]'; then: wrackline check <pipeline.toml>",
)


def check_target(pipeline: Pipeline, topics: Collection[str]) -> tuple[Finding, ...]:
    """Let the target look at itself and at the tables of these topics."""
    if pipeline.target is None or pipeline.values is None:
        return ()
    try:
        with _opened(pipeline.values, pipeline.target) as target:
            return tuple(target.check(sorted(map(table_id, topics))))
    except ModuleNotFoundError as exc:
        return (NOT_LOOKED_AT(module=exc.name, kind=pipeline.target),)
    except WracklineError as error:
        severity = Severity.WARNING if isinstance(error, Transient) else Severity.ERROR
        name = pipeline.values.text("name")
        return (Finding(error.code, name, error.sentence, error.hint, STOPS, severity),)


@contextmanager
def _opened(values: Values, kind: str) -> Iterator[plugin.SparkTarget]:
    if plugin.load(kind).needs(values) == plugin.SparkNeeds():
        target = plugin.load(kind).open(values, cast("SparkSession", None))  # nothing is merged here
        try:
            yield target
        finally:
            target.close()
        return
    # here, for a check without such a target needs no Spark
    from wrackline.control.spark_session import opened_target  # noqa: PLC0415

    with opened_target(values, kind, None) as (_, target):
        yield target
