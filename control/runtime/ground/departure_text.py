"""How a table's departure is told: it is gone at the source, and what becomes of its copy.

In: a departure as the board has it.  Out: words.  Pure.
"""

from collections.abc import Mapping
from typing import Any

from wrackline.control.runtime.ground.number_text import duration_text


def departure_text(departure: Mapping[str, Any], at_ms: int) -> str:
    """Say it in one line."""
    new = departure["renamed_to"]
    gone = "gone at the source" if new is None else f"renamed to {new} at the source"
    return f"{gone}, {_copy_text(departure, at_ms)}"


def _copy_text(departure: Mapping[str, Any], at_ms: int) -> str:
    became, due_ms = departure["became"], departure["due_ms"]
    if became == "absent":
        return "the target has no copy"
    if became is not None:
        return "its copy is dropped" if became == "dropped" else f"its copy is now {became}"
    if departure["kept"]:
        return "kept by an operator"
    if due_ms is None:
        return "its copy stays"
    verb = "dropped" if departure["behavior"] == "drop" else "renamed"
    left = due_ms - at_ms
    return f"{verb} in {duration_text(left)}" if left > 0 else f"{verb} as soon as all is merged"
