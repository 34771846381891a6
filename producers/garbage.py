"""How often Python looks for cycles while a task runs: seldom, for the data makes none.

Row changes and records are tuples by the hundred thousand, and each is looked at by the collector although
none can ever be part of a cycle; with Python's own threshold of 700 that is an eighth of a task's time.
What stands when a task begins stays to its end, so it is not looked at again either.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TUPLES: Final = 500_000  # about what ten publications hold
_YOUNGER: Final = 10  # collections of one age before the next


@contextmanager
def looked_for_seldom() -> Iterator[None]:
    """Raise the collector's threshold for the block; it is the whole process's."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_TUPLES, _YOUNGER, _YOUNGER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def let_go() -> None:
    """Free what a session that failed has left: its parts refer to one another, and hold what was read."""
    gc.collect()
