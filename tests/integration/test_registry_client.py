"""The registry client against a real registry: ids, compatibility, loss, and every way to fail."""

import http.server
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from types import MappingProxyType

import orjson
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from wrackline.control.local.stack.servers import SchemaRegistry
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka.schema_registry import RegistryAccess, RegistryClient
from wrackline.schemas.redaction import Secret

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
def client(registry: SchemaRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(RegistryAccess(registry.url)) as made:
        yield made


Answer = Callable[[str], bytes]  # to a request's method and path


@contextmanager
def answering(
    status: int,
    body: bytes | Answer,
    asked: list[str] | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """A server that gives one answer to all, or one to each: what a broken or guarded registry does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = f"{self.command} {self.path}"
            if asked is not None:
                asked.append(request)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else body(request))

        do_POST = do_PUT = do_GET  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])  # looks as often for its end
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_schema_has_one_id_and_an_id_its_schema(client: RegistryClient, topic_prefix: str) -> None:
    text = avro("a", "b")
    schema_id = client.register(f"{topic_prefix}-value", text)
    assert client.register(f"{topic_prefix}-value", text) == schema_id
    assert client.register(f"{topic_prefix}-value", avro("a")) != schema_id
    assert orjson.loads(client.text(schema_id)) == orjson.loads(text)


def test_another_worker_gets_the_same_id(
    registry: SchemaRegistry, client: RegistryClient, topic_prefix: str
) -> None:
    schema_id = client.register(f"{topic_prefix}-value", avro("a"))
    with RegistryClient(RegistryAccess(registry.url)) as other:
        assert other.register(f"{topic_prefix}-value", avro("a")) == schema_id


def test_a_subject_that_we_create_takes_any_change(
    registry: SchemaRegistry, client: RegistryClient, topic_prefix: str
) -> None:
    subject = f"{topic_prefix}-value"
    client.register(subject, avro("a"))
    with SchemaRegistryClient({"url": registry.url}) as bare:
        assert bare.get_compatibility(subject) == "NONE"
    assert client.register(subject, avro("b", kind="string"))


def test_a_registry_that_takes_no_compatibility_before_a_schema_is_asked_so_once(
    registry: SchemaRegistry, client: RegistryClient, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
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
    with RegistryClient(RegistryAccess(registry.url, compatibility="BACKWARD")) as strict:
        strict.register(subject, avro("a"))
        with pytest.raises(OperatorNeeded) as caught:
            strict.register(subject, avro("b", kind="string"))
    assert caught.value.code == "registry.incompatible"
    assert caught.value.hint.endswith(
        f"""-d '{{"compatibility":"NONE"}}' '{registry.url}/config/{subject}'"""
    )


def test_a_subject_that_was_there_keeps_its_compatibility(
    registry: SchemaRegistry, topic_prefix: str
) -> None:
    subject = f"{topic_prefix}-value"
    with RegistryClient(RegistryAccess(registry.url, compatibility="BACKWARD")) as first:
        first.register(subject, avro("a"))
    with RegistryClient(RegistryAccess(registry.url)) as ours, pytest.raises(OperatorNeeded):
        ours.register(subject, avro("b", kind="string"))


def test_what_is_no_avro_is_refused(client: RegistryClient, topic_prefix: str) -> None:
    with pytest.raises(Definite) as caught:
        client.register(f"{topic_prefix}-value", '{"type":"nope"}')
    assert caught.value.code == "registry.invalid_schema"


def test_an_unknown_id_is_definite(client: RegistryClient) -> None:
    with pytest.raises(Definite) as caught:
        client.text(2_000_000)
    assert caught.value.code == "registry.unknown_id"


def test_ids_are_proved_by_the_registry_and_not_by_memory(client: RegistryClient, topic_prefix: str) -> None:
    """T-H04."""
    first = client.register(f"{topic_prefix}-value", avro("a"))
    second = client.register(f"{topic_prefix}-value", avro("b"))
    client.verify({first: avro("a"), second: "  " + avro("b")})
    with pytest.raises(Definite) as caught:
        client.verify({first: avro("a"), second: avro("a")})
    assert caught.value.code == "registry.changed"
    with pytest.raises(Definite, match=r"registry\.unknown_id"):
        client.verify({2_000_000: avro("a")})


def test_ids_outlive_a_registry_that_is_killed(
    registry: SchemaRegistry, client: RegistryClient, topic_prefix: str
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
    """T-H04."""
    registry.process.pause()
    try:
        with (
            RegistryClient(RegistryAccess(registry.url, timeout_seconds=0.2)) as hasty,
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
        access = RegistryAccess(url, user_info=Secret(f"user:{CANARY}"))
        with RegistryClient(access) as guarded, pytest.raises(WracklineError) as caught:
            guarded.register("s-value", avro("a"))
    assert caught.value.code == code
    assert CANARY not in f"{caught.value} {caught.value.__cause__!r} {access!r}"


VERSIONS = b"[1]"
NO_OBJECTS = [b"", b"null", b"[]", b"7", b'"words"', b"\xff", b"<html>", b"[" * 100_000]
WRONG: dict[str, tuple[Callable[[RegistryClient], object], str, list[bytes]]] = {
    "register": (
        lambda one: one.register("s-value", avro("a")),
        "an id",
        [*NO_OBJECTS, b"{}", b'{"id": null}', b'{"id": "7"}', b'{"id": true}', b'{"id": -1}',
         b'{"id": 2147483648}', b'{"id": 7, "metadata": 7}'],
    ),
    "text": (
        lambda one: one.text(7),
        "a schema",
        [*NO_OBJECTS, b"{}", b'{"schema": null}', b'{"schema": 7}', b'{"schema": {"type": "int"}}'],
    ),
    "verify": (lambda one: one.verify({7: avro("a")}), "a schema", [b"{}", b'{"schema": 7}', b"[]"]),
    "subjects": (
        lambda one: one.subjects(),
        "a list of subjects",
        [b"", b"null", b"{}", b"7", b'"words"', b"<html>", b"[7]", b'[["a"]]', b"[null]"],
    ),
    "compatibility": (
        lambda one: one.compatibility("s-value"),
        "a level of compatibility",
        [*NO_OBJECTS, b"{}", b'{"compatibilityLevel": null}', b'{"compatibilityLevel": []}'],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "body"), [(call, body) for call, (_, _, bodies) in WRONG.items() for body in bodies]
)
def test_success_without_what_belongs_to_it_has_a_code(call: str, body: bytes) -> None:
    asks, expected, _ = WRONG[call]
    with (
        answering(200, lambda asked: VERSIONS if "?deleted" in asked else body) as url,
        RegistryClient(RegistryAccess(url)) as registry,
        pytest.raises(OperatorNeeded) as caught,
    ):
        asks(registry)
    assert caught.value.code == "registry.refused"
    assert f"where {expected} was expected" in caught.value.sentence
    assert f"curl '{url}/subjects'" in caught.value.hint


@pytest.mark.parametrize("wrong", [b'{"id": "7", "schema": 7}', b'{"id": -1}', b"{}"])
def test_an_answer_that_was_wrong_is_asked_for_again(wrong: bytes) -> None:
    given: list[bytes] = []

    def answer(asked: str) -> bytes:
        return VERSIONS if "?deleted" in asked else given.pop()

    with answering(200, answer) as url, RegistryClient(RegistryAccess(url)) as registry:
        for ask in (lambda: registry.register("s-value", avro("a")), lambda: registry.text(7)):
            given = [b'{"id": 7, "schema": "{}"}', wrong]
            with pytest.raises(OperatorNeeded, match=r"registry\.refused"):
                ask()
            assert ask() in {7, "{}"}


@pytest.mark.parametrize("body", [b"", b"{}", b"7", b'"words"', b'[{"id": 1}]'])
def test_versions_that_are_none_are_no_reason_to_make_a_subject(body: bytes) -> None:
    asked: list[str] = []
    with (
        answering(200, body, asked) as url,
        RegistryClient(RegistryAccess(url)) as registry,
        pytest.raises(OperatorNeeded, match=r"registry\.refused.*a list of versions"),
    ):
        registry.register("s-value", avro("a"))
    assert [one.partition("?")[0] for one in asked] == ["GET /subjects/s-value/versions"]


def test_an_id_whose_text_is_not_a_schema_is_reported_as_changed() -> None:
    with answering(200, b'{"schema": "no schema"}') as url, RegistryClient(RegistryAccess(url)) as registry:
        assert registry.text(7) == "no schema"  # as one of Protobuf is none in JSON
        with pytest.raises(Definite, match=r"registry\.changed"):
            registry.verify({7: avro("a")})


def test_unknown_modes_do_not_prevent_a_registration() -> None:
    for body in (b"{}", b"[]", b'{"mode": ["READONLY"]}', b"<html>"):
        with answering(200, body) as url, RegistryClient(RegistryAccess(url)) as registry:
            registry.may_register("s-value")


@pytest.mark.parametrize("body", [b'{"error_code": [40401]}', b'{"error_code": {}}', b"[]", b"7"])
def test_a_refusal_whose_code_is_no_number_has_a_code_of_ours(body: bytes) -> None:
    with (
        answering(404, body) as url,
        RegistryClient(RegistryAccess(url)) as registry,
        pytest.raises(OperatorNeeded, match=r"registry\.refused"),
    ):
        registry.register("s-value", avro("a"))


def test_a_registry_that_is_not_there_is_transient_and_shows_no_log_in() -> None:
    with (
        RegistryClient(RegistryAccess(f"http://user:{CANARY}@127.0.0.1:1")) as nowhere,
        pytest.raises(Transient) as caught,
    ):
        nowhere.text(1)
    assert CANARY not in f"{caught.value} {caught.value.__cause__!r}"


def test_a_subject_that_threads_meet_at_once_is_made_by_one_of_them(
    client: RegistryClient, topic_prefix: str
) -> None:
    with ThreadPoolExecutor(2) as threads:
        for number in range(30):
            subject = f"{topic_prefix}.{number}-value"
            ids = list(threads.map(client.register, [subject] * 2, [avro(f"c{number}", "id")] * 2))
            assert len(set(ids)) == 1


@pytest.mark.full
def test_a_subject_that_processes_meet_at_once_is_refused_to_none_of_them(
    registry: SchemaRegistry, topic_prefix: str
) -> None:
    with (
        RegistryClient(RegistryAccess(registry.url)) as one,
        RegistryClient(RegistryAccess(registry.url)) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        for number in range(30):
            subject, text = f"{topic_prefix}.{number}-value", avro(f"c{number}", "id")
            ids = list(threads.map(lambda each, of: each.register(*of), [one, other], [(subject, text)] * 2))
            assert len(set(ids)) == 1


def test_a_look_says_whether_one_may_register_and_keeps_nothing(client: RegistryClient) -> None:
    before = client.subjects()
    client.may_register("looked.at-value")
    assert client.subjects() == before
    client.register("looked.at.too-value", avro("a"))
    assert client.subjects() == before | {"looked.at.too-value"}
    assert client.compatibility("looked.at.too-value") == "NONE"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, b'{"mode": "READWRITE"}', None),
        (200, b'{"mode": "READONLY"}', "registry.read_only"),
        (200, b'{"mode": "READONLY_OVERRIDE"}', "registry.read_only"),
        (404, b"no such page", None),  # a registry without modes
        (403, b'{"error_code": 40301, "message": "no"}', None),  # a user who may register need not see modes
        (503, b"{}", "registry.unreachable"),
    ],
)
def test_what_keeps_one_from_registering_has_a_code(status: int, body: bytes, code: str | None) -> None:
    asked: list[str] = []
    with answering(status, body, asked) as url, RegistryClient(RegistryAccess(url)) as registry:
        refused = nullcontext() if code is None else pytest.raises(WracklineError, match=code)
        with refused:
            registry.may_register("a-value")
    assert set(asked) <= {"GET /mode/a-value", "GET /mode"}, "a look sends nothing to be kept"


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("packed", ["gzip", "deflate"])
def test_an_answer_that_is_not_packed_as_it_says_is_refused(status: int, packed: str) -> None:
    with (
        answering(status, b"not packed at all", headers={"Content-Encoding": packed}) as url,
        RegistryClient(RegistryAccess(url)) as registry,
    ):
        for ask in (lambda: registry.text(1), registry.subjects, lambda: registry.register("s", avro("a"))):
            with pytest.raises(OperatorNeeded) as refused:
                ask()
            assert refused.value.code == "registry.refused"


@pytest.mark.parametrize("status", [409, 422])
def test_only_what_was_written_can_be_incompatible(status: int) -> None:
    with (
        answering(status, b'{"error_code": 42201, "message": "no"}') as url,
        RegistryClient(RegistryAccess(url)) as registry,
    ):
        for ask in (lambda: registry.text(1), registry.subjects):
            with pytest.raises(OperatorNeeded) as refused:
                ask()
            assert refused.value.code == "registry.refused"
