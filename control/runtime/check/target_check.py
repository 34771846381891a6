"""Checks a pipeline's target, once the source has listed its tables.

In: a checked pipeline, and the topics that its tables have.  Out: the target's findings; a target that can't
be reached, or whose Spark is not installed here, is a finding as well.  Nothing is changed.
"""

from collections.abc import Collection

from wrackline.consumers.contract.target import Capabilities
from wrackline.control.runtime.check.file_check import STOPS
from wrackline.control.runtime.spark.target_access import open_target_alone
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.pipelines.pipeline import Pipeline

NOT_LOOKED_AT = rule(
    "target.not_looked_at",
    Severity.WARNING,
    "target not looked at",
    "{module} is not installed here, and the target {kind} is reached with it",
    "problems of its tables show when they are merged",
    "in the clone where wrackline consume runs: .venv/bin/python -m pip install -e '.[spark]';"
    " then: wrackline check <pipeline.toml>",
)
NOT_WHOLE = rule(
    "target.not_whole",
    Severity.WARNING,
    "transactions in parts",
    "consume.transaction.boundaries is set, and {kind} commits a large batch in parts",
    "readers may see a part of a transaction until the batch is complete",
    "keep a batch within one commit: consume.max.offsets.per.trigger = 2000; or do without:"
    " consume.transaction.boundaries = false",
)


def check_target(pipeline: Pipeline, topics: Collection[str]) -> tuple[Finding, ...]:
    """Let the target look at itself and at the tables of these topics."""
    if pipeline.target is None or pipeline.values is None:
        return ()
    try:
        with open_target_alone(pipeline.values, pipeline.target) as target:
            asked = pipeline.values.flag("consume.transaction.boundaries")
            parts = find_parts(pipeline.target, target.can, asked=asked)
            return (*target.check(sorted(map(table_of, topics))), *parts)
    except ModuleNotFoundError as exc:
        return (NOT_LOOKED_AT(module=exc.name, kind=pipeline.target),)
    except WracklineError as error:
        severity = Severity.WARNING if isinstance(error, Transient) else Severity.ERROR
        name = pipeline.values.text("name")
        return (Finding(error.code, name, error.sentence, error.hint, STOPS, severity),)


def find_parts(kind: str, can: Capabilities, *, asked: bool) -> tuple[Finding, ...]:
    """Say that transactions are not kept whole, where they are to be."""
    return (NOT_WHOLE(kind=kind),) if asked and not can.whole else ()
