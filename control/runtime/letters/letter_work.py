"""Work on a pipeline's letters in a process of its own: reading them may need Spark, and a replay does.

    LOOK      what is set aside, and why
    REPLAY    merge a table's letters, or those of all tables, then look
    DROP      forget some letters of a table, then look

In: a pipeline, and the work.  Out: one document through the lifeline; its values are those of rows, so who
passes it on must know who may see them.
"""

import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.control.runtime.check.child_answer import tell_answer
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:  # it needs Spark's package, which a worker without a target has not
    from wrackline.control.runtime.letters.letters import LettersService

_MOST: Final = 500  # letters that are described one by one
_BYTES: Final = 1_024  # of a key or a value


class LetterVerb(Enum):
    """What is to be done."""

    LOOK = "look"
    REPLAY = "replay"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class LetterWork:
    """One piece of work; no table: all of them.  No ids: all letters of the table."""

    verb: LetterVerb
    table: str = ""
    ids: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse to drop all that there is."""
        if self.verb is LetterVerb.DROP and not (self.table or self.ids):
            raise ValueError("letters are dropped by their table or one by one")


def work_on_file(file: Path, work: LetterWork, line: socket.socket) -> None:
    """Do it for the pipeline of a file, as the child."""
    tell_answer(lambda: work_on_letters(good_pipeline(file), work), line)


def work_on_settings(
    given: Mapping[str, str], allowed: Allowed, work: LetterWork, line: socket.socket
) -> None:
    """Do it for a map of settings, as the child."""
    resolver = Resolver(allowed, os.environ)
    tell_answer(lambda: work_on_letters(check(given, Installed(), resolver), work), line)


def work_on_letters(pipeline: Pipeline, work: LetterWork) -> dict[str, object]:
    """Do it, and look at what is left."""
    if work.verb is LetterVerb.REPLAY:
        return _replay(pipeline, work.table)
    from wrackline.control.runtime.letters.letters import open_letters  # noqa: PLC0415 - as below

    with open_letters(pipeline) as opened:
        done: dict[str, object] = {}
        if work.verb is LetterVerb.DROP:
            done = {"dropped": sum(_drop(opened, table, work.ids) for table in _tables(opened, work.table))}
        return {**_describe(opened), "done": done}


def letter_id(spot: RecordPosition) -> str:
    """Write which letter it is."""
    return f"{spot.topic}-{spot.partition}@{spot.offset}"


def _replay(pipeline: Pipeline, table: str) -> dict[str, object]:
    # here, because who only looks may need no Spark
    from wrackline.control.runtime.letters.letter_replay import open_replays  # noqa: PLC0415

    with open_replays(pipeline) as opened:
        found = [opened.replay(each) for each in _tables(opened.desk, table)]
        done = {
            "merged": sum(one.merged for one in found),
            "left": sum(sum(one.left.values()) for one in found),
            "errors": [error.document() for error in opened.failed],
        }
        return {**_describe(opened.desk), "done": done}


def _tables(opened: "LettersService", name: str) -> Collection[TableId]:
    """Return the table of this name, as topics write it; its topic may be gone."""
    parts = name.split(".")
    if not name:
        return opened.tables()
    found = [table for table in opened.tables() if str(table) == name]
    return found or ([TableId(*parts)] if len(parts) == len(TableId._fields) else [])


def _drop(opened: "LettersService", table: TableId, ids: Collection[str]) -> int:
    if not ids:
        return opened.drop(table)
    spots = [spot for spot in opened.box.spots(table) if letter_id(spot) in ids]
    opened.box.remove(table, spots)
    return len(spots)


def _describe(opened: "LettersService") -> dict[str, object]:
    groups: dict[tuple[str, str, str], int] = {}
    letters: list[dict[str, Any]] = []
    for table in opened.tables():
        for letter in opened.letters(table):
            group = (str(table), letter.code, letter.reason)
            groups[group] = groups.get(group, 0) + 1
            if len(letters) < _MOST:
                letters.append(_document(table, letter))
    return {
        "groups": [
            {"table": table, "code": code, "reason": reason, "count": count}
            for (table, code, reason), count in sorted(groups.items())
        ],
        "letters": letters,
    }


def _document(table: TableId, letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": letter_id(letter.spot),
        "table": str(table),
        **letter.spot._asdict(),
        "code": letter.code,
        "reason": letter.reason,
        "kept_ms": letter.kept_ms,
        "bytes": len(letter.key or b"") + len(letter.value or b""),
        "key": None if letter.key is None else letter.key[:_BYTES].hex(),
        "value": None if letter.value is None else letter.value[:_BYTES].hex(),
    }
