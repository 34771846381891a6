"""Checks a pipeline's file without touching any server; its faults become findings.

In: a path.  Out: findings in the shape that every check has, most severe first.  A finding's id is the
error's code, so `wrackline errors <id>` explains it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.pipelines.pipeline import Pipeline, Plugins, load
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Problem

STOPS = "the pipeline does not start"
NO_EFFECT = "the setting has no effect"


@dataclass(frozen=True, slots=True)
class Checked:
    """What a file's check gave; without a pipeline the file could not be read at all."""

    findings: tuple[Finding, ...]
    pipeline: Pipeline | None = None
    topics: frozenset[str] = frozenset()  # that the source's tables have, once it was asked

    @property
    def stops(self) -> bool:
        """Whether a pipeline can't start from this file."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def check_file(path: Path, plugins: Plugins, environ: Mapping[str, str]) -> Checked:
    """Read and check one file."""
    try:
        pipeline = load(path, plugins, environ)
    except WracklineError as error:
        return Checked((_error_finding(path.name, error, Severity.ERROR),))
    return check_pipeline(pipeline)


def check_pipeline(pipeline: Pipeline) -> Checked:
    """Write a configuration's problems as findings."""
    ordered = sorted(pipeline.problems, key=lambda problem: problem.warning)
    return Checked(tuple(map(problem_finding, ordered)), pipeline)


def problem_finding(problem: Problem) -> Finding:
    """Write a problem of a configuration as a finding."""
    severity = Severity.WARNING if problem.warning else Severity.ERROR
    return _error_finding(shown_name(problem.setting), problem.error, severity)


def _error_finding(name: str, error: WracklineError, severity: Severity) -> Finding:
    impact = STOPS if severity is Severity.ERROR else NO_EFFECT
    return Finding(error.code, name, error.sentence, error.hint, impact, severity)
