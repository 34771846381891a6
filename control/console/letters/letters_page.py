"""What the screen of letters shows: groups by table and reason, letters, and what was done.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.control.runtime.ground.number_text import count_text, duration_text
from wrackline.control.runtime.ground.times import utc_text
from wrackline.control.runtime.letters.letter_desk import LetterState
from wrackline.control.runtime.letters.letter_work import LetterVerb
from wrackline.schemas.kafka.board_records import Document

_DOING: Final = {
    LetterVerb.LOOK: "asking the target",
    LetterVerb.REPLAY: "merging what can be read by now",
    LetterVerb.DROP: "dropping",
}
_LINE: Final = 32  # bytes of a line of a dump


@dataclass(frozen=True, slots=True)
class LetterGroup:
    """Letters of one table with one reason."""

    table: str
    code: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class LetterRow:
    """One letter."""

    id: str
    table: str
    place: str
    since: str
    code: str
    reason: str
    size: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class LettersPage:
    """The page; `known` is False before anybody asked the target."""

    pipeline: str
    doing: str
    known: bool
    as_of: str
    outcome: str
    errors: Sequence[Document]
    groups: Sequence[LetterGroup]
    tables: Sequence[str]
    letters: Sequence[LetterRow]
    count: int
    chosen: str  # the table whose letters are listed; empty: all


def letters_page(pipeline: str, state: LetterState, chosen: str, at_ms: int, *, values: bool) -> LettersPage:
    """Make the page."""
    ago = duration_text(max(0, at_ms - state.at_ms))
    found: Mapping[str, Any] = state.outcome or {"groups": [], "letters": []}
    groups = [LetterGroup(**group) for group in found["groups"]]
    of_choice = [one for one in found["letters"] if chosen in ("", one["table"])]
    done = found.get("done", {})
    errors = [*([state.error] if state.error else []), *done.get("errors", ())]
    return LettersPage(
        pipeline,
        f"{_DOING[state.doing]} since {ago}" if state.doing else "",
        state.outcome is not None,
        "" if state.doing or not state.at_ms else f"{ago} ago",
        "" if state.doing else _outcome(state, done),
        errors,
        groups,
        sorted({group.table for group in groups}),
        [_row(one, values=values) for one in of_choice],
        sum(group.count for group in groups if chosen in ("", group.table)),
        chosen,
    )


def _outcome(state: LetterState, done: Mapping[str, Any]) -> str:
    by = f", asked by {state.by}" if state.by else ""
    if "merged" in done:
        return f"Merged {count_text(done['merged'], 'letter', 'letters')}, {done['left']:,} stayed{by}."
    if "dropped" in done:
        return f"Dropped {count_text(done['dropped'], 'letter', 'letters')}{by}."
    return ""


def _row(letter: Mapping[str, Any], *, values: bool) -> LetterRow:
    since = utc_text(letter["kept_ms"])
    return LetterRow(
        letter["id"],
        letter["table"],
        f"{letter['partition']}:{letter['offset']}",
        since,
        letter["code"],
        letter["reason"],
        f"{letter['bytes']:,} B",
        dump(letter.get("key")) if values else "",
        dump(letter.get("value")) if values else "",
    )


def dump(text: str | None) -> str:
    """Write bytes, given in hex, as lines of what can be printed; a point stands for each other byte."""
    data = bytes.fromhex(text or "")
    shown = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in data)
    return "\n".join(shown[at : at + _LINE] for at in range(0, len(shown), _LINE))
