"""One text per event, whose order is the order of the source's history.

    epoch (2 bytes) | position (the source's own fixed width) | class (1) | ordinal (4)

in lowercase hex.  Each part is unsigned, big-endian and of fixed width for a source kind, so a comparison of
two texts compares the four parts in turn.  Class 00 is a snapshot row and ff a log event: at one position
every log event wins over a row that was read there.  All parts come only from the log, so the same event has
the same text after any crash.
"""

from enum import IntEnum
from typing import NamedTuple

from wrackline.schemas.errors import Definite, OperatorNeeded, define

EPOCH_MAX = 0xFFFF
ORDINAL_MAX = 0xFFFF_FFFF

_EPOCH_DIGITS = 4
_CLASS_DIGITS = 2
_ORDINAL_DIGITS = 8

EPOCH_OVERFLOW = define(
    "seq.epoch_overflow",
    OperatorNeeded,
    "the log of this source was interrupted more often than an epoch can count ({epoch})",
    hint="start a connector with a new topic.prefix; its topics start again at epoch 0",
)
ORDINAL_OVERFLOW = define(
    "seq.ordinal_overflow",
    Definite,
    "a transaction has more row changes than an ordinal can count ({ordinal})",
    hint="read its tables again instead: wrackline snapshot start <pipeline.toml> '<table>'",
)
NOT_A_SEQ = define(
    "seq.malformed",
    Definite,
    "a seq of {length} characters does not fit a source whose positions have {width} bytes",
    hint="check that the topic was written by this connector: kcat -b <brokers> -C -t '<topic>' -o -5 -e",
)


class EventClass(IntEnum):
    """What the event is; the higher one wins at the same position."""

    SNAPSHOT = 0x00
    LOG = 0xFF


class Seq(NamedTuple):
    """The parts of a seq; tuples and their texts are in the same order."""

    epoch: int
    position: bytes
    event_class: EventClass
    ordinal: int

    def text(self) -> str:
        """The fixed-width text, as an event contains it."""
        return (_prefix(self.epoch, self.position, self.event_class) + ordinal_digits(self.ordinal)).decode()


def log_prefix(epoch: int, position: bytes) -> bytes:
    """All but the ordinal, for the log events of one position: made once, used for every event."""
    return _prefix(epoch, position, EventClass.LOG)


def snapshot_prefix(epoch: int, position: bytes) -> bytes:
    """All but the ordinal, for the rows of one chunk."""
    return _prefix(epoch, position, EventClass.SNAPSHOT)


def ordinal_digits(ordinal: int) -> bytes:
    """The eight hex digits that follow a prefix."""
    if not 0 <= ordinal <= ORDINAL_MAX:
        raise ORDINAL_OVERFLOW(ordinal=ordinal)
    return b"%08x" % ordinal


def ordinal_in(event: bytes) -> int:
    """Read the ordinal of a log event from its value, which ends with it."""
    return int(event[-_ORDINAL_DIGITS:], 16)


def same_ordinal(event: bytes, other: bytes) -> bool:
    """Whether two log events of one transaction are parts of one change."""
    return event[-_ORDINAL_DIGITS:] == other[-_ORDINAL_DIGITS:]


def parse(text: str, position_width: int) -> Seq:
    """Split a seq into its parts; a text that `Seq.text` could not have made is refused."""
    position_end = _EPOCH_DIGITS + 2 * position_width
    class_end = position_end + _CLASS_DIGITS
    wrong = NOT_A_SEQ(length=len(text), width=position_width)
    if len(text) != class_end + _ORDINAL_DIGITS or not set(text) <= set("0123456789abcdef"):
        raise wrong
    try:
        event_class = EventClass(int(text[position_end:class_end], 16))
    except ValueError as exc:
        raise wrong from exc
    return Seq(
        int(text[:_EPOCH_DIGITS], 16),
        bytes.fromhex(text[_EPOCH_DIGITS:position_end]),
        event_class,
        int(text[class_end:], 16),
    )


def _prefix(epoch: int, position: bytes, event_class: EventClass) -> bytes:
    if not 0 <= epoch <= EPOCH_MAX:
        raise EPOCH_OVERFLOW(epoch=epoch)
    return b"%04x%s%02x" % (epoch, position.hex().encode(), event_class)
