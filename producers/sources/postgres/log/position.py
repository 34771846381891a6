"""A place in PostgreSQL's log, as our offsets keep it.

    commit record of A [start ... end]   commit record of B [start ... end]
                        ^ after A: (end of A, 0)      ^ inside B, three out: (start of B, 3)

A transaction is named by the unique start of its commit record; its end may be the start of the next.  A
change's own LSN is not a position: it repeats, and goes backwards between transactions.  To resume inside B,
the server sends B again, and the first three are skipped: changes and messages are counted as the server
sends them, because B may be cut after each.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from wrackline.producers.contract.saved_fields import SavedFieldError, number_in, text_in
from wrackline.producers.contract.steps import Saved
from wrackline.schemas.errors import Definite, define

POSITION_UNREADABLE = define(
    "pg.position_unreadable",
    Definite,
    "the stored position of {slot} can't be read: {reason}",
    hint="look at it: wrackline offsets show <pipeline.toml>;"
    " or start over: wrackline offsets reset <pipeline.toml>",
)


_LSN: Final = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def lsn_text(lsn: int) -> str:
    """Write an LSN as the server does."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    """Read an LSN as the server writes it: two numbers of 32 bits."""
    halves = _LSN.fullmatch(text)
    if halves is None:
        raise ValueError("an LSN is two hexadecimal numbers with a slash between")
    return int(halves[1], 16) << 32 | int(halves[2], 16)


@dataclass(frozen=True, slots=True)
class PgHistory:
    """Which log this is: a position means nothing in another log."""

    system: str
    timeline: int
    slot: str


@dataclass(frozen=True, slots=True, order=True)
class PgPosition:
    """`done` changes and messages of the transaction at `lsn` are published; 0: all that ended by then."""

    epoch: int
    lsn: int
    done: int = 0
    resume: int = field(default=0, compare=False)  # where the server is asked to begin
    history: PgHistory | None = field(default=None, compare=False)
    committed: int = field(default=0, compare=False)  # where the transaction before ended; 0: unknown

    def saved(self) -> Saved:
        """Render it for the offsets topic."""
        made: dict[str, str | int] = {
            "epoch": self.epoch,
            "lsn": lsn_text(self.lsn),
            "done": self.done,
            "resume": lsn_text(self.resume),
        }
        if self.committed:
            made["committed"] = lsn_text(self.committed)
        if self.history is not None:
            made |= {
                "system": self.history.system,
                "timeline": self.history.timeline,
                "slot": self.history.slot,
            }
        return made


def position_of(saved: Saved, slot: str) -> PgPosition:
    """Read a saved position; refuse it if a part is missing or has another form."""
    try:
        return PgPosition(
            number_in(saved, "epoch"),
            _lsn(saved, "lsn"),
            number_in(saved, "done"),
            _lsn(saved, "resume"),
            PgHistory(text_in(saved, "system"), number_in(saved, "timeline"), text_in(saved, "slot")),
            _lsn(saved, "committed") if "committed" in saved else 0,
        )
    except SavedFieldError as exc:
        raise POSITION_UNREADABLE(slot=slot, reason=exc) from None


def _lsn(saved: Saved, name: str) -> int:
    text = text_in(saved, name)
    try:
        return lsn_number(text)
    except ValueError:
        raise SavedFieldError(f"{name} is not an LSN") from None
