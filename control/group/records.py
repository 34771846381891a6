"""What a group keeps of its connectors: the records of `<group>-configs`, and what they add up to.  Pure.

    coordinator         {"worker", "url", "term", "users"}   who writes here, and whether users log in there
    connector-<name>    {"config", "cut"}           the settings as they came, references unresolved
    target-<name>       {"state"}                   STARTED, PAUSED, STOPPED
    task-<name>-0       {"slot"}                    which partition of <group>-tasks it belongs to
    restart-<name>      {"at"}                      a message: nothing is kept of it

A connector is there when it has all three of its own.  `cut` tells one configuration from the next, also of
a connector that was deleted and made again.  A record that nobody can read is passed over and named: one
connector's fault may not stop the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson

from wrackline.producers.connect.supervision import Wish
from wrackline.schemas.errors import Definite, define

TASK: Final = 0
SLOTS: Final = 128
_COORDINATOR: Final = b"coordinator"
_STATES: Final = {Wish.RUN: "STARTED", Wish.PAUSE: "PAUSED", Wish.STOP: "STOPPED"}
_WISHES: Final = {word: wish for wish, word in _STATES.items()}

UNREADABLE = define(
    "group.record",
    Definite,
    "a record of {topic} at {offset} can't be read, and is passed over",
    hint="look at it: kcat -C -t {topic} -o {offset} -c 1; only the group's coordinator may write there",
)

Change = tuple[bytes, bytes | None]
Document = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as its group keeps it."""

    name: str
    config: Mapping[str, str] = field(repr=False)  # secrets among it
    cut: int
    wish: Wish
    slot: int


@dataclass(frozen=True, slots=True)
class Office:
    """Who writes, since when: `term` tells two of the same worker apart."""

    worker: str
    url: str
    term: str
    users: bool = False  # whether one has to log in there


class Kept:
    """The fold of the records."""

    def __init__(self) -> None:
        self.office: Office | None = None
        self._configs: dict[str, tuple[Mapping[str, str], int]] = {}
        self._wishes: dict[str, Wish] = {}
        self._slots: dict[str, int] = {}
        self._made: Mapping[str, Connector] | None = None  # what they add up to, until the next record

    def apply(self, key: bytes, value: bytes | None) -> str | None:
        """Take the next record; return the connector that it has begin again.

        ValueError, KeyError or TypeError: nothing is known of such a record.
        """
        document = None if value is None else orjson.loads(value)
        kind, _, name = key.decode().partition("-")
        self._made = None
        match kind:
            case "coordinator" if document is not None:
                self.office = _office(document)
            case "connector":
                _keep(self._configs, name, document, lambda read: (_texts(read["config"]), int(read["cut"])))
            case "target":
                _keep(self._wishes, name, document, lambda read: _WISHES[read["state"]])
            case "task":
                of = name.removesuffix(f"-{TASK}")
                _keep(self._slots, of, document, _slot)
            case "restart":
                return None if document is None else name
            case _:
                raise ValueError(kind)
        return None

    @property
    def connectors(self) -> Mapping[str, Connector]:
        """Those that are there."""
        if self._made is None:
            self._made = {
                name: Connector(name, config, cut, self._wishes[name], self._slots[name])
                for name, (config, cut) in self._configs.items()
                if name in self._wishes and name in self._slots
            }
        return self._made


def office(new: Office) -> tuple[bytes, bytes]:
    """Say who writes from here on."""
    return _COORDINATOR, orjson.dumps(
        {"worker": new.worker, "url": new.url, "term": new.term, "users": new.users}
    )


def put(connector: Connector) -> list[Change]:
    """Keep a connector whole."""
    config = {"config": dict(connector.config), "cut": connector.cut}
    return [
        (f"connector-{connector.name}".encode(), orjson.dumps(config)),
        target(connector.name, connector.wish),
        (f"task-{connector.name}-{TASK}".encode(), orjson.dumps({"slot": connector.slot})),
    ]


def target(name: str, wish: Wish) -> Change:
    """Keep what is wished of it."""
    return f"target-{name}".encode(), orjson.dumps({"state": _STATES[wish]})


def remove(name: str) -> list[Change]:
    """Forget it."""
    keys = (f"connector-{name}", f"target-{name}", f"restart-{name}", f"task-{name}-{TASK}")
    return [(key.encode(), None) for key in keys]


def restart(name: str, at_ms: int) -> Change:
    """Have it begin again."""
    return f"restart-{name}".encode(), orjson.dumps({"at": at_ms})


def _keep(known: dict[str, T], name: str, document: Document | None, read: Callable[[Document], T]) -> None:
    if document is None:
        known.pop(name, None)
    else:
        known[name] = read(document)


def _office(read: Document) -> Office:
    worker, url = read["worker"], read["url"]
    if url not in (f"http://{worker}", f"https://{worker}"):  # passwords go to this address
        raise ValueError("an address that is not the worker's")
    return Office(worker, url, read["term"], read.get("users") is True)


def _slot(read: Document) -> int:
    slot = int(read["slot"])
    if not 0 <= slot < SLOTS:
        raise ValueError(slot)
    return slot


def _texts(config: object) -> Mapping[str, str]:
    if not isinstance(config, dict) or not all(isinstance(value, str) for value in config.values()):
        raise TypeError
    return config
