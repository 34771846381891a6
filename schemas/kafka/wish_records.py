"""What operators wish for single tables of the target: the records of `wrackline-<name>-wishes`.

    ["shop.public.orders","pause"]   {"version", "by", "at_ms"}   no batch of it is begun while this is there
    ["shop.public.orders","retry"]   {"version", "by", "at_ms"}   a table that stopped is tried again
    ["shop.public.orders","keep"]    {"version", "by", "at_ms"}   its copy stays when it is gone at the source

A table is named by its topic without the server.  The topic is compacted, so a wish holds until another one
replaces it, also over restarts.  Pure; a record that can't be read is refused.
"""

from enum import Enum
from typing import Final, NamedTuple

import orjson

from wrackline.schemas.untrusted import number, text

VERSION: Final = 1


class TableWish(Enum):
    """What an operator wishes."""

    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    KEEP = "keep"
    RELEASE = "release"


_ENDS: Final = {TableWish.RESUME: TableWish.PAUSE, TableWish.RELEASE: TableWish.KEEP}


class WishKey(NamedTuple):
    """A table, and what is wished of it: RESUME removes the record of PAUSE, RELEASE that of KEEP."""

    table: str
    wish: TableWish


def record(table: str, wish: TableWish, by: str, at_ms: int) -> tuple[bytes, bytes | None]:
    """Return the record of a wish."""
    if wish in _ENDS:
        return orjson.dumps([table, _ENDS[wish].value]), None
    return orjson.dumps([table, wish.value]), orjson.dumps({"version": VERSION, "by": by, "at_ms": at_ms})


class TableWishes:
    """The fold of the records."""

    def __init__(self) -> None:
        self.paused: frozenset[str] = frozenset()
        self.staying: frozenset[str] = frozenset()

    def apply(self, key: bytes, value: bytes | None) -> WishKey | None:
        """Take the next record; return what is wished now.

        ValueError, KeyError or TypeError: the record is not known.
        """
        table, wish = orjson.loads(key)
        about = WishKey(text(table), TableWish(wish))
        if about.wish in _ENDS:
            raise ValueError("it has no record")
        if value is not None:
            document = orjson.loads(value)
            if document["version"] != VERSION:
                raise ValueError("a version that is not known")
            number(document["at_ms"])
        if about.wish is TableWish.PAUSE:
            self.paused = self.paused | {about.table} if value is not None else self.paused - {about.table}
        if about.wish is TableWish.KEEP:
            self.staying = self.staying | {about.table} if value is not None else self.staying - {about.table}
        return None if value is None else about
