"""The Kafka clients' settings: what a pipeline allows itself, and what exactly-once delivery needs.

Comes in: the typed values below `kafka.`, which have passed an allow-list.  Goes out: one map for each kind
of client.  What only we set (identity, acknowledgement, order, partitioner, isolation) is set last.
A record that does not fit into the client's memory could never be sent, so the memory is never smaller.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.declared.kafka_client_settings import PRODUCING, READING
from wrackline.schemas.settings.value_kinds import Value

Settings = dict[str, Any]

TOKENS: Final = "OAUTHBEARER"
_LOG: Final = logging.getLogger("wrackline.kafka")
_LOG.addHandler(logging.NullHandler())  # a short command says its own error, not the client's hundred lines
# With more, the leader of a partition may refuse the first batch and accept the second one, because it knows
# no sequence yet; it then takes the first for a duplicate, which is lost although all of it commits.
_IN_FLIGHT: Final = 1
_ENVELOPE_BYTES: Final = 1 << 20  # what a record has besides a row's two images
_BATCH_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner of transactions; the id is fixed, so that a successor fences its forerunner."""

    group: str
    connector: str
    task: int
    generation: int

    @property
    def transactional_id(self) -> str:
        """The id that Kafka fences by."""
        return f"{self.group}.{self.connector}.{self.task}"

    @property
    def client_id(self) -> str:
        """The name of this owner in brokers' logs."""
        return f"{self.connector}.{self.task}.{self.generation}"


@dataclass(frozen=True, slots=True)
class Client:
    """How to reach Kafka, and how large a row may be."""

    given: Mapping[str, Value]  # the settings below `kafka.`, without it
    most_row_bytes: int = 64 << 20

    @property
    def most_record_bytes(self) -> int:
        """The largest record: an update carries its row before and after."""
        given = self.given.get("message.max.bytes")
        return given if isinstance(given, int) else 2 * self.most_row_bytes + _ENVELOPE_BYTES

    @property
    def slow(self) -> float:
        """Seconds from which a commit may have been repeated.

        They are three quarters of the wait before a repeat, whose jitter leaves at least four fifths of it.
        """
        return self._milliseconds("retry.backoff.ms", 500) * 0.75 / 1000

    def producer(self, identity: Identity) -> Settings:
        """Return the settings of a task's one producer."""
        memory = self.given.get("queue.buffering.max.kbytes")
        kbytes = memory if isinstance(memory, int) else 131_072
        return {
            "retry.backoff.ms": 500,  # a repeated EndTxn shows as time
            "retry.backoff.max.ms": 1000,
            "socket.timeout.ms": 10_000,
            "transaction.timeout.ms": 60_000,
            "message.timeout.ms": 45_000,
            "statistics.interval.ms": 1000,
            "linger.ms": 5,
            "compression.type": "lz4",
            "batch.size": _BATCH_BYTES,
            "batch.num.messages": 100_000,
            "queue.buffering.max.messages": 0,  # bytes are the bound
            **self._of(READING),
            "queue.buffering.max.kbytes": max(kbytes, self.most_record_bytes // 1024 + 1),
            "message.max.bytes": self.most_record_bytes,
            "transactional.id": identity.transactional_id,
            "client.id": identity.client_id,
            "enable.idempotence": True,
            "acks": "all",
            "max.in.flight": _IN_FLIGHT,
            "partitioner": "murmur2_random",
            "allow.auto.create.topics": False,
            "delivery.report.only.error": True,
            "logger": _LOG,
        }

    def reporter(self, name: str) -> Settings:
        """Return the settings of a producer that sends something now and then, without a transaction."""
        return {
            "linger.ms": 5,
            **self._of(READING),
            "client.id": name,
            "enable.idempotence": True,
            "acks": "all",
            "allow.auto.create.topics": False,
            "logger": _LOG,
        }

    def reader(self, identity: Identity) -> Settings:
        """Return the settings of the reader of a task's own offsets; it joins no group."""
        return {
            "fetch.wait.max.ms": 10,  # the end of a partition is said after such a wait
            **self._of(PRODUCING),
            "client.id": identity.client_id,
            "group.id": identity.transactional_id,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "logger": _LOG,
        }

    def admin(self) -> Settings:
        """Return the settings of the client that administers topics."""
        return {**self._of(PRODUCING | READING), "logger": _LOG}

    @property
    def redactor(self) -> Redactor:
        """Removes the secrets among these settings from what the client or a broker says."""
        return Redactor(value for value in self.given.values() if isinstance(value, Secret))

    def _of(self, others: frozenset[str]) -> Settings:
        """Return the given settings that such a client takes; a token always comes from the endpoint."""
        token = {"sasl.oauthbearer.method": "oidc"} if self.given.get("sasl.mechanism") == TOKENS else {}
        return token | {name: _plain(value) for name, value in self.given.items() if name not in others}

    def _milliseconds(self, name: str, default: int) -> int:
        value = self.given.get(name)
        return value if isinstance(value, int) else default


def client(bootstrap: str, **more: Value) -> Client:
    """Return a client with only the brokers and a few settings, whose names have _ in place of a dot."""
    named = {name.replace("_", "."): value for name, value in more.items()}
    return Client(MappingProxyType({"bootstrap.servers": bootstrap, **named}))


def _plain(value: Value) -> object:
    return value.reveal() if isinstance(value, Secret) else value
