"""Waits until a descriptor can be read, whatever its number: `select.select` refuses those from 1024 on."""

import math
import select
from collections.abc import Iterable
from typing import Protocol


class Readable(Protocol):
    """A socket, or what owns one."""

    def fileno(self) -> int:
        """Return its descriptor."""
        ...


def readable(files: Iterable[int | Readable], seconds: float) -> set[int]:
    """Wait at most so long; return the descriptors that can be read, or that have failed."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return {file for file, _ in poll.poll(math.ceil(1000 * seconds))}
