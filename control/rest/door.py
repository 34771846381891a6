"""The worker's door: its REST put together from settings, open until the block ends.

In: settings, routes, and who hears what goes wrong.  Out: where it listens, and what this worker is called.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

from wrackline.control.rest.app import app
from wrackline.control.rest.listening import listen
from wrackline.control.rest.login import Login
from wrackline.control.rest.serving import serving
from wrackline.control.rest.settings import RestSettings, address
from wrackline.control.rest.tls import looking, to_those_who_ask
from wrackline.control.rest.users import UsersFile
from wrackline.schemas.errors import WracklineError


@dataclass(frozen=True, slots=True)
class Door:
    """What is open."""

    port: int
    worker: str  # host and port, as Connect names a worker
    url: str
    application: FastAPI


@contextmanager
def opened(
    settings: RestSettings,
    routes: Iterable[APIRouter],
    tell: Callable[[WracklineError], None],
    within: Sequence[Middleware] = (),
) -> Iterator[Door]:
    """Answer by REST; all that is wrong with the settings is raised before anybody is heard."""
    place, tls = address(settings), to_those_who_ask(settings)
    login = None
    if settings.users is not None:
        login = Middleware(Login, users=UsersFile(settings.users), tell=tell)
    application = app(routes, hosts=settings.hosts, login=login, within=within)
    listening = listen(place)
    if tls is not None:
        listening.before = looking(tls, tell)
    with serving(application, listening, None if tls is None else tls.context) as port:
        worker = settings.worker(port)
        yield Door(port, worker, f"{settings.scheme}://{worker}", application)
