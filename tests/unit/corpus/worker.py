"""A worker's REST as `control/runtime/worker/worker.py` builds it, over connectors that note what they get.

In: nothing.  Out: the application on a real socket, full of planted secrets, and one exchange with it.
"""

import re
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.middleware import Middleware

from tests.fakes.drafts import made_access
from tests.fakes.group import PAST, FakeGroup
from tests.unit.console.made import MadeViews, busy
from tests.unit.corpus.cases import CANARY
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.routing import console_routes
from wrackline.control.plane import draft_routes
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.access import audit_routes
from wrackline.control.runtime.rest.access.audit import Audit
from wrackline.control.runtime.rest.contexts import app_routes, context_routes
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.routes import (
    connector_routes,
    event_routes,
    letter_routes,
    lineage_routes,
    log_routes,
    offset_routes,
    plugin_routes,
    request_routes,
    shape_routes,
    table_routes,
    view_routes,
    write_routes,
)
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.forward import Forward
from wrackline.control.runtime.rest.server.once import Once
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK as HOST
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.services.offsets import PastPosition
from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

GOOD = {
    "topic.prefix": "shop1",
    "connector.class": "postgres",
    "database.hostname": "db.internal",
    "database.sslmode": "verify-full",
    "database.user": "wrackline",
    "database.password": f"{CANARY}-database",
    "database.dbname": "shop",
    "kafka.bootstrap.servers": "broker1:9092",
    "schema.registry.url": "http://registry:8081",
    "snapshot.mode": "no_data",
}
SHOWN = {
    **GOOD,
    "schema.registry.basic.auth.user.info": f"us:{CANARY}-registry",
    "kafka.security.protocol": "sasl_ssl",
    "kafka.sasl.mechanism": "PLAIN",
    "kafka.sasl.username": "${env:WRACKLINE_U}",
    "kafka.sasl.password": f"{CANARY}-kafka",
    f"column.mask.hash.SHA-256.with.salt.{CANARY}-salt": "public.orders.mail",
    "target.kind": "iceberg",
    "target.run": "alone",
    "target.warehouse": f"s3://u:{CANARY}-s3@bucket/folder",
    "target.catalog.type": "rest",
    "target.catalog.uri": f"http://u:{CANARY}-catalog@host:8181",
    "target.catalog.credential": f"{CANARY}-credential",
    "spark.remote": f"sc://host:15002/;token={CANARY}",
    "spark.hadoop.fs.s3a.secret.key": f"{CANARY}-key",
}
ENVIRON = {
    **{f"WRACKLINE_{name}": f"{CANARY}-{name}" for name in ("U", "PW")},
    "HOME": f"{CANARY}-home",
    "SHOP_PASSWORD": f"{CANARY}-shop",
}
DRAFT = {
    "stages": [
        {
            "name": "my-db",
            "plugin": {
                "name": "postgres",
                "type": "cdcSource",
                "properties": {"host": "db.internal", "password": "${env:WRACKLINE_PW}", "artifact": "0.1"},
            },
        }
    ]
}
HEADERS = {"Host": "127.0.0.1", "Authorization": f"Basic {CANARY}", "Cookie": f"session={CANARY}"}
ALONE = RestSettings(0)
_WAIT_S = 30


class Crew(FileConnectors):
    """Two pipelines that run nowhere; Kafka is not asked."""

    def __init__(self) -> None:
        self.wished: list[tuple[str, str]] = []
        resolver = Resolver(Allowed().of_the_owner(), ENVIRON)
        found = {name: check({"name": name, **SHOWN}, Installed(), resolver) for name in ("shop", "orders")}
        assert all(one.values is not None for one in found.values()), found["shop"].problems

        def restart(name: str, _: object) -> Pipeline:
            self.wished.append((name, DesiredState.RESTART.value))
            return found[name]

        super().__init__(found, lambda name, wish: self.wished.append((name, wish.value)), restart)
        self.worker = "127.0.0.1:8083"
        self.stands("shop", ConnectorState(TaskState.RUNNING))
        self.stands("orders", ConnectorState(TaskState.FAILED, "[pg.slot_lost] it went"))

    def topics(self, name: str) -> Sequence[str]:
        return [f"{name}.d.public.a"]

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        return [({"server": name, "database": "d"}, {"lsn": "0/1"})]

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        del name
        return PAST


class Group(FakeGroup):
    """Connectors that are made by REST; `shop` and `north_shop` are stopped, `orders` runs."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()

    def begin_anew(self) -> None:
        """Forget what a case did."""
        self._configs.clear()
        for name, wish in (
            ("shop", DesiredState.STOP),
            ("north_shop", DesiredState.STOP),
            ("orders", DesiredState.RUN),
        ):
            self.put(name, GoodSettings({"name": name, **GOOD}, 1), wish)
        self._positions.clear()
        self.asked.clear()


class Desk:
    """Keeps what was sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def send(self, body: bytes) -> None:
        self.bodies.append(body)

    def receipts(self) -> Sequence[Mapping[str, Any]]:
        return [{"id": "one", "database": "d", "state": "running"}]


