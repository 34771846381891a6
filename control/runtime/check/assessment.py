"""All findings of a pipeline: of its settings, its source, its Kafka and its target.

    `wrackline check`     in its own process
    REST                  in a child: a target may need Spark, whose memory must not burden the worker, and a
                          check of a server that never answers ends with the process

In: the result of the settings' check.  Out: the same findings in both ways; nothing is changed.
"""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from wrackline.control.runtime.check.child_answer import ask_child, tell_answer
from wrackline.control.runtime.check.file_check import Checked, check_file, check_pipeline
from wrackline.control.runtime.check.server_check import check_server
from wrackline.control.runtime.check.target_check import check_target
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.plain_json import plain_values
from wrackline.producers.connect.child import Begin
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

PATIENCE: Final = 120.0  # seconds for all servers together; Spark needs ten of them
PROBE_PATIENCE: Final = 300.0  # to try them

NOT_IN_TIME = define(
    "check.not_in_time",
    Transient,
    "the check of {pipeline} was given up after {seconds:.0f} s",
    hint="see which server does not answer: wrackline check <pipeline.toml>; on a busy machine ask again,"
    " because the start of Spark takes most of the time",
)
NOT_DONE = define(
    "check.not_done",
    Transient,
    "the process that checked {pipeline} ended with {code} before it was done",
    hint="see what it says: wrackline check <pipeline.toml>",
)


def add_server_findings(checked: Checked) -> Checked:
    """Add the servers' findings, unless the settings' findings already stop the pipeline."""
    pipeline = checked.pipeline
    if pipeline is None or checked.stops:
        return checked
    looked = check_server(pipeline)
    of_target = check_target(pipeline, looked.topics)
    findings = (*checked.findings, *looked.findings, *of_target)
    return replace(checked, findings=findings, topics=frozenset(looked.topics))


def assess_file(file: Path, line: socket.socket) -> None:
    """Check a file, as the child."""
    _send_findings(lambda: check_file(file, Installed(), os.environ), line)


def assess_settings(given: Mapping[str, str], allowed: Allowed, line: socket.socket) -> None:
    """Check a map of settings, whose references may read what is allowed, as the child."""
    _send_findings(lambda: check_pipeline(check(given, Installed(), Resolver(allowed, os.environ))), line)


def _send_findings(look: Callable[[], Checked], line: socket.socket) -> None:
    def document() -> Mapping[str, Any]:
        checked = add_server_findings(look())
        return {"ok": not checked.stops, "findings": plain_values(checked.findings)}

    tell_answer(document, line)


def assess(pipeline: str, begin: Begin, patience: float = PATIENCE) -> Any:  # noqa: ANN401 - as the child tells
    """Check in a child; return what it tells, which are its findings."""
    return ask_child(
        begin,
        patience,
        lambda: NOT_IN_TIME(pipeline=pipeline, seconds=patience),
        lambda code: NOT_DONE(pipeline=pipeline, code=code),
    )
