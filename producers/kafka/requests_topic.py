"""The topic of receipts, `<group>-requests`: made, and read to its end.

Comes in: the topic as Kafka has it.  Goes out: each request's newest receipt.  A record that can't be read is
reported and skipped: it concerns one request, and no row depends on it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import Receipt, ReceiptKey

PARTITION: Final = 0
_PATIENCE_S: Final = 5.0  # for a transaction of somebody else to end
_LOOK_S: Final = 0.05


def prepare_requests(admin: AdminClient, topic: str, replication: int, most_bytes: int) -> None:
    """Make the topic, unless it is there; a receipt of many tables is a long record."""
    offsets_topic.prepare_offsets(
        admin, topic, PARTITION + 1, replication, {"max.message.bytes": str(most_bytes)}
    )


def read_beside_others(
    admin: AdminClient,
    reader: Settings,
    topic: str,
    tell: Callable[[WracklineError], None],
    clock: Callable[[], float],
) -> Sequence[tuple[ReceiptKey, Receipt]]:
    """Return each request's newest receipt, oldest first; not less because of a transaction that is open.

    A neighbour's of the same task is open at any time, and hides what was committed behind its records.
    """
    until = clock() + _PATIENCE_S
    while True:
        try:
            return list(read_receipts(admin, reader, topic, tell, fenced=True))
        except Transient as error:
            if error.code != offsets_topic.HIDDEN.code or clock() > until:
                raise
        time.sleep(_LOOK_S)


def read_receipts(
    admin: AdminClient,
    reader: Settings,
    topic: str,
    tell: Callable[[WracklineError], None],
    *,
    fenced: bool,
) -> Iterator[tuple[ReceiptKey, Receipt]]:
    """Yield each request's newest committed receipt, oldest first.

    A reader that is not `fenced` sees less while a transaction is open.  A receipt of ten thousand tables is
    a long text, and one was written every few seconds: so only the newest is read.
    """
    newest: dict[bytes, tuple[int, bytes]] = {}
    for message in offsets_topic.read_records(admin, reader, OffsetsSlot(topic, PARTITION), fenced=fenced):
        if message.key is not None and message.value is not None:
            newest.pop(message.key, None)
            newest[message.key] = message.place.offset, message.value
    for text, (offset, value) in newest.items():
        key = receipts.parse_key(text)
        if key is None:
            continue
        try:
            receipt = receipts.decode(value, partition=PARTITION, offset=offset)
        except WracklineError as error:
            tell(error)
        else:
            yield key, receipt
