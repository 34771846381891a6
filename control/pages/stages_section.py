"""The part of docs/snapshots.md that describes how a table and a read go from stage to stage.

In: the tables of `producers/snapshot/stages.py`, and the page.  Out: the page as the code has it.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, TypeVar

from wrackline.producers.snapshot.stages import TABLE_MEANINGS, TABLE_STAGES, WINDOW_MEANINGS, WINDOW_STAGES

_Stage = TypeVar("_Stage", bound=Enum)

_BEGIN, _END = "<!-- printed by ./run pages -->\n", "<!-- end of what is printed -->\n"
_TABLES: Final = """\
A table's stage is the `status` in its saved state; `wrackline status` shows it.
"""
_WINDOWS: Final = """\
Each read of rows has its own stages, which are only in memory. After a restart, reading continues behind the
last rows that are in Kafka.
"""
_HEAD: Final = "| stage | meaning | becomes |\n|---|---|---|"


def in_page(page: str) -> str:
    """Return the page with the printed part replaced."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page has no part between {_BEGIN.strip()} and {_END.strip()}")
    return f"{before}{begin}\n{_section()}\n{end}{after}"


def _section() -> str:
    tables = "\n".join(_lines(TABLE_MEANINGS, TABLE_STAGES))
    windows = "\n".join(_lines(WINDOW_MEANINGS, WINDOW_STAGES))
    return f"{_TABLES}\n{tables}\n\n{_WINDOWS}\n{windows}\n"


def _lines(meanings: Mapping[_Stage, str], stages: Mapping[_Stage, Mapping[_Stage, str]]) -> Iterator[str]:
    yield _HEAD
    for stage, meaning in meanings.items():
        following = [f"`{after.value}`: {why}" for after, why in stages.get(stage, {}).items()]
        yield f"| `{stage.value}` | {meaning} | {'<br>'.join(following)} |"
