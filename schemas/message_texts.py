"""Fills the texts of errors and findings in, so that a name in a command stays one word of it.

A hint names commands that take a pipeline's file.  Where a connector's settings came over REST there is no
such file, so there the same hint names REST.  The process says once which of both it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Final

# Names and addresses from outside, where a command has them in single quotes.
_WORD: Final = re.compile(r"'\{(table|request|path|url)\}([^'\s]*)'")
_QUOTE: Final = "'\"'\"'"  # a single quote inside of single quotes, for a shell and for Python

_FILE: Final = "<pipeline.toml>"
_OF: Final = "/connectors/<name>"
_AGAIN: Final = f"POST {_OF}/restart"
_RESET: Final = f"wrackline offsets reset {_FILE}"
_BY_REST: Final = {  # a command with the file, and what does the same; one that begins another is behind it
    f"wrackline tables {_FILE} --all": "POST /v1/contexts/default/listTables with its settings",
    f"wrackline consume {_FILE} --spark-log": "wrackline consume <file of its settings> --spark-log",
    f"wrackline assess {_FILE}": f"POST {_OF}/assessment",
    f"wrackline check {_FILE}": f"GET {_OF}/assessment",
    f"wrackline consume {_FILE}": _AGAIN,
    f"wrackline letters list {_FILE}": f"GET {_OF}/letters",
    f"wrackline letters replay {_FILE}": f"POST {_OF}/letters/replay?table=",
    f"wrackline offsets history {_FILE}": f"GET {_OF}/offsets/history",
    _RESET: f"PUT {_OF}/stop, DELETE {_OF}/offsets, PUT {_OF}/resume",
    f"wrackline offsets show {_FILE}": f"GET {_OF}/offsets",
    f"wrackline run {_FILE}": _AGAIN,
    f"wrackline snapshot pause {_FILE}": f"POST {_OF}/requests with type pause-snapshot",
    f"wrackline snapshot start {_FILE}": f"POST {_OF}/requests with type execute-snapshot for",
    f"wrackline snapshot status {_FILE}": f"GET {_OF}/requests",
    f"wrackline status {_FILE}": f"GET {_OF}/lag",
    f"wrackline table keep {_FILE}": f"POST {_OF}/tables/<table>/keep for",
    f"wrackline table retry {_FILE}": f"POST {_OF}/tables/<table>/retry for",
    f"wrackline tables {_FILE}": f"GET {_OF}/tables",
    "in the pipeline's file: secrets.allow": "in the group's file: secrets.allow",
    "the pipeline's file": f"the connector's settings (PUT {_OF}/config)",
    _FILE: "<file of its settings>",
}


@dataclass(slots=True)
class _ProcessHints:
    """What the hints of this process name."""

    rest: bool = False


_PROCESS: Final = _ProcessHints()


def name_rest_in_hints() -> None:
    """Have the hints of this process name REST, because its connectors' settings came over REST."""
    _PROCESS.rest = True


def for_reader(text: str) -> str:
    """Return a hint as the reader can follow it: what it says of a pipeline's file is said of REST there."""
    return to_rest(text) if _PROCESS.rest else text


def to_rest(text: str) -> str:
    """Return a hint for the reader of a connector whose settings came over REST."""
    for command, request in _BY_REST.items():
        text = text.replace(command, request)
    return text


def for_database(hint: str, database: str) -> str:
    """Return a hint that starts one of several databases over, where it would start over all of them."""
    partition = f'{{"server": "<topic.prefix>", "database": "{database}"}}'
    stop, _, resume = _BY_REST[_RESET].split(", ")
    alone = f"{stop}, PATCH {_OF}/offsets with null for {partition}, {resume}"
    return hint.replace(_RESET, f"{_RESET} --database {quote(database)}").replace(_BY_REST[_RESET], alone)


def fill_in(text: str, names: Mapping[str, object]) -> str:
    """Put the names into the text."""

    def quoted(found: re.Match[str]) -> str:
        word = str(names[found[1]]).replace("'", _QUOTE)
        return "'" + word.replace("{", "{{").replace("}", "}}") + found[2] + "'"

    return for_reader(_WORD.sub(quoted, text).format_map(names))
