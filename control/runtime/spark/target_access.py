"""A pipeline's target by itself, for code that needs no batch: a check, its dead letters.

In: the pipeline's settings and its target's kind.  Out: the target, until the block is left.  Spark is
started only for a target whose tables are Spark's: other targets are reached without Spark.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, cast

from wrackline.consumers.contract.target import SparkNeeds, SparkTarget, load_target
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.settings.settings_registry import Values

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
def open_target_alone(values: Values, kind: str) -> Iterator[SparkTarget]:
    """Open a target into which nothing is merged."""
    if load_target(kind).needs(values) == SparkNeeds():
        with closing(load_target(kind).open(values, cast("SparkSession", None))) as target:
            yield target
        return
    # here, because a user without such a target needs no Spark
    from wrackline.control.runtime.spark.spark_session import open_target  # noqa: PLC0415

    with open_target(values, kind, None) as (_, target):
        yield target
