"""What stands in a pipeline's way, all of it: its settings, its source, its Kafka and its target.

    `wrackline check`     in its own process
    REST                  in a child: a target may need Spark, whose memory is not for the worker to have, and
                          a server that never answers is given up by ending the process

In: what the settings' check gave.  Out: the same findings in both ways; nothing is changed.
"""

import os
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from wrackline.control.check_file import Checked, check_file, of_pipeline
from wrackline.control.check_server import check_server
from wrackline.control.check_target import check_target
from wrackline.control.installed import Installed
from wrackline.control.output import plain
from wrackline.producers.connect.child import Begin, Child, Reported
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.pipeline import check
from wrackline.schemas.secret_refs import Allowed, Resolver

PATIENCE: Final = 120.0  # seconds for all servers together; Spark alone takes ten
_LOOK: Final = 1.0

NOT_IN_TIME = define(
    "check.not_in_time",
    Transient,
    "the check of {pipeline} was given up after {seconds:.0f} s",
    hint="see which server does not answer: wrackline check <pipeline.toml>",
)
NOT_DONE = define(
    "check.not_done",
    Transient,
    "the process that checked {pipeline} ended with {code} before it was done",
    hint="see what it says: wrackline check <pipeline.toml>",
)


def with_servers(checked: Checked) -> Checked:
    """Add what the servers find, unless the settings alone stop it."""
    pipeline = checked.pipeline
    if pipeline is None or checked.stops:
        return checked
    looked = check_server(pipeline)
    of_target = check_target(pipeline, looked.topics)
    return replace(checked, findings=(*checked.findings, *looked.findings, *of_target))


def of_file(file: Path, line: socket.socket) -> None:
    """Be the child that checks a file."""
    _tell(lambda: check_file(file, Installed(), os.environ), line)


def of_map(given: Mapping[str, str], allowed: Allowed, line: socket.socket) -> None:
    """Be the child that checks a map of settings, whose references reach what is allowed."""
    _tell(lambda: of_pipeline(check(given, Installed(), Resolver(allowed, os.environ))), line)


def _tell(look: Callable[[], Checked], line: socket.socket) -> None:
    lifeline = Lifeline(line)
    lifeline.hold()
    checked = with_servers(look())
    lifeline.tell({"ok": not checked.stops, "findings": plain(checked.findings)})


def assessed(pipeline: str, begin: Begin, patience: float = PATIENCE) -> Mapping[str, Any]:
    """Check in a child; return what it found."""
    until = time.monotonic() + patience
    child = Child(begin)
    try:
        with selectors.DefaultSelector() as selector:
            for descriptor in child.descriptors:
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                code = child.exit_code  # first: what it said before its end is all there
                for heard in child.hear():
                    if isinstance(heard, Reported):
                        return heard.report
                if code is not None:
                    raise NOT_DONE(pipeline=pipeline, code=code)
                if time.monotonic() > until:
                    raise NOT_IN_TIME(pipeline=pipeline, seconds=patience)
                selector.select(_LOOK)
    finally:
        child.close()
