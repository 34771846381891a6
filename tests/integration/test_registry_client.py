"""The registry client against a real registry: ids, compatibility, loss, and every way to fail."""

import http.server
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import orjson
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from wrackline.control.stack.servers import SchemaRegistry
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.redaction import Secret
from wrackline.schemas.registry import Access, Registry

CANARY = "hunter2-canary"


def avro(*fields: str, kind: str = "int") -> str:
    return orjson.dumps(
        {
            "type": "record",
            "name": "Row",
            "fields": [
                {"name": name, "type": kind, "wrackline.column": at} for at, name in enumerate(fields)
            ],
        }
    ).decode()


@pytest.fixture
def client(registry: SchemaRegistry) -> Iterator[Registry]:
    with Registry(Access(registry.url)) as made:
        yield made


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that gives one answer to all: what a broken or guarded registry does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_schema_has_one_id_and_an_id_its_schema(client: Registry, topic_prefix: str) -> None:
    text = avro("a", "b")
    schema_id = client.register(f"{topic_prefix}-value", text)
    assert client.register(f"{topic_prefix}-value", text) == schema_id
    assert client.register(f"{topic_prefix}-value", avro("a")) != schema_id
    assert orjson.loads(client.text(schema_id)) == orjson.loads(text)


def test_another_worker_gets_the_same_id(
    registry: SchemaRegistry, client: Registry, topic_prefix: str
) -> None:
    schema_id = client.register(f"{topic_prefix}-value", avro("a"))
    with Registry(Access(registry.url)) as other:
        assert other.register(f"{topic_prefix}-value", avro("a")) == schema_id


def test_a_subject_that_we_create_takes_any_change(
    registry: SchemaRegistry, client: Registry, topic_prefix: str
) -> None:
    subject = f"{topic_prefix}-value"
    client.register(subject, avro("a"))
    with SchemaRegistryClient({"url": registry.url}) as bare:
        assert bare.get_compatibility(subject) == "NONE"
    assert client.register(subject, avro("b", kind="string"))


