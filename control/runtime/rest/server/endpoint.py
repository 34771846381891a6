"""The worker's REST endpoint, made from settings, open until the block ends.

In: settings, routes, and what gets errors.  Out: where it listens, and this worker's name.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

from wrackline.control.runtime.rest.access.login import Login
from wrackline.control.runtime.rest.access.sessions import Sessions
from wrackline.control.runtime.rest.access.users_file import UsersFile
from wrackline.control.runtime.rest.model.shared_sessions import SharedSessions
from wrackline.control.runtime.rest.server.app import ShowNoPage, make_app
from wrackline.control.runtime.rest.server.listener import listen
from wrackline.control.runtime.rest.server.rest_settings import RestSettings, listen_address
from wrackline.control.runtime.rest.server.serving import serve_app
from wrackline.control.runtime.rest.server.tls import certificate_check, server_tls
from wrackline.schemas.errors import WracklineError


@dataclass(frozen=True, slots=True)
class RestEndpoint:
    """The open endpoint."""

    port: int
    worker: str  # host and port, as Connect names a worker
    url: str
    application: FastAPI


@contextmanager
def open_endpoint(
    settings: RestSettings,
    routes: Iterable[APIRouter],
    tell: Callable[[WracklineError], None],
    within: Sequence[Middleware] = (),
    cluster: str | None = None,
    shared: SharedSessions | None = None,
    no_page: ShowNoPage | None = None,
) -> Iterator[RestEndpoint]:
    """Answer by REST; all faults of the settings are raised before a request is accepted.

    `shared` is what a group's workers have in common; without it, the sessions end with this worker.
    """
    place, tls = listen_address(settings), server_tls(settings)
    login = None
    if settings.users is not None:
        own = secrets.token_bytes(32)
        sessions = Sessions(
            lambda: (shared and shared.session_secret()) or own,
            secure=settings.scheme == "https",
            shared=shared,
        )
        login = Middleware(Login, users=UsersFile(settings.users), tell=tell, sessions=sessions)
    application = make_app(
        routes, hosts=settings.hosts, login=login, within=within, cluster=cluster, no_page=no_page
    )
    listening = listen(place)
    if tls is not None:
        listening.before = certificate_check(tls, tell)
    with serve_app(application, listening, None if tls is None else tls.context) as port:
        worker = settings.worker(port)
        yield RestEndpoint(port, worker, f"{settings.scheme}://{worker}", application)
