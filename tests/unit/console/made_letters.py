"""Letters made by hand, and a desk that works on them at once."""

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.letters.letter_desk import LetterState
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork

TABLE = "shop.public.orders"
SECRET = "a value of a row"


def letter(
    offset: int, table: str = TABLE, reason: str = "its value is not what schema id 12 says"
) -> dict[str, Any]:
    """Return a letter as the child describes it."""
    return {
        "id": f"shop.{table}-0@{offset}", "table": table, "topic": f"shop.{table}", "partition": 0,
        "offset": offset, "code": "tail.not_its_schema", "reason": reason, "kept_ms": 1_790_000_000_000,
        "bytes": 24, "key": b"\0\0\0\0\x0b\x0e".hex(), "value": f"\0{SECRET}\x7f".encode().hex(),
    }  # fmt: skip


def found(*letters: Mapping[str, Any], **done: Any) -> dict[str, Any]:
    """Return what a look found."""
    groups: dict[tuple[str, str, str], int] = {}
    for one in letters:
        group = (one["table"], one["code"], one["reason"])
        groups[group] = groups.get(group, 0) + 1
    listed = [
        {"table": table, "code": code, "reason": reason, "count": count}
        for (table, code, reason), count in groups.items()
    ]
    return {"groups": listed, "letters": list(letters), "done": done}


class MadeDesk:
    """Works at once; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, LetterWork, str]] = []
        self.states: dict[str, LetterState] = {}

    def state(self, name: str) -> LetterState:
        return self.states.get(name, LetterState())

    def begin(self, name: str, work: LetterWork, by: str) -> Future[LetterState]:
        self.asked.append((name, work, by))
        outcomes: Mapping[LetterVerb, dict[str, Any]] = {
            LetterVerb.LOOK: {},
            LetterVerb.REPLAY: {"merged": 2, "left": 1, "errors": []},
            LetterVerb.DROP: {"dropped": 1},
        }
        done = outcomes[work.verb]
        letters = (letter(4), letter(9), letter(12, "shop.public.items", "its table stops here"))
        self.states[name] = LetterState(None, work, by, now_ms(), found(*letters, **done))
        future: Future[LetterState] = Future()
        future.set_result(self.states[name])
        return future
