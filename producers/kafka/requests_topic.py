"""The topic of receipts, `<group>-requests`: made, and read to its end.

Comes in: the topic as Kafka has it.  Goes out: each request's newest receipt.  A record that can't be read is
reported and skipped: it concerns one request, and no row depends on it.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Final

from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import Receipt, ReceiptKey
from wrackline.schemas.tables.table import SourcePartition

PARTITION: Final = 0
_PATIENCE_S: Final = 5.0  # for a transaction of somebody else to end
_LOOK_S: Final = 0.05


class SharedReceipts:
    """The receipts of a task's partitions, read once for all that open for the first time; on any thread.

    What was read is right for a partition that this task has not opened before: nobody else writes its
    receipts, because forerunners were shut out before.  One that is opened again has written since, so it
    wants a read that begins after it has asked; those that ask while another read is made share the next one.
    """

    def __init__(self, read: Callable[[], Iterable[tuple[ReceiptKey, Receipt]]]) -> None:
        self._read, self._lock = read, Lock()
        self._receipts: Mapping[tuple[str, SourcePartition], Sequence[Receipt]] = {}
        self._begun = self._ended = 0  # the numbers of the last read that has begun, and of the one we have
        self._given: set[tuple[str, SourcePartition]] = set()

    def of(self, connector: str, partition: SourcePartition) -> Sequence[Receipt]:
        """Return the receipts of one, oldest first, for an opening."""
        wanted = connector, partition
        first = self._begun + 1 if wanted in self._given else 1  # the oldest read that is new enough
        with self._lock:
            if self._ended < first:
                self._begun += 1
                found = defaultdict[tuple[str, SourcePartition], list[Receipt]](list)
                for key, receipt in self._read():
                    found[key.connector, SourcePartition(key.server, key.database)].append(receipt)
                self._receipts, self._ended = found, self._begun
            self._given.add(wanted)
            return self._receipts.get(wanted, ())


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
