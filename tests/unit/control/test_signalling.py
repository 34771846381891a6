"""A request for a Kafka that does not answer: the caller hears that it is not there; nothing repeats it."""

import socket

import pytest

from tests.unit.producers.test_assembly import values
from wrackline.control.runtime.services import signalling
from wrackline.producers.kafka import signal_topic
from wrackline.schemas.errors import Transient


def test_a_request_that_no_broker_took_is_to_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signalling, "_SECONDS", 0.5)
    monkeypatch.setattr(signal_topic, "_SECONDS", 0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        given = {
            "kafka.bootstrap.servers": f"127.0.0.1:{nobody.getsockname()[1]}",
            "signal.enabled.channels": "kafka",
        }
        with pytest.raises(Transient) as told:
            signalling.send_signal(values(**given), b"{}")
    assert told.value.code == signalling.NOT_SENT.code
