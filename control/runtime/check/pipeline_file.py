"""The pipeline file that a command was given: good, or the command ends with what a check finds in it."""

import os
from pathlib import Path

from wrackline.control.runtime.check.file_check import Checked, check_file
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.logs.lines import Log
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.pipelines.pipeline import Pipeline


class UnfitFile(Exception):  # noqa: N818 - nothing went wrong: the file is not yet what it must be
    """Nothing starts from this file; `checked` says why."""

    def __init__(self, file: Path, checked: Checked) -> None:
        super().__init__(str(file))
        self.file, self.checked = file, checked


def good_pipeline(file: Path) -> Pipeline:
    """Return the pipeline of a file in which nothing stops it; warnings stay with `wrackline check`."""
    checked = check_file(file, Installed(), os.environ)
    if checked.pipeline is None or checked.stops:
        raise UnfitFile(file, checked)
    return checked.pipeline


def log_findings(log: Log, file: Path, checked: Checked) -> None:
    """Log what stops a file."""
    for finding in checked.findings:
        if finding.severity is Severity.ERROR:
            line = f"{finding.name}  [{finding.id}]: {finding.description}; {finding.impact}"
            error = {"code": finding.id, "sentence": finding.description, "hint": finding.suggestion}
            log.error("finding", line=f"{line}\n  hint: {finding.suggestion}", file=str(file), error=error)
