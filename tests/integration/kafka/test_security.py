"""TLS and log-ins on a real broker: every way in, each refusal names the setting to look at and no secret."""

import io
import logging
import time
import traceback
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from tests.integration.kafka.guarded import Guarded, guarded
from tests.integration.kafka.world import Names, made_publisher
from wrackline.consumers.kafka import topic_offsets as consumed
from wrackline.consumers.kafka.client_settings import client_settings
from wrackline.control.runtime.check.server_check import broker_findings
from wrackline.control.runtime.ground.installed import Installed
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.login_check import check_login
from wrackline.producers.kafka.ownership import Ownership
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.kafka.topic_creation import TopicCreation, TopicCreator
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import Values

pytestmark = pytest.mark.servers

CANARY = "c4n4ry"
WRONG = f"{CANARY}-wr0ng"
PIPELINE = {
    "name": "shop",
    "topic.prefix": "shop1",
    "connector.class": "postgres",
    "database.hostname": "nowhere.invalid",
    "database.user": "u",
    "database.dbname": "d",
    "schema.registry.url": "http://nowhere.invalid",
    "snapshot.mode": "no_data",
}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """The guarded broker."""
    with guarded(tmp_path_factory.mktemp("guarded")) as made:
        yield made


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that is logged."""
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    logging.getLogger().addHandler(handler)
    logging.getLogger("wrackline").setLevel(logging.DEBUG)
    yield told
    logging.getLogger().removeHandler(handler)
    logging.getLogger("wrackline").setLevel(logging.NOTSET)


def no_canary(*texts: str) -> None:
    assert not [text for text in texts if CANARY in text]


def values_of(door: Guarded, given: dict[str, str]) -> Values:
    """Pass the settings through the registry, as a pipeline's file does."""
    whole = {**PIPELINE, **{f"kafka.{name}": value for name, value in given.items()}}
    pipeline = check(whole, Installed(), Resolver(Allowed(folders=(door.folder,)), {}))
    assert pipeline.values is not None, [str(problem.error) for problem in pipeline.problems]
    return pipeline.values


def client_of(door: Guarded, given: dict[str, str]) -> Client:
    return Client(values_of(door, given).below("kafka."))


def ways_in(door: Guarded) -> dict[str, dict[str, str]]:
    return {
        "TLS": door.at("tls"),
        "mTLS": door.by_certificate(),
        "PLAIN": door.by_password("PLAIN"),
        "SCRAM-SHA-256": door.by_password("SCRAM-SHA-256"),
        "SCRAM-SHA-512": door.by_password("SCRAM-SHA-512"),
        "OAUTHBEARER": door.by_token(),
    }


@pytest.mark.parametrize(
    "way",
    [
        "mTLS",
        "SCRAM-SHA-512",
        "OAUTHBEARER",
        *(pytest.param(way, marks=pytest.mark.full) for way in ("TLS", "PLAIN", "SCRAM-SHA-256")),
    ],
)
def test_a_transaction_is_published_and_read_back_by_every_way_in(
    door: Guarded, topic_prefix: str, way: str
) -> None:
    """A-TLS-06."""
    kafka = client_of(door, ways_in(door)[way])
    cluster = AdminClient({"bootstrap.servers": door.broker.bootstrap}).list_topics(timeout=30).cluster_id
    assert check_login(kafka, time.monotonic) == str(cluster) != "None"
    names = Names(topic_prefix)
    publisher = made_publisher(door.broker.bootstrap, names, kafka=kafka)
    publisher.start()
    publisher.publish([names.publication(7, *names.events("a", "b"))])
    state = publisher.start()  # its consumer and its administrator have the same settings
    assert [offset.n for offset in state.positions.values()] == [1]
    publisher.close()
    owner = Ownership(kafka, f"{topic_prefix}-g", "shop", 0)
    owner.prepare()
    assert owner.claim(time.monotonic).generation == 1
    assert owner.newest() == 1


