"""The clients' settings: what exactly-once delivery needs stands, whatever a pipeline says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.kafka.client import Client, Identity, client
from wrackline.schemas.redaction import Secret

ME = Identity("group", "shop", 3, 7)
OURS = {
    "transactional.id": "group.shop.3",
    "enable.idempotence": True,
    "acks": "all",
    "max.in.flight": 1,
    "partitioner": "murmur2_random",
    "allow.auto.create.topics": False,
}


def test_what_a_pipeline_sets_goes_to_the_clients_that_take_it() -> None:
    made = client("kafka:9092", linger_ms=50.0, fetch_max_bytes=1000, sasl_password=Secret("canary"))
    assert made.producer(ME)["linger.ms"] == 50.0
    assert "fetch.max.bytes" not in made.producer(ME)
    assert made.reader(ME)["fetch.max.bytes"] == 1000
    assert "linger.ms" not in made.reader(ME)
    assert not {"linger.ms", "fetch.max.bytes"} & made.admin().keys()
    for settings in (made.producer(ME), made.reader(ME), made.admin()):
        assert settings["bootstrap.servers"] == "kafka:9092"
        assert settings["sasl.password"] == "canary"
    assert "canary" not in repr(made)


def test_what_is_ours_stays_ours() -> None:
    stolen = Client({"bootstrap.servers": "k", **dict.fromkeys(OURS, "stolen"), "isolation.level": "stolen"})
    settings = stolen.producer(ME)
    assert {name: settings[name] for name in OURS} == OURS
    assert stolen.reader(ME)["isolation.level"] == "read_committed"


@given(st.integers(1, 1_000_000), st.integers(1024, 900_000_000))
def test_the_largest_record_fits_the_memory(kbytes: int, row: int) -> None:
    made = Client({"bootstrap.servers": "k", "queue.buffering.max.kbytes": kbytes}, row)
    settings = made.producer(ME)
    assert settings["message.max.bytes"] >= 2 * row
    assert settings["queue.buffering.max.kbytes"] * 1024 >= settings["message.max.bytes"]


@pytest.mark.parametrize(("given", "slow"), [({}, 0.25), ({"retry.backoff.ms": 100}, 0.05)])
def test_a_commit_is_slow_at_half_of_a_retrys_wait(given: dict[str, int], slow: float) -> None:
    assert Client({"bootstrap.servers": "k", **given}).slow == slow
