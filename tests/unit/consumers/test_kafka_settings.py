"""The pipeline's kafka.* settings in Java's words."""

from pathlib import Path

import pytest

from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.value_kinds import Value

BROKERS = {"bootstrap.servers": "b:9092"}


def test_brokers_alone_are_enough() -> None:
    assert spark_options(BROKERS) == {"kafka.bootstrap.servers": "b:9092"}
    assert client_settings(BROKERS)["bootstrap.servers"] == "b:9092"


def test_a_password_cannot_end_its_own_quotes() -> None:
    """A-CLIENT-09."""
    given = {"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u"}
    made = spark_options({**given, "sasl.password": Secret('p"; x="\\')})
    assert made["kafka.security.protocol"] == "SASL_SSL"
    assert made["kafka.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' username="u" password="p\\"; x=\\"\\\\";'
    )
    assert client_settings({"sasl.password": Secret("p")})["sasl.password"] == "p"


def test_a_token_comes_from_its_endpoint() -> None:
    given = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": Secret("s"),
        "sasl.oauthbearer.token.endpoint.url": "https://t/",
        "sasl.oauthbearer.extensions": "a=1,b=2",
    }
    made = spark_options(given)
    assert made["kafka.sasl.oauthbearer.token.endpoint.url"] == "https://t/"
    assert 'extension_a="1" extension_b="2";' in made["kafka.sasl.jaas.config"]
    assert client_settings(given)["sasl.oauthbearer.method"] == "oidc"


def test_files_travel_as_text(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text("-----BEGIN CERTIFICATE-----\n")
    made = spark_options({"ssl.ca.location": str(pem)})
    assert made["kafka.ssl.truststore.certificates"] == pem.read_text()
    assert made["kafka.ssl.truststore.type"] == "PEM"
    pem.unlink()
    with pytest.raises(OperatorNeeded, match=r"kafka\.ssl\.ca\.location"):
        spark_options({"ssl.ca.location": str(pem)})


def test_what_a_producer_alone_takes_goes_to_neither() -> None:
    given: dict[str, Value] = {"linger.ms": 5.0, "fetch.wait.max.ms": 7, "connections.max.idle.ms": 0}
    given |= BROKERS
    assert spark_options(given) == {
        "kafka.bootstrap.servers": "b:9092",
        "kafka.connections.max.idle.ms": "-1",
    }
    assert set(client_settings(given)) & {"linger.ms", "fetch.wait.max.ms"} == set()
