"""Which logical messages are published: those whose prefix the settings choose, up to a size.  Pure.

Any role that can log in to PostgreSQL can write a message of any size, so one that is too large must not stop
the pipeline: it is left out, and the position moves past it.  The same is true of a topic that Kafka refuses.
The prefix is bounded too, because it is matched against the pipeline's patterns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from wrackline.producers.contract.steps import Message
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.filters import Listed, compile_list
from wrackline.schemas.settings.value_kinds import Value

MESSAGES_TOO_LARGE = define(
    "kafka.message_too_large",
    OperatorNeeded,
    "logical messages are left out because they are too large: {count} so far; the last one has {size}"
    " bytes, and the limit is {most}",
    hint="if you need them, raise max.row.bytes, and kafka.message.max.bytes if it is set; if not, let"
    " fewer roles write messages: docs/postgresql.md, Logical messages",
)
PREFIXES_TOO_LONG = define(
    "kafka.message_prefix_too_long",
    OperatorNeeded,
    "logical messages are left out because their prefix is too long: {count} so far; the last one has"
    " {size} characters, and the limit is {most}",
    hint="write them with a shorter prefix, or let fewer roles write messages: docs/postgresql.md, Logical"
    " messages",
)
MESSAGES_REFUSED = define(
    "kafka.messages_left_out",
    OperatorNeeded,
    "logical messages are left out from now on, because Kafka rejects their topic {topic}: {reason} [{code}]",
    hint="see wrackline errors {code}; then restart the pipeline, which publishes the messages from then on",
)
PREFIX_MOST: Final = 1024  # characters
_ENVELOPE_BYTES: Final = 16 << 10  # bytes of a record besides the message: its source, the prefix as key


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """The prefixes that are published, or those that are not; without any list, all are published."""

    included: tuple[Listed, ...] = ()
    excluded: tuple[Listed, ...] = ()
    most: int = 64 << 20  # bytes of a message

    @classmethod
    def of(cls, values: Mapping[str, Value], most_record_bytes: int) -> Self:
        """Read the lists; a source without logical messages has none. A message must fit into a record."""
        most = values["max.row.bytes"]
        if not isinstance(most, int):
            raise TypeError("max.row.bytes is a number")
        return cls(
            compile_list(values, "message.prefix.include.list"),
            compile_list(values, "message.prefix.exclude.list"),
            max(0, min(most, most_record_bytes - _ENVELOPE_BYTES)),
        )

    def excess(self, message: Message) -> int | None:
        """Return the size of a message that is too large, or None."""
        size = len(message.prefix.encode()) + len(message.content)
        return size if size > self.most else None

    def takes(self, prefix: str) -> bool:
        """Return whether messages with this prefix are published."""
        if self.included:
            return any(one.matches(prefix) for one in self.included)
        return not any(one.matches(prefix) for one in self.excluded)
