"""A place in PostgreSQL's log, as our offsets keep it.

    commit record of A [start ... end]   commit record of B [start ... end]
                        ^ after A: (end of A, 0)      ^ inside B, three out: (start of B, 3)

A transaction is named by the start of its commit record, which no other has; its end may be the
next one's start.  A change's own LSN is no position: it repeats, and goes backwards between
transactions.  To resume inside B the server sends B again, and the first three are skipped: changes and
messages are counted, as the server sends them, for B may be cut after each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wrackline.producers.changes import Saved
from wrackline.schemas.errors import Definite, define

POSITION_UNREADABLE = define(
    "pg.position_unreadable",
    Definite,
    "the stored position of {slot} can't be read: {reason}",
    hint="look at it: wrackline offsets show <pipeline.toml>;"
    " or begin anew: wrackline offsets reset <pipeline.toml>",
)


def lsn_text(lsn: int) -> str:
    """Write an LSN as the server does."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    """Read an LSN as the server writes it."""
    high, slash, low = text.partition("/")
    if not slash:
        raise ValueError("an LSN is two hexadecimal numbers with a slash between")
    return int(high, 16) << 32 | int(low, 16)


@dataclass(frozen=True, slots=True)
class History:
    """Which log this is: a position means nothing in another one."""

    system: str
    timeline: int
    slot: str


@dataclass(frozen=True, slots=True, order=True)
class PgPosition:
    """`done` changes and messages of the transaction at `lsn` are out; 0: all that ended up to there."""

    epoch: int
    lsn: int
    done: int = 0
    resume: int = field(default=0, compare=False)  # where the server is asked to begin
    history: History | None = field(default=None, compare=False)

    def saved(self) -> Saved:
        """Render it for the offsets topic."""
        made: dict[str, str | int] = {
            "epoch": self.epoch,
            "lsn": lsn_text(self.lsn),
            "done": self.done,
            "resume": lsn_text(self.resume),
        }
        if self.history is not None:
            made |= {
                "system": self.history.system,
                "timeline": self.history.timeline,
                "slot": self.history.slot,
            }
        return made


def position_of(saved: Saved, slot: str) -> PgPosition:
    """Read a position back; what is missing or of another form is refused."""
    try:
        return PgPosition(
            _number(saved, "epoch"),
            lsn_number(_text(saved, "lsn")),
            _number(saved, "done"),
            lsn_number(_text(saved, "resume")),
            History(_text(saved, "system"), _number(saved, "timeline"), _text(saved, "slot")),
        )
    except (KeyError, ValueError, TypeError) as exc:
        raise POSITION_UNREADABLE(slot=slot, reason=exc) from None


def _number(saved: Mapping[str, object], name: str) -> int:
    value = saved[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{name} is no number")
    return value


def _text(saved: Mapping[str, object], name: str) -> str:
    value = saved[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value
