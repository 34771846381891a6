"""How a worker's memory is tuned: the C library's heap, and Python's garbage collector.

The process has one heap, which keeps its growth for a while.

One thread copies records into the Kafka client and another frees them, hundreds of megabytes a second.
With glibc's own settings each thread has a heap of its own, which grows and shrinks in small steps all the
time: a tenth of a task's time went into page faults, and heaps that were half empty took twice the memory.

Python seldom looks for cycles while a task runs, because the data has none.  Row changes and records are
hundreds of thousands of tuples, and the collector looks at each of them although none can ever be part of a
cycle; with Python's own threshold of 700 that is an eighth of a task's time.  Objects that exist when a task
begins stay until its end, so the collector does not look at them again either.
"""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Names and numbers of glibc's malloc.h; other C libraries have no such function.
_TRIM_THRESHOLD: Final = -1
_TOP_PAD: Final = -2
_ARENA_MAX: Final = -8

_KEPT: Final = 64 << 20  # bytes free at the heap's end before any are given back
_STEP: Final = 16 << 20  # bytes that it grows by


def use_one_heap() -> bool:
    """Set it for the whole process, before its other threads begin; return whether this library can.

    A thread that exists already has a heap of its own, and other threads would get that heap too.
    """
    settle = getattr(ctypes.CDLL(None), "mallopt", None)
    if settle is None:
        return False
    settle.argtypes, settle.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    wished = ((_ARENA_MAX, 1), (_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _STEP))
    return all(settle(option, value) == 1 for option, value in wished)


_TUPLES: Final = 500_000  # about as many as ten publications hold


_YOUNGER: Final = 10  # collections of one age before the next


@contextmanager
def collect_rarely() -> Iterator[None]:
    """Raise the collector's threshold for the block; it applies to the whole process."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_TUPLES, _YOUNGER, _YOUNGER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def free_garbage() -> None:
    """Free what a failed session has left: its parts refer to one another, and hold what was read."""
    gc.collect()
