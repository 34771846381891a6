"""A position of the fake log: (epoch, lsn, done).

`done` entries of the transaction at `lsn` lie behind it.  A transaction's end is the next lsn with
nothing done, so the places of one log are ordered as tuples are.
"""

from dataclasses import dataclass
from typing import cast

from wrackline.producers.contract.steps import Saved
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.seq import log_prefix

UNREADABLE = define("test.fake_saved", OperatorNeeded, "a saved position needs {parts}", hint="reset it")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position of the fake log."""

    epoch: int
    lsn: int
    done: int = 0

    def saved(self) -> Saved:
        return {"v": 1, "epoch": self.epoch, "lsn": self.lsn, "done": self.done}

    @classmethod
    def parse(cls, saved: Saved) -> "Place":
        try:
            epoch, lsn, done = (saved[name] for name in ("epoch", "lsn", "done"))
        except KeyError as exc:
            raise UNREADABLE(parts="epoch, lsn, done") from exc
        return cls(cast("int", epoch), cast("int", lsn), cast("int", done))

    @property
    def prefix(self) -> bytes:
        """The seq of log events at this place, without the ordinal."""
        return log_prefix(self.epoch, self.lsn.to_bytes(8, "big"))
