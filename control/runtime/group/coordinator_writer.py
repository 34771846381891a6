"""The coordinator's writer: the only one that may write to `<group>-configs`.

    take    fence the previous writer -> record that we write -> read it ourselves: now all before it is known
    write   one transaction per change, so that a connector is written whole or not at all
    send    a wish, without a transaction: one round trip, and the next need not wait for it.  A transaction
            needs three, and begins only when Kafka has written the end of the one before to each partition

Why it is right: all writers use one transactional id, so Kafka refuses the previous writer; and we decide
only after we have read past our own first record.  Kafka takes what a previous writer sends, but readers
pass over it (`config_records.py`).  So a wish is granted when we have read it, and our term is still the
newest.
"""

import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from wrackline.control.runtime.group.config_records import Change, CoordinatorTerm, Sent, term_record
from wrackline.control.runtime.rest.model.connectors import NO_COORDINATOR
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import of_exception
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor
from wrackline.schemas.kafka.topic_names import internal_topics

PATIENCE: Final = 20.0  # seconds for fencing, and for reading what was written


class CoordinatorWriter:
    """Writes, until another worker does; only one thread uses it at a time."""

    def __init__(self, client: Client, group: str) -> None:
        self._client, self._slot, self._group = client, OffsetsSlot(internal_topics(group).configs, 0), group
        self._transactor: Transactor | None = None
        self._sender: Producer | None = None
        self._sent, self._refused = Sent(0, 0), cast("KafkaError | None", None)
        self.office: CoordinatorTerm | None = None

    def take(self, worker: str, url: str, *, users: bool, secret: str = "") -> CoordinatorTerm:
        """Fence the previous writer, and record that we write; without a secret, a new one is made."""
        self.drop()
        named = self._client.producer(Identity(self._group, worker, 0, 0))
        settings = named | {"transactional.id": f"{self._group}.coordinator"}
        transactor = Transactor(settings, self._slot, time.monotonic, self._client.slow)
        taken = CoordinatorTerm(worker, url, uuid.uuid4().hex, users, secret or secrets.token_hex(32))
        try:
            transactor.fence(PATIENCE)
            transactor.commit(term_record(taken), (), ())
        except BaseException:
            transactor.drop()
            raise
        self._transactor, self.office = transactor, taken
        wishes = self._client.reporter(f"{self._group}.wishes")
        self._sender = Producer({**wishes, "linger.ms": 0, "message.timeout.ms": int(PATIENCE * 1000)})
        self._sent, self._refused = Sent(0, 0), None
        return taken

    def numbered(self, read: CoordinatorTerm | None) -> CoordinatorTerm | None:
        """Take the number that our term was read with; return our term."""
        if self.office is not None and self.office == read:
            self.office = replace(self.office, number=read.number)
        return self.office

    def write(self, changes: Sequence[Change]) -> None:
        """Write all of it or nothing; if `office` is None afterwards, it must be taken again."""
        if self._transactor is None or self.office is None:
            unknown = NO_COORDINATOR()
            raise unknown
        try:
            self._transactor.commit(term_record(self.office), (), changes)
        except BaseException:
            self.drop()
            raise
        if self._transactor.is_doubtful():  # a repeated end of this transaction may reach the next
            self.drop()  # the changes are written

    def hear(self) -> None:
        """Take what the client reports while nothing is written."""
        if self._transactor is not None:
            self._transactor.hear()

    def send(self, record: Callable[[Sent], Change]) -> Sent:
        """Send a record; it counts when it is read, if our term is the newest there."""
        if self._sender is None or self.office is None:
            unknown = NO_COORDINATOR()
            raise unknown
        self._sent = Sent(self.office.number, self._sent.nth + 1)
        key, value = record(self._sent)
        self._sender.poll(0)  # a report that nobody takes counts as a record that waits
        try:
            self._sender.produce(self._slot.topic, value, key, self._slot.partition, self._arrived)
        except (KafkaException, BufferError) as error:
            raise of_exception(error, self._group, self._slot.topic) from error
        return self._sent

    def check_sent(self) -> None:
        """Raise why a record that was sent did not arrive; any thread may ask."""
        sender = self._sender  # which another thread may drop
        if sender is not None:
            sender.poll(0)
        if self._refused is not None:
            raise of_exception(KafkaException(self._refused), self._group, self._slot.topic)

    def _arrived(self, error: KafkaError | None, _: Message) -> None:
        self._refused = self._refused or error

    def drop(self) -> None:
        """Write no more."""
        if self._transactor is not None:
            self._transactor.drop()
        if self._sender is not None:
            self._sender.purge()
        self._transactor = self._sender = self.office = None
