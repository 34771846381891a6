"""How a worker's C library keeps memory: in one heap, and what it has grown by it keeps for a while.

Records are copied into the Kafka client by one thread and let go by another, hundreds of megabytes a second.
With glibc's own settings each thread has a heap of its own, which grows and shrinks by small steps all the
time: a tenth of a task's time went into page faults, and twice the memory into heaps half empty.
"""

import ctypes
from typing import Final

# Names and numbers of glibc's malloc.h; other C libraries have no such function.
_TRIM_THRESHOLD: Final = -1
_TOP_PAD: Final = -2
_ARENA_MAX: Final = -8

_KEPT: Final = 64 << 20  # bytes free at the heap's end before any are given back
_STEP: Final = 16 << 20  # bytes that it grows by


def keep_together() -> bool:
    """Settle it for the whole process, before its other threads begin; whether this library can.

    A thread that is there has a heap of its own already, and others would be given that one too.
    """
    settle = getattr(ctypes.CDLL(None), "mallopt", None)
    if settle is None:
        return False
    settle.argtypes, settle.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    wished = ((_ARENA_MAX, 1), (_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _STEP))
    return all(settle(option, value) == 1 for option, value in wished)