class Looks:
    """Two pipelines of which nothing is known yet."""

    def names(self) -> Sequence[str]:
        return ["shop", "orders"]

    def status(self, name: str) -> PipelineStatus:
        return PipelineStatus(name, {}, {"databases": {}}, None)

    def slo(self, name: str) -> SloReport | None:
        del name
        return None

    def assess(self, name: str, *, probe: bool) -> Mapping[str, Any]:
        del name
        more: dict[str, object] = {"verdict": "good", "accepted": [], "trials": [], "forecast": None}
        return {"ok": True, "findings": [], **(more if probe else {})}


@dataclass
class Worker:
    """What listens, and what reached the parts behind it."""

    port: int
    application: FastAPI
    crew: Crew
    desk: Desk
    told: list[WracklineError]


@dataclass
class Heard:
    """An answer as it came."""

    status: int
    head: str
    body: bytes
    unsent: int  # bytes that were not asked for any more when the answer came
    document: Any = field(default=None)


@contextmanager
def working(rest: RestSettings = ALONE) -> Iterator[Worker]:
    """Serve until the block ends."""
    writes: deque[bytes] = deque(maxlen=1_000)
    crew, desk, views = Crew(), Desk(), MadeViews({"shop": busy(3), "orders": busy(3)})
    resolver = Resolver(Allowed.from_environment(ENVIRON), ENVIRON)
    checking = partial(check, plugins=Installed(), resolve=resolver)
    routes = (
        request_routes.routes({"shop": desk, "orders": desk}),
        view_routes.routes(Looks()),
        connector_routes.routes(crew),
        connector_routes.file_routes(),
        plugin_routes.routes(Installed(), checking),
        table_routes.routes(views),
        event_routes.routes(views),
        shape_routes.routes(views),
        lineage_routes.routes(views),
        letter_routes.routes(views),  # type: ignore[arg-type]  # its desk works at once
        offset_routes.routes(crew),
        log_routes.routes(views),
        audit_routes.routes(lambda: tuple(writes)),
        context_routes.routes(crew, views),
        app_routes.routes(crew),
    )
    told: list[WracklineError] = []
    kept = [Middleware(Audit, put=lambda entry: writes.append(orjson.dumps(entry)))]
    with TemporaryDirectory() as folder:
        drafts = DraftService(made_access(Path(folder) / "drafts", crew.names, checking)[0])
        drafts.put("shop", {"config": DRAFT}, "ann")
        pages = PageFrame(crew, views)  # type: ignore[arg-type]  # all it uses
        made = (*routes, console_routes.routes(pages, drafts), draft_routes.routes(drafts))
        with open_endpoint(rest, made, tell=told.append, within=kept, no_page=pages.no_page) as door:
            yield Worker(door.port, door.application, crew, desk, told)


@contextmanager
def writing() -> Iterator[tuple[int, Group]]:
    """Serve a group's REST until the block ends."""
    group = Group()
    group.resolver = Resolver(Allowed.from_environment(ENVIRON), ENVIRON)
    hops = [
        Middleware(Forward, elsewhere=group.elsewhere, tls=None),
        Middleware(Once, answers=group, tell=print),
    ]
    views = MadeViews({name: busy(3) for name in ("shop", "orders")})
    routes = (
        connector_routes.routes(group),
        write_routes.routes(group),
        offset_routes.routes(group, group),
        log_routes.routes(views),
        context_routes.routes(group, views, group),
        app_routes.routes(group, group),
        request_routes.routes({"shop": group.desk}),
        letter_routes.routes(views),  # type: ignore[arg-type]  # its desk works at once
    )
    with open_endpoint(ALONE, routes, print, hops) as door:
        yield door.port, group


def request(ask: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Write one request as it goes over the wire, with what is planted in its head."""
    length = {"Content-Length": str(len(body))} if body else {}
    given = {**HEADERS, "Connection": "close", **length, **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{ask} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


def exchange(port: int, sent: bytes) -> Heard:
    """Send until an answer comes, as curl does, and read it to its end."""
    with socket.create_connection((HOST, port), timeout=_WAIT_S) as one:
        left = memoryview(sent)
        while left:
            readable, writable, _ = select([one], [one], [], _WAIT_S)
            if readable or not writable:
                break
            try:
                left = left[one.send(left[: 1 << 16]) :]
            except (BrokenPipeError, ConnectionResetError):
                break
        pieces: list[bytes] = []
        reset = _read_pieces(one, pieces)
    head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    status = int(words[1]) if len(words) > 1 else 0
    length = re.search(rb"(?i)content-length: ([0-9]+)", head)
    # The kernel throws the rest of a long answer away when the worker closes on a body that it has not read.
    cut = False
    if length:  # of what is no HTTP, the rest may have an answer too
        cut = reset and len(body) < int(length[1])
        body = body[: int(length[1])]
    heard = Heard(status, head.decode("latin-1"), body, len(left))
    if "application/json" in heard.head and body and not cut:
        heard.document = orjson.loads(body)
    return heard


def _read_pieces(one: socket.socket, pieces: list[bytes]) -> bool:
    """Read until the connection ends, and say whether it was reset."""
    try:
        while piece := one.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:  # what came before it was read
        return True
    return False
