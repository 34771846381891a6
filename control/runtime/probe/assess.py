"""An assessment: the check's findings, and with `probe` what each server does when it is asked.

In: a pipeline as it was checked.  Out: one value, whose document the command line and REST show.
"""

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from wrackline.control.runtime.check.assessment import add_server_findings
from wrackline.control.runtime.check.child_answer import tell_answer
from wrackline.control.runtime.check.file_check import Checked, check_file, check_pipeline
from wrackline.control.runtime.check.server_check import check_server
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.control.runtime.ground.plain_json import plain_values
from wrackline.control.runtime.probe.forecast import Forecast
from wrackline.control.runtime.probe.mending import MendResult, apply_fixes
from wrackline.control.runtime.probe.pipeline_trials import PipelineTrials
from wrackline.control.runtime.probe.trial_runs import TrialResult
from wrackline.control.runtime.probe.verdict import GateVerdict, acceptances, accepted_ids, verdict_of
from wrackline.producers.contract.source_plugin import Source, load
from wrackline.producers.contract.trials import Trying
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import SourcePartition

CANT_MEND = define(
    "assess.cant_mend",
    OperatorNeeded,
    "the source {source} can run no fixes",
    hint="run by hand what the findings print: wrackline assess <pipeline.toml>",
)


@dataclass(frozen=True, slots=True)
class Assessment:
    """All that was found."""

    findings: tuple[Finding, ...]
    accepted: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[TrialResult, ...] = ()
    forecast: Forecast | None = None  # None: nothing was tried

    @property
    def verdict(self) -> GateVerdict:
        """What it comes to."""
        return verdict_of(self.findings, self.accepted)

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "ok": self.verdict is not GateVerdict.ERRORS,
            "verdict": self.verdict,
            "findings": self.findings,
            "accepted": acceptances(self.findings, self.accepted),
            "trials": [one.document() for one in self.trials],
            "forecast": None if self.forecast is None else self.forecast.document(),
        }


def assess_pipeline(checked: Checked, *, probe: bool) -> Assessment:
    """Look at all servers; with `probe`, try each of them."""
    pipeline = checked.pipeline
    if pipeline is None or pipeline.values is None or checked.stops:
        return Assessment(checked.findings)
    accepted = accepted_ids(pipeline.values["assess.accept"])
    if not probe:
        return Assessment(add_server_findings(checked).findings, accepted)
    looked = (*checked.findings, *check_server(pipeline).findings)
    tried = PipelineTrials(pipeline, pipeline.values)
    tried.run()  # it looks at the target too, because a process has one Spark
    findings = (*looked, *_new_ones(looked, tried.findings()))
    return Assessment(findings, accepted, tuple(tried.results), tried.forecast)


def mend_source(pipeline: Pipeline, admin: Secret) -> Iterator[MendResult]:
    """Run the safe fixes of what the source finds, in a pipeline whose settings are good."""
    values = pipeline.good()
    source = load(pipeline.source or "").open(values, surroundings())
    try:
        if not isinstance(source, Trying):
            raise CANT_MEND(source=pipeline.source)
        for partition in source.partitions():
            yield from apply_fixes(partial(_look, source, partition), source.trying(partition), admin)
    finally:
        source.close()


def try_file(file: Path, line: socket.socket) -> None:
    """Assess a file with trials, as the child."""
    tell_answer(lambda: _document(check_file(file, Installed(), os.environ)), line)


def try_settings(given: Mapping[str, str], allowed: Allowed, line: socket.socket) -> None:
    """Assess a map of settings with trials, as the child."""
    found = partial(check, given, Installed(), Resolver(allowed, os.environ))
    tell_answer(lambda: _document(check_pipeline(found())), line)


def _document(checked: Checked) -> Mapping[str, Any]:
    document: Mapping[str, Any] = plain_values(assess_pipeline(checked, probe=True).document())
    return document


def _look(source: Source, partition: SourcePartition) -> Sequence[Finding]:
    return source.check(partition, source.tables(partition))


def _new_ones(known: Iterable[Finding], more: Iterable[Finding]) -> Iterator[Finding]:
    """Leave out what was found already."""
    there = {(one.id, one.table, one.column) for one in known}
    for one in more:
        if (place := (one.id, one.table, one.column)) not in there:
            there.add(place)
            yield one