def test_a_registry_that_takes_no_compatibility_before_a_schema_is_asked_so_once(
    registry: SchemaRegistry, client: Registry, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = SchemaRegistryClient.set_compatibility

    def set_compatibility(self: SchemaRegistryClient, subject: str, level: str) -> object:
        asked.append(subject)
        return real(self, subject, level)

    monkeypatch.setattr(SchemaRegistryClient, "set_compatibility", set_compatibility)
    first, second = f"{topic_prefix}-key", f"{topic_prefix}-value"
    for subject in (first, second):
        client.register(subject, avro("a"))
    assert asked == [first, first, second]
    with SchemaRegistryClient({"url": registry.url}) as bare:
        assert [bare.get_compatibility(subject) for subject in (first, second)] == ["NONE", "NONE"]


def test_a_subject_that_we_create_has_the_compatibility_that_was_asked_for(
    registry: SchemaRegistry, topic_prefix: str
) -> None:
    subject = f"{topic_prefix}-value"
    with Registry(Access(registry.url, compatibility="BACKWARD")) as strict:
        strict.register(subject, avro("a"))
        with pytest.raises(OperatorNeeded) as caught:
            strict.register(subject, avro("b", kind="string"))
    assert caught.value.code == "registry.incompatible"
    assert caught.value.hint.endswith(f"""-d '{{"compatibility":"NONE"}}' {registry.url}/config/{subject}""")


def test_a_subject_that_was_there_keeps_its_compatibility(
    registry: SchemaRegistry, topic_prefix: str
) -> None:
    subject = f"{topic_prefix}-value"
    with Registry(Access(registry.url, compatibility="BACKWARD")) as first:
        first.register(subject, avro("a"))
    with Registry(Access(registry.url)) as ours, pytest.raises(OperatorNeeded):
        ours.register(subject, avro("b", kind="string"))


def test_what_is_no_avro_is_refused(client: Registry, topic_prefix: str) -> None:
    with pytest.raises(Definite) as caught:
        client.register(f"{topic_prefix}-value", '{"type":"nope"}')
    assert caught.value.code == "registry.invalid_schema"


def test_an_unknown_id_is_definite(client: Registry) -> None:
    with pytest.raises(Definite) as caught:
        client.text(2_000_000)
    assert caught.value.code == "registry.unknown_id"


def test_ids_are_proved_by_the_registry_and_not_by_memory(client: Registry, topic_prefix: str) -> None:
    first = client.register(f"{topic_prefix}-value", avro("a"))
    second = client.register(f"{topic_prefix}-value", avro("b"))
    client.verify({first: avro("a"), second: "  " + avro("b")})
    with pytest.raises(Definite) as caught:
        client.verify({first: avro("a"), second: avro("a")})
    assert caught.value.code == "registry.changed"
    with pytest.raises(Definite, match=r"registry\.unknown_id"):
        client.verify({2_000_000: avro("a")})


def test_ids_outlive_a_registry_that_is_killed(
    registry: SchemaRegistry, client: Registry, topic_prefix: str
) -> None:
    schema_id = client.register(f"{topic_prefix}-value", avro("a"))
    registry.process.kill()
    try:
        with pytest.raises(Transient, match=r"registry\.unreachable"):
            client.register(f"{topic_prefix}-value", avro("b"))
        assert client.register(f"{topic_prefix}-value", avro("a")) == schema_id  # remembered
    finally:
        registry.process.start()
    client.verify({schema_id: avro("a")})


def test_a_registry_that_is_silent_is_not_waited_for_without_end(
    registry: SchemaRegistry, topic_prefix: str
) -> None:
    registry.process.pause()
    try:
        with (
            Registry(Access(registry.url, timeout_seconds=0.2)) as hasty,
            pytest.raises(Transient, match=r"registry\.unreachable"),
        ):
            hasty.register(f"{topic_prefix}-value", avro("a"))
    finally:
        registry.process.resume()


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, b'{"error_code":40101,"message":"no"}', "registry.denied"),
        (403, b"<html>", "registry.denied"),
        (404, b"<html>no such page</html>", "registry.refused"),
        (200, b"<html>welcome</html>", "registry.refused"),
        (418, b"{}", "registry.refused"),
        (429, b"{}", "registry.unreachable"),
        (500, b'{"error_code":50001,"message":"store"}', "registry.unreachable"),
        (503, b"", "registry.unreachable"),
    ],
)
def test_every_answer_has_a_meaning_and_none_shows_the_log_in(status: int, body: bytes, code: str) -> None:
    with answering(status, body) as url:
        access = Access(url, user_info=Secret(f"user:{CANARY}"))
        with Registry(access) as guarded, pytest.raises(WracklineError) as caught:
            guarded.register("s-value", avro("a"))
    assert caught.value.code == code
    assert CANARY not in f"{caught.value} {caught.value.__cause__!r} {access!r}"


def test_a_registry_that_is_not_there_is_transient_and_shows_no_log_in() -> None:
    with (
        Registry(Access(f"http://user:{CANARY}@127.0.0.1:1")) as nowhere,
        pytest.raises(Transient) as caught,
    ):
        nowhere.text(1)
    assert CANARY not in f"{caught.value} {caught.value.__cause__!r}"


def test_a_subject_that_threads_meet_at_once_is_made_by_one_of_them(
    client: Registry, topic_prefix: str
) -> None:
    with ThreadPoolExecutor(2) as threads:
        for number in range(30):
            subject = f"{topic_prefix}.{number}-value"
            ids = list(threads.map(client.register, [subject] * 2, [avro(f"c{number}", "id")] * 2))
            assert len(set(ids)) == 1


def test_a_subject_that_processes_meet_at_once_is_refused_to_none_of_them(
    registry: SchemaRegistry, topic_prefix: str
) -> None:
    with (
        Registry(Access(registry.url)) as one,
        Registry(Access(registry.url)) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        for number in range(30):
            subject, text = f"{topic_prefix}.{number}-value", avro(f"c{number}", "id")
            ids = list(threads.map(lambda each, of: each.register(*of), [one, other], [(subject, text)] * 2))
            assert len(set(ids)) == 1
