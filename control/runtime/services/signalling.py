"""Signals to a pipeline, over its topic of signals: written, checked as its task checks them, and sent.

In: which rows a person wants.  Out: a message in the topic, whether the task runs or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.services.one_record import OneRecord, send_record
from wrackline.producers.kafka import signal_topic
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka import signals
from wrackline.schemas.kafka.signals import RejectedSignal
from wrackline.schemas.kafka.topic_names import control_topics
from wrackline.schemas.settings.settings_registry import Values

NOT_LISTENED = define(
    "snapshot.not_listened",
    OperatorNeeded,
    "{pipeline} takes no signals from Kafka",
    hint='add kafka to signal.enabled.channels, as "source,kafka", and start it again',
)
NOT_SENT = define(
    "snapshot.not_sent",
    Transient,
    "the request did not arrive in topic {topic} within {seconds:.0f} s",
    hint="see whether the brokers answer: wrackline check <pipeline.toml>; then ask again",
)
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class WantedRows:
    """Which rows are wanted; None or nothing: all of the tables."""

    tables: Sequence[str]
    where: str | None = None
    keys: Sequence[str] = ()
    first: str | None = None
    last: str | None = None
    surrogate_key: str | None = None

    def data(self) -> Mapping[str, object]:
        """Return the data of the signal."""
        data: dict[str, object] = {"type": "incremental", "data-collections": list(self.tables)}
        if self.where is not None:
            data["additional-conditions"] = [
                {"data-collection": table, "filter": self.where} for table in self.tables
            ]
        if self.keys:
            data["keys"] = [_key(text) for text in self.keys]
        if self.first is not None or self.last is not None:
            data["key-range"] = {"from": _key(self.first), "to": _key(self.last)}
        if self.surrogate_key is not None:
            data["surrogate-key"] = self.surrogate_key
        return data


def signal_body(request: str, kind: str, data: Mapping[str, object]) -> bytes | RejectedSignal:
    """Return the message to send, or why the task would refuse it."""
    body = orjson.dumps({"id": request, "type": kind, "data": data})
    read = signals.parse_message(body, request)
    return read if isinstance(read, RejectedSignal) else body


def _key(text: str | None) -> object:
    """Read a key's columns: JSON, or the text itself; one column needs no brackets."""
    if text is None:
        return None
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        read = text
    return read if isinstance(read, list) else [read]


def send_signal(values: Values, body: bytes) -> None:
    """Send a signal that was found good, and wait until it is there."""
    if "kafka" not in values.listed("signal.enabled.channels"):
        raise NOT_LISTENED(pipeline=values.text("name"))
    server, given = values.text("topic.prefix"), values["signal.kafka.topic"]
    topic = control_topics(server).signal if given is None else str(given)
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    signal_topic.prepare_signals(AdminClient(client.admin()), topic)
    send_record(
        client,
        OneRecord(topic, server.encode(), body),
        "requests",
        _SECONDS,
        lambda: NOT_SENT(topic=topic, seconds=_SECONDS),
    )
