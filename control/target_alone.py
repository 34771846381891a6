"""A pipeline's target by itself, for what needs no batch: a check, its dead letters.

In: the pipeline's settings and its target's kind.  Out: the target, until the block is left.  Spark is
started only for a target whose tables are Spark's: who needs nothing of Spark there reaches it without.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, cast

from wrackline.consumers import plugin
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_TARGET = define(
    "consume.no_target",
    OperatorNeeded,
    "the pipeline {pipeline} has no target: it ends in Kafka",
    hint='name one in the file: [target] kind = "iceberg"; what there is: wrackline settings target.kind',
)


def target_of(pipeline: Pipeline) -> tuple[Values, str]:
    """Return the settings of a pipeline that has a target, and the target's kind."""
    values = pipeline.good()
    if pipeline.target is None:
        raise NO_TARGET(pipeline=values.text("name"))
    return values, pipeline.target


@contextmanager
def target_alone(values: Values, kind: str) -> Iterator[plugin.SparkTarget]:
    """Open a target into which nothing is merged."""
    if plugin.load(kind).needs(values) == plugin.SparkNeeds():
        with closing(plugin.load(kind).open(values, cast("SparkSession", None))) as target:
            yield target
        return
    # here, for who has no such target needs no Spark
    from wrackline.control.spark_session import opened_target  # noqa: PLC0415

    with opened_target(values, kind, None) as (_, target):
        yield target