def refusals(door: Guarded) -> dict[str, tuple[dict[str, str], str, str]]:
    """What is wrong -> the settings, the error's code, what its hint names."""
    login, ca, cert = "kafka.login_refused", "kafka.ssl.ca.location", "kafka.ssl.certificate.location"
    tls, protocol = "kafka.tls_refused", "kafka.security.protocol"
    tls_at = door.at("tls")
    plainly = {"bootstrap.servers": tls_at["bootstrap.servers"]}
    to_plain = {**tls_at, "bootstrap.servers": door.broker.bootstrap}
    no_login = {**tls_at, "bootstrap.servers": door.by_password("PLAIN")["bootstrap.servers"]}
    return {
        "password": (door.by_password("PLAIN", WRONG), login, "kafka.sasl.password"),
        "scram": (door.by_password("SCRAM-SHA-512", WRONG), login, "kafka.sasl.password"),
        "token": (door.by_token(WRONG), login, ".client.secret"),
        "host": ({**door.at("elsewhere")}, tls, "host name"),
        "expired": (door.at("expired"), tls, "expired"),
        "authority": ({**tls_at, "ssl.ca.location": door.file("other_ca.crt")}, tls, ca),
        "certificate": (door.by_certificate("strange"), tls, cert),
        "no certificate": (door.at("mtls"), tls, cert),
        "key": (door.by_certificate(password=WRONG), "kafka.settings_refused", "kafka.*"),
        "no file": ({**tls_at, "ssl.ca.location": door.file("none")}, "kafka.settings_refused", "file"),
        "plain to TLS": (plainly, "kafka.hung_up", protocol),
        "TLS to plain": (to_plain, tls, protocol),
        "no log-in": (no_login, "kafka.hung_up", protocol),
    }


CASES = ("password", "token", "host", "authority", "certificate", "key", "plain to TLS", "no log-in")
CASES_TOO = ("scram", "expired", "no certificate", "no file", "TLS to plain")


@pytest.mark.parametrize(
    "case", [*CASES, *(pytest.param(case, marks=pytest.mark.full) for case in CASES_TOO)]
)
def test_a_refusal_needs_an_operator_names_the_setting_and_shows_no_secret(
    door: Guarded, case: str, capfd: pytest.CaptureFixture[str], log: io.StringIO
) -> None:
    """A-TLS-06."""
    given, code, named = refusals(door)[case]
    kafka = client_of(door, given)
    with pytest.raises(OperatorNeeded) as refused:
        check_login(kafka, time.monotonic)
    error = refused.value
    assert error.code == code, error
    assert named in error.hint
    assert "\n" not in error.sentence
    assert 20 < len(error.sentence) < 300
    no_canary(*traceback.format_exception(error), repr(error.args), log.getvalue(), *capfd.readouterr())


def test_a_refusal_is_raised_a_second_after_it_was_heard(door: Guarded) -> None:
    """Not before, because another broker may let us in, and not as late as an answer may come."""
    readings = [0.0]

    def clock() -> float:  # a tenth of a second for each look
        readings.append(readings[-1] + 0.1)
        return readings[-1]

    kafka = client_of(door, door.by_password("SCRAM-SHA-256", WRONG))
    with pytest.raises(OperatorNeeded, match=r"kafka\.login_refused"):
        check_login(kafka, clock, patience=6.0)
    assert 1.0 <= readings[-1] < 6.0


@pytest.mark.parametrize(
    "case", ["password", *(pytest.param(case, marks=pytest.mark.full) for case in ("authority", "key"))]
)
def test_a_reader_gets_the_same_error(
    door: Guarded, case: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(consumed, "_TIMEOUT", 2.0)
    given, code, named = refusals(door)[case]
    with pytest.raises(OperatorNeeded, match=code) as refused:
        consumed.TopicOffsets(client_settings(client_of(door, given).given)).ends("shop1", Naming.WRACKLINE)
    assert named in refused.value.hint
    no_canary(*traceback.format_exception(refused.value), repr(refused.value.args), *capfd.readouterr())


def test_a_refusal_while_it_runs_is_reported_and_not_tried_forever(
    door: Guarded, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets_topic, "SECONDS", 1.0)
    names, admin = Names(topic_prefix), AdminClient({"bootstrap.servers": door.broker.bootstrap})
    offsets_topic.prepare_offsets(admin, names.offsets, 1, 1)
    changed = client_of(door, door.by_password("SCRAM-SHA-256", WRONG))
    topics = TopicCreator(admin, TopicCreation(), changed.most_record_bytes)
    reader = Ownership(changed, names.prefix, "shop", 0)
    for newest in (lambda: 1, reader.newest):  # the producer gets the error itself; the reader hears nothing
        publisher = Publisher(
            Identity(names.prefix, "shop", 0, 1),
            changed,
            OffsetsSlot(names.offsets, 0),
            topics,
            admin,
            generation=newest,
            clock=time.monotonic,
        )
        with pytest.raises(OperatorNeeded, match=r"kafka\.login_refused"):
            publisher.start()


def test_an_address_without_a_server_is_an_error_that_may_pass(door: Guarded) -> None:
    kafka = client_of(door, {"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(Transient, match=r"kafka\.unreachable"):
        check_login(kafka, time.monotonic, 0.5)


def test_a_check_finds_what_the_start_would_end_with(door: Guarded) -> None:
    assert not list(broker_findings(values_of(door, door.by_token())))
    [found] = broker_findings(values_of(door, door.by_password("SCRAM-SHA-256", WRONG)))
    assert (found.id, found.severity) == ("kafka.login_refused", Severity.ERROR)
    no_canary(str(found))
