"""Asks a pipeline's target what stands in the way, once the source has named its tables.

In: a checked pipeline, and the topics that its tables have.  Out: the target's findings; one that can't be
reached, or whose Spark is not installed here, is a finding as well.  Nothing is changed.
"""

from collections.abc import Collection

from wrackline.consumers.writers import table_id
from wrackline.control.check_file import STOPS
from wrackline.control.target_alone import target_alone
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.findings import Finding, Severity, rule
from wrackline.schemas.pipeline import Pipeline

NOT_LOOKED_AT = rule(
    "target.not_looked_at",
    Severity.WARNING,
    "target not looked at",
    "{module} is not installed here, and the target {kind} is reached with it",
    "what stands in the way of its tables shows when they are merged",
    "in the clone where wrackline consume runs: .venv/bin/python -m pip install -e '.[spark]';"
    " then: wrackline check <pipeline.toml>",
)


def check_target(pipeline: Pipeline, topics: Collection[str]) -> tuple[Finding, ...]:
    """Let the target look at itself and at the tables of these topics."""
    if pipeline.target is None or pipeline.values is None:
        return ()
    try:
        with target_alone(pipeline.values, pipeline.target) as target:
            return tuple(target.check(sorted(map(table_id, topics))))
    except ModuleNotFoundError as exc:
        return (NOT_LOOKED_AT(module=exc.name, kind=pipeline.target),)
    except WracklineError as error:
        severity = Severity.WARNING if isinstance(error, Transient) else Severity.ERROR
        name = pipeline.values.text("name")
        return (Finding(error.code, name, error.sentence, error.hint, STOPS, severity),)
