"""The topic of receipts, `<group>-requests`: made, and read to its end.

Comes in: the topic as Kafka has it.  Goes out: each request's newest receipt.  A record that can't be read is
told and passed over: it is one request's, and no row depends on it.
"""

from collections.abc import Callable, Iterator
from typing import Final

from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.transaction import Slot
from wrackline.schemas import receipts
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.receipts import Key, Receipt

PARTITION: Final = 0


def prepare(admin: AdminClient, topic: str, replication: int, most_bytes: int) -> None:
    """Make the topic, unless it is there; a receipt of many tables is a long record."""
    offsets_topic.prepare(admin, topic, PARTITION + 1, replication, {"max.message.bytes": str(most_bytes)})


def read(
    admin: AdminClient,
    reader: Settings,
    topic: str,
    tell: Callable[[WracklineError], None],
    *,
    fenced: bool,
) -> Iterator[tuple[Key, Receipt]]:
    """Every committed receipt, oldest first; who is not `fenced` sees less while a transaction is open."""
    slot = Slot(topic, PARTITION)
    for message in offsets_topic.messages(admin, reader, slot, fenced=fenced):
        key = receipts.parse_key(message.key)
        if key is None or message.value is None:
            continue
        try:
            receipt = receipts.decode(message.value, partition=PARTITION, offset=message.place.offset)
        except WracklineError as error:
            tell(error)
        else:
            yield key, receipt
