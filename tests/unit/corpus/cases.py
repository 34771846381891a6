"""Reads the corpus of bad input: one case a line, with the expected answer beside it.

In: files of `tests/corpus`.  Out: cases, and inputs made from recipes, for what is large or no text.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parents[2] / "corpus"
CANARY = "c4n4ry"
TRACEBACK = "Traceback"

Case = Mapping[str, Any]


def cases(folder: str, *groups: str) -> list[Any]:
    """Return the cases of a class as pytest's parameters, each under its own sentence."""
    files = [CORPUS / folder / f"{group}.jsonl" for group in groups]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(case, id=case["name"]) for case in map(json.loads, lines)]


def made(recipe: Any) -> Any:
    """Make an input: {"repeat": [text, times]}, {"join": [...]}, {"base64": "..."}; others are themselves."""
    match recipe:
        case {"repeat": [part, int(times)]}:
            return made(part) * times
        case {"join": list(parts)}:
            return "".join(map(made, parts))
        case {"base64": str(text)}:
            return base64.b64decode(text)
        case _:
            return recipe


def as_bytes(recipe: Any) -> bytes:
    """Make an input that is sent as bytes; a lone surrogate stays one."""
    found = made(recipe)
    return found if isinstance(found, bytes) else str(found).encode("utf-8", "surrogatepass")


def tells_nothing(*texts: str) -> None:
    """Nothing that was answered or logged shows what was planted, or where the code failed."""
    for text in texts:
        assert CANARY not in text
        assert TRACEBACK not in text
