"""The newest requests of a pipeline, from its topic of receipts.

In: the topic's records.  Out: receipts, each read only when somebody looks: one of ten thousand tables is
a long text, and is written every few seconds.  Anybody who may write there decides how long one is, so all
of them together have a bound.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import Receipt

MOST: Final = 50  # requests
MOST_BYTES: Final = 64 << 20


class _StoredReceipt(NamedTuple):
    value: bytes
    offset: int


class ReceiptFold:
    """The newest receipt of each request; of many requests, those that changed last."""

    def __init__(self) -> None:
        self._records: dict[bytes, _StoredReceipt] = {}
        self._bytes = 0

    def apply(self, key: bytes, value: bytes | None, offset: int) -> None:
        """Take the next record."""
        self._forget(key)
        if value is not None:
            self._records[key] = _StoredReceipt(value, offset)
            self._bytes += len(key) + len(value)
        while len(self._records) > MOST or self._bytes > MOST_BYTES:
            self._forget(next(iter(self._records)))

    def _forget(self, key: bytes) -> None:
        if (known := self._records.pop(key, None)) is not None:
            self._bytes -= len(key) + len(known.value)

    def newest_first(self) -> Sequence[Receipt]:
        """Return them; one that can't be read is left out."""
        found = []
        for value, offset in reversed(self._records.values()):
            try:
                found.append(receipts.decode(value, partition=0, offset=offset))
            except WracklineError:  # `wrackline snapshot status` reports it
                continue
        return tuple(found)
