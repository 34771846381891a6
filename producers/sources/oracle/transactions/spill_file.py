"""Changes of one transaction on disk, in segments: the last one can be taken back.

The file has no name from the beginning where the system allows it, so nothing is left behind by a process
that dies.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, NamedTuple

import orjson

from wrackline.producers.sources.oracle.transactions.mined_change import MinedChange
from wrackline.schemas.errors import Transient, define

SEGMENT_BYTES: Final = 256 << 10

SPILL_FAILED = define(
    "oracle.spill_failed",
    Transient,
    "the changes of open transactions do not fit into memory, and {folder} does not take them: {reason}",
    hint="make room there: df -h {folder}; no transaction is given up: it is tried again from the oldest open"
    " one on",
)


class _Segment(NamedTuple):
    offset: int
    size: int
    gone: set[int]  # places of changes that were taken back


class SpillFile:
    """Segments of changes, in the order in which they were made."""

    def __init__(self, folder: Path) -> None:
        """Make the file."""
        self._folder = folder
        self._segments: list[_Segment] = []
        self._end = 0
        try:
            self._file = TemporaryFile(dir=folder, prefix="wrackline-")  # noqa: SIM115 - it is closed by `close`
        except OSError as exc:
            raise self._failure(exc) from exc

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return self._end

    def append(self, changes: Sequence[MinedChange]) -> None:
        """Write a segment behind the others."""
        content = orjson.dumps([change.plain() for change in changes], default=tuple)
        try:
            self._file.seek(self._end)
            self._file.write(content)
            self._file.flush()
        except OSError as exc:
            raise self._failure(exc) from exc
        self._segments.append(_Segment(self._end, len(content), set()))
        self._end += len(content)

    def read(self, number: int) -> list[tuple[int, MinedChange]]:
        """Return what is left of a segment, each change with its place."""
        segment = self._segments[number]
        try:
            self._file.seek(segment.offset)
            content = self._file.read(segment.size)
        except OSError as exc:
            raise self._failure(exc) from exc
        plain = enumerate(orjson.loads(content))
        return [(at, MinedChange.of_plain(values)) for at, values in plain if at not in segment.gone]

    def drop(self, number: int, at: int) -> None:
        """Note that a change was taken back."""
        self._segments[number].gone.add(at)

    def take_back(self) -> list[MinedChange]:
        """Take the last segment off, and return what is left of it."""
        changes = [change for _, change in self.read(len(self._segments) - 1)]
        self._end = self._segments.pop().offset
        try:
            self._file.truncate(self._end)
        except OSError as exc:
            raise self._failure(exc) from exc
        return changes

    def close(self) -> None:
        """Give the file up."""
        self._file.close()

    def _failure(self, exc: OSError) -> Exception:
        return SPILL_FAILED(folder=self._folder, reason=exc.strerror or type(exc).__name__)
