"""The clients' settings: what exactly-once delivery needs stands, whatever a pipeline says."""

import logging

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
    """A-CLIENT-07."""
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


@pytest.mark.parametrize(("given", "slow"), [({}, 0.375), ({"retry.backoff.ms": 100}, 0.075)])
def test_a_commit_is_slow_at_half_of_a_retrys_wait(given: dict[str, int], slow: float) -> None:
    assert Client({"bootstrap.servers": "k", **given}).slow == slow


def test_each_kind_of_client_is_made_with_this_and_nothing_else() -> None:
    """T-E08."""
    made, log = Client({"bootstrap.servers": "k"}), logging.getLogger("wrackline.kafka")
    assert made.admin() == {"bootstrap.servers": "k", "logger": log}
    said = {"bootstrap.servers": "k", "allow.auto.create.topics": False, "logger": log}
    sure = {"enable.idempotence": True, "acks": "all", "linger.ms": 5}
    assert made.reporter("name") == said | sure | {"client.id": "name"}
    assert made.reader(ME) == said | {
        "fetch.wait.max.ms": 10,
        "client.id": "shop.3.7",
        "group.id": "group.shop.3",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    assert made.producer(ME) == said | sure | OURS | {
        "retry.backoff.ms": 500,
        "retry.backoff.max.ms": 1000,
        "socket.timeout.ms": 10_000,
        "transaction.timeout.ms": 60_000,
        "message.timeout.ms": 45_000,
        "statistics.interval.ms": 1000,
        "compression.type": "lz4",
        "batch.size": 1_000_000,
        "batch.num.messages": 100_000,
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 129 * 1024 + 1,
        "message.max.bytes": 129 << 20,
        "client.id": "shop.3.7",
        "delivery.report.only.error": True,
    }


def test_memory_is_as_it_was_given_or_as_large_as_a_record() -> None:
    small = Client({"bootstrap.servers": "k"}, most_row_bytes=1 << 20)
    assert small.producer(ME)["queue.buffering.max.kbytes"] == 131_072
    given = Client({"queue.buffering.max.kbytes": 64, "message.max.bytes": 10_240}).producer(ME)
    assert (given["queue.buffering.max.kbytes"], given["message.max.bytes"]) == (64, 10_240)


def test_a_token_comes_from_the_endpoint() -> None:
    assert Client({"sasl.mechanism": "OAUTHBEARER"}).admin()["sasl.oauthbearer.method"] == "oidc"
    assert "sasl.oauthbearer.method" not in Client({"sasl.mechanism": "PLAIN"}).admin()


def test_secrets_are_taken_out_of_what_is_said() -> None:
    made = client("k", sasl_password=Secret("canary"), sasl_username="shop")
    assert "canary" not in made.redactor.clean("shop: canary")
    assert "shop" in made.redactor.clean("shop: canary")
