"""What a worker offers for drafts, with answers that were made before: no server is asked.

In: a folder, and what checks settings.  Out: a `DraftAccess` over files, which notes what was asked.
"""

import socket
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson

from wrackline.control.runtime.files.file_drafts import FileDrafts
from wrackline.control.runtime.rest.model.connectors import WritableConnectors
from wrackline.control.runtime.rest.model.drafts import DraftAccess, Drafts
from wrackline.producers.connect.child import Begin, RunningProcess
from wrackline.schemas.pipelines.pipeline import Pipeline

_NAMED = {"database": "shop", "schema": "public", "name": "orders", "table": "orders"}
_COUNTS = {
    "numColumns": 2,
    "columnsNotSupported": 0,
    "numColumnsNotSupported": 0,
    "columnsPartiallySupported": 1,
    "numColumnsPartiallySupported": 1,
}
_NONE: Mapping[str, Any] = {"features": [], "featureProblems": []}
ANSWERS: Mapping[str, Any] = {
    "list_tables": [
        {
            **_NAMED,
            **_COUNTS,
            "rows": 7,
            "bytes": 8192,
            "key": ["id"],
            "support": "PARTIAL",
            "selected": True,
            "hidden": None,
        },
        {
            **_NAMED,
            "name": "items",
            "table": "items",
            **_COUNTS,
            "rows": None,
            "bytes": None,
            "key": [],
            "support": "YES",
            "selected": False,
            "hidden": None,
        },
    ],
    "describe_table": {
        **_NAMED,
        "primaryKey": ["id"],
        "keyKind": "primary",
        "columns": [{"name": "id", "type": "int4", "nullable": False, "identity": 1, "generated": False}],
        **_NONE,
    },
    "assess_table": {**_NAMED, "columns": [], **_NONE, "connectivity": [], "connectivityProblems": []},
    "assess_draft": {
        "ok": True,
        "findings": [],
        "accepted": [],
        "trials": [],
        "forecast": None,
        "tables": [{**_NAMED, **_COUNTS}],
    },
}


class _Ended:
    """A process that has said all."""

    pid = 0

    def poll(self) -> int | None:
        return 0

    def wait(self) -> object:
        return None

    def terminate(self) -> None:
        raise AssertionError("it has ended")

    kill = terminate


class MadeAnswers:
    """Answers each question from `answers`, by the name of its function."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = deepcopy(dict(ANSWERS))
        self.asked: list[tuple[str, Mapping[str, str], tuple[object, ...]]] = []

    def begin(self, main: Callable[..., None], settings: Mapping[str, str], *more: object) -> Begin:
        self.asked.append((main.__name__, settings, more))
        answer = self.answers[main.__name__]
        report = answer if isinstance(answer, dict) and "error" in answer else {"answer": answer}

        def start(line: socket.socket, output: Connection) -> RunningProcess:
            del output
            line.sendall(orjson.dumps(report) + b"\n")
            return _Ended()

        return start


def made_access(
    folder: Path,
    names: Callable[[], Sequence[str]],
    check: Callable[[Mapping[str, str]], Pipeline],
    drafts: Drafts | None = None,
    group: WritableConnectors | None = None,
) -> tuple[DraftAccess, MadeAnswers]:
    """Make it over a folder, or over other drafts."""
    answers = MadeAnswers()
    return DraftAccess(drafts or FileDrafts(folder, check), names, check, answers.begin, group), answers
