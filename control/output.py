"""How every command prints: lines for people, or one JSON document."""

import sys
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Annotated, TextIO

import orjson
import typer
from rich.console import Console
from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass
class Options:
    """What the command line asked of the output."""

    debug: bool = False
    json: bool = False


def say(text: str | Text) -> None:
    """Print a line for people."""
    _console(sys.stdout).print(text, markup=False)


def print_json(document: object) -> None:
    """Print a document for programs."""
    sys.stdout.write(orjson.dumps(document, default=_jsonable, option=orjson.OPT_INDENT_2).decode() + "\n")


@lru_cache(maxsize=1)
def _console(stdout: TextIO) -> Console:
    """Look at the terminal once, not once a line."""
    return Console(file=stdout, highlight=False, soft_wrap=True)


def _jsonable(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case _:
            return str(value)
