"""Runs a trial: what it measured, or the error that a start would end with, as a finding."""

import time
from dataclasses import dataclass

from wrackline.control.runtime.check.server_check import start_error_finding
from wrackline.producers.contract.trials import Measures, Trial
from wrackline.producers.kafka.failures import TopicRefusedError
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What one trial gave."""

    id: str
    proves: str
    ok: bool
    seconds: float
    measures: Measures
    finding: Finding | None = None

    def document(self) -> dict[str, object]:
        """Return it for programs; its finding stands among the others, under this id."""
        failed = None if self.finding is None else self.finding.id
        return {
            "id": self.id,
            "proves": self.proves,
            "ok": self.ok,
            "seconds": self.seconds,
            "measures": self.measures,
            "failed": failed,
        }


def run_trial(pipeline: str, trial: Trial) -> TrialResult:
    """Run it."""
    began = time.monotonic()
    measures: Measures = {}
    error: WracklineError | None = None
    try:
        measures = trial.run()
    except WracklineError as exc:
        error = exc
    except TopicRefusedError as exc:
        if not isinstance(exc.error, WracklineError):
            raise
        error = exc.error
    seconds = round(time.monotonic() - began, 3)
    finding = None if error is None else start_error_finding(pipeline, error)
    return TrialResult(trial.id, trial.proves, error is None, seconds, measures, finding)
