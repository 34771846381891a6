"""What the code of an error or a finding means.

In: `error_codes.jsonl`, which `./run pages` prints from the declarations: a process has loaded only a part of
them, and loading the rest would cost a worker memory for ever, and a command six seconds.  Out: declarations.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import orjson

from wrackline.schemas.message_texts import for_reader

_FILE: Final = Path(__file__).with_name("error_codes.jsonl")


def find_code(code: str) -> Mapping[str, str] | None:
    """Return a code's kind, who acts, sentence and hint; None: there is no such code."""
    found = printed_codes().get(code)
    return None if found is None else {**found, "hint": for_reader(found["hint"])}


@cache
def printed_codes() -> Mapping[str, Mapping[str, str]]:
    """Return what the file says of each code and each finding's id."""
    return {one["code"]: one for one in map(orjson.loads, _FILE.read_bytes().splitlines())}
