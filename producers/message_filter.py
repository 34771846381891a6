"""Which logical messages are published: those whose prefix the settings choose, up to a size.  Pure.

Whoever can log in to PostgreSQL can write a message of any size, so one that is too large must not stop the
pipeline: it is left out, and the position moves past it.  The prefix is bounded too, because it is matched
against the pipeline's patterns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from wrackline.producers.changes import Message
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.filters import Listed, listed
from wrackline.schemas.setting_kinds import Value

MESSAGES_TOO_LARGE = define(
    "kafka.message_too_large",
    OperatorNeeded,
    "{count} logical messages were too large and are left out; the last one has {size} bytes, and {most} are"
    " allowed",
    hint="raise max.row.bytes if they are wanted; if they are not, let fewer roles write messages:"
    " docs/postgresql.md, Logical messages",
)
PREFIX_MOST: Final = 1024


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """The prefixes that are published, or those that are not; without either, all are."""

    included: tuple[Listed, ...] = ()
    excluded: tuple[Listed, ...] = ()
    most: int = 64 << 20  # bytes of a message

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Read the lists; a source without logical messages has none."""
        most = values["max.row.bytes"]
        if not isinstance(most, int):
            raise TypeError("max.row.bytes is a number")
        return cls(
            listed(values, "message.prefix.include.list"), listed(values, "message.prefix.exclude.list"), most
        )

    def excess(self, message: Message) -> int | None:
        """The size of a message that is too large, or None."""
        size = len(message.prefix.encode()) + len(message.content)
        return size if size > self.most or len(message.prefix) > PREFIX_MOST else None

    def takes(self, prefix: str) -> bool:
        """Whether messages with this prefix are published."""
        if self.included:
            return any(one.matches(prefix) for one in self.included)
        return not any(one.matches(prefix) for one in self.excluded)
