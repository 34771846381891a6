"""What a group keeps of its connectors: the records of `<group>-configs`, and their fold.  Pure.

    coordinator         {"worker", "url", "term", "users", "secret", "number"}  the writing worker; whether
                                                users log in there; the secret of the console's sessions; the
                                                number of its term
    connector-<name>    {"config", "cut", "tasks"}  the settings as they came, references unresolved; how many
                                                tasks the source half has, if they are several
    target-<name>       {"state", "paused", "by", "nth"}    STARTED, PAUSED, STOPPED; tasks that are paused
                                                alone; what `Sent` says, unless a transaction wrote it
    task-<name>-<n>     {"slot"}                    which partition of <group>-tasks a source task belongs to;
                                                the target half goes with task 0
    restart-<name>      {"at", "task", "by", "nth"}   a message: nothing of it is kept; no task: all
    draft-default-<id>  {"name", "config", …}       a pipeline that is not made yet (`draft_records.py`)
    answer-<key>        {"at_ms", "request", "status", "location", "body"}    to a request that is done once

A connector exists when it has its `connector-`, `target-` and all `task-` records.  `cut` distinguishes one
configuration from the next, also for a connector that was deleted and made again.  A record that can't be
read is skipped and reported: one connector's fault must not stop the others.

Kafka fences a coordinator's transactions.  A record outside of them has the number of its term, `by`, and
does not count behind a record of a later term.  Compaction would keep it instead of the one that counts, so
the coordinator writes that one again (`restated`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from wrackline.control.runtime.rest.model.kept_answers import KeptAnswer
from wrackline.control.runtime.worker.pipeline_tasks import PipelineTasks, asks_for_target
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka import draft_records
from wrackline.schemas.kafka.draft_records import StoredDraft, draft_of
from wrackline.schemas.untrusted import number, text

SLOTS: Final = 128
_COORDINATOR: Final = b"coordinator"
_STATES: Final = {DesiredState.RUN: "STARTED", DesiredState.PAUSE: "PAUSED", DesiredState.STOP: "STOPPED"}
_WISHES: Final = {word: wish for wish, word in _STATES.items()}

UNREADABLE = define(
    "group.record",
    Definite,
    "a record of {topic} at {offset} can't be read, and is skipped",
    hint="look at it: kcat -b <brokers> -C -t '{topic}' -p 0 -o {offset} -c 1;"
    " only the group's coordinator may write there",
)

Change = tuple[bytes, bytes | None]
Document = Mapping[str, Any]
K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as its group keeps it."""

    name: str
    config: Mapping[str, str] = field(repr=False)  # it may contain secrets
    cut: int
    wish: DesiredState
    slot: int  # of its first task, and of its target half
    resting: frozenset[int] = frozenset()  # tasks that are paused while the others run
    more: tuple[int, ...] = ()  # the slots of its other source tasks

    @property
    def slots(self) -> tuple[int, ...]:
        """The slot of each source task."""
        return (self.slot, *self.more)

    @property
    def tasks(self) -> PipelineTasks:
        """Its tasks."""
        return PipelineTasks(len(self.slots), asks_for_target(self.config))

    def slot_of(self, task: int) -> int:
        """Return where a task runs."""
        return self.slots[task] if task < len(self.slots) else self.slot

    def placed(self, slots: Sequence[int]) -> "Connector":
        """Return it with a source task in each of these slots."""
        return replace(self, slot=slots[0], more=tuple(slots[1:]))

    def changed(self, config: Mapping[str, str], cut: int, slots: Sequence[int]) -> "Connector":
        """Return it with other settings and as many source tasks as slots; what rests does so still."""
        new = replace(self, config=config, cut=cut).placed(slots)
        both = range(min(len(self.slots), len(slots)))
        resting = {one for one in self.resting if one in both}
        if self.tasks.target and new.tasks.target and len(self.slots) in self.resting:
            resting.add(len(slots))
        return replace(new, resting=frozenset(resting))

    def task_wish(self, task: int) -> DesiredState:
        """Return what is wished of one task."""
        rests = self.wish is DesiredState.RUN and task in self.resting
        return DesiredState.PAUSE if rests else self.wish

    def wished(self, wish: DesiredState, task: int | None) -> "Connector":
        """Return it after a wish for all of its tasks, or for one; the wish is to run or to pause it."""
        tasks = set(self.tasks)
        if task is None:
            return replace(self, wish=wish, resting=frozenset())
        resting = {one for one in tasks if self.task_wish(one) is not DesiredState.RUN} - {task}
        resting |= {task} if wish is DesiredState.PAUSE else set()
        if resting == tasks:
            return replace(self, wish=DesiredState.PAUSE, resting=frozenset())
        return replace(self, wish=DesiredState.RUN, resting=frozenset(resting))


@dataclass(frozen=True, slots=True)
class CoordinatorTerm:
    """The worker that writes, since when: `term` distinguishes two terms of the same worker."""

    worker: str
    url: str
    term: str
    users: bool = False  # whether users have to log in there
    secret: str = field(default="", repr=False)  # of the console's sessions, in hex
    number: int = field(default=0, compare=False)  # rises from term to term; 0: it has not been read yet


class Sent(NamedTuple):
    """A record outside of transactions: which term wrote it, and how many it had written then."""

    by: int
    nth: int


class Restart(NamedTuple):
    """A connector that is to start again, or one of its tasks."""

    connector: str
    task: int | None


class GroupConfig:
    """The fold of the records."""

    def __init__(self) -> None:
        self.office: CoordinatorTerm | None = None
        self.newest_term, self.last_sent = 0, Sent(0, 0)
        self.drafts: dict[str, StoredDraft] = {}
        self.answers: dict[str, KeptAnswer] = {}
        self._configs: dict[str, tuple[Mapping[str, str], int, int]] = {}
        self._wishes: dict[str, tuple[DesiredState, frozenset[int]]] = {}
        self._slots: dict[str, dict[int, int]] = {}  # of each source task
        self._connectors: Mapping[str, Connector] = {}  # what they added up to at the last question
        self._news: set[str] = set()  # connectors with records since
        self._late: set[str] = set()  # connectors whose last wish in the topic does not count

    def apply(self, key: bytes, value: bytes | None, offset: int = 0) -> Restart | None:
        """Take the next record, which is at this offset; return what it restarts.

        ValueError, KeyError or TypeError: the record is not known.
        """
        document = None if value is None else orjson.loads(value)
        kind, _, name = key.decode().partition("-")
        match kind:
            case "coordinator" if document is not None:
                self._begin_term(_read_term(document), offset)
            case "target" | "restart" if not self._is_in_office(document):
                self._late |= {name} if kind == "target" else set()
            case "connector":
                self._news.add(name)
                _update(self._configs, name, document, _read_config)
            case "target":
                self._news.add(name)
                self._late.discard(name)
                _update(
                    self._wishes,
                    name,
                    document,
                    lambda read: (_WISHES[read["state"]], frozenset(map(number, read.get("paused", ())))),
                )
            case "task":
                of, task = task_in(name)
                self._news.add(of)
                _update(self._slots.setdefault(of, {}), task, document, lambda read: slot_of(read["slot"]))
            case draft_records.KIND:
                of = draft_records.id_of(name)
                _update(self.drafts, of, document, lambda read: StoredDraft(draft_of(read), str(offset)))
            case "answer":
                _update(self.answers, name, document, _read_answer)
            case "restart":
                if document is None:
                    return None
                task = document.get("task")
                return Restart(name, None if task is None else number(task))
            case _:
                raise ValueError(kind)
        return None

    def _begin_term(self, read: CoordinatorTerm, offset: int) -> None:
        """Number a term by where it begins; its later records have the number."""
        self.newest_term = max(self.newest_term, read.number or max(self.newest_term + 1, offset))
        self.office = replace(read, number=self.newest_term)

    def _is_in_office(self, document: Document | None) -> bool:
        """Whether a record was written by the newest term, or in a transaction."""
        if document is None or "by" not in document:
            return True
        sent = Sent(number(document["by"]), number(document["nth"]))
        self.newest_term, self.last_sent = max(self.newest_term, sent.by), max(self.last_sent, sent)
        return sent.by == self.newest_term

    def restated(self) -> list[Change]:
        """Return the wishes that have to be written again, because a late one is behind them."""
        known = self.connectors
        return [wish_record(known[name]) if name in known else (_wish_key(name), None) for name in self._late]

    @property
    def connectors(self) -> Mapping[str, Connector]:
        """The connectors that exist; one without news is the same object as before."""
        if self._news:
            found = {name: one for name, one in self._connectors.items() if name not in self._news}
            for name in self._news & self._configs.keys() & self._wishes.keys():
                (config, cut, tasks), (wish, resting) = self._configs[name], self._wishes[name]
                slots = [
                    slot for task in range(tasks) if (slot := self._slots.get(name, {}).get(task)) is not None
                ]
                if len(slots) == tasks:
                    found[name] = Connector(name, config, cut, wish, slots[0], resting, tuple(slots[1:]))
            self._connectors, self._news = found, set()
        return self._connectors


def term_record(new: CoordinatorTerm) -> tuple[bytes, bytes]:
    """Record which worker writes from here on."""
    named = {"worker": new.worker, "url": new.url, "term": new.term}
    numbered = {"number": new.number} if new.number else {}
    return _COORDINATOR, orjson.dumps({**named, "users": new.users, "secret": new.secret, **numbered})


def connector_record(connector: Connector, before: Connector | None = None) -> list[Change]:
    """Record a whole connector; tasks that it had `before` go."""
    slots = connector.slots
    tasks = {"tasks": len(slots)} if len(slots) > 1 else {}
    config = {"config": dict(connector.config), "cut": connector.cut, **tasks}
    gone = () if before is None else range(len(slots), len(before.slots))
    return [  # its tasks first: at no moment it lacks one
        *((_task_key(connector.name, task), orjson.dumps({"slot": slot})) for task, slot in enumerate(slots)),
        (f"connector-{connector.name}".encode(), orjson.dumps(config)),
        wish_record(connector),
        *((_task_key(connector.name, task), None) for task in gone),
    ]


def wish_record(connector: Connector, sent: Sent | None = None) -> Change:
    """Record the state that it is to have, and its tasks that are to rest meanwhile."""
    wished = {"state": _STATES[connector.wish], "paused": sorted(connector.resting)}
    return _wish_key(connector.name), orjson.dumps(wished | _sent(sent))


def removal_records(connector: Connector) -> list[Change]:
    """Remove a connector."""
    keys = [f"{kind}-{connector.name}".encode() for kind in ("connector", "target", "restart")]
    keys += [_task_key(connector.name, task) for task in range(len(connector.slots))]
    return [(key, None) for key in keys]


def _wish_key(name: str) -> bytes:
    return f"target-{name}".encode()


def _sent(sent: Sent | None) -> dict[str, int]:
    return {} if sent is None else sent._asdict()


def _task_key(name: str, task: int) -> bytes:
    return f"task-{name}-{task}".encode()


def answer_record(key: str, answer: KeptAnswer | None) -> Change:
    """Keep the answer to a request that is done once, or forget it."""
    return f"answer-{key}".encode(), None if answer is None else orjson.dumps(answer)


def is_draft(key: bytes) -> bool:
    """Whether a record is that of a draft."""
    return key.startswith(f"{draft_records.KIND}-".encode())


def draft_removal(draft_id: str) -> Change:
    """Remove a draft."""
    return draft_records.key_of(draft_id), None


def restart_record(name: str, at_ms: int, task: int | None, sent: Sent | None = None) -> Change:
    """Restart a connector, or one of its tasks."""
    which = {} if task is None else {"task": task}
    return f"restart-{name}".encode(), orjson.dumps({"at": at_ms, **which, **_sent(sent)})


def _update(known: dict[K, T], name: K, document: Document | None, read: Callable[[Document], T]) -> None:
    if document is None:
        known.pop(name, None)
    else:
        known[name] = read(document)


def _read_config(read: Document) -> tuple[Mapping[str, str], int, int]:
    tasks = number(read.get("tasks", 1))
    if not 1 <= tasks <= SLOTS:
        raise ValueError(tasks)
    return _texts(read["config"]), number(read["cut"]), tasks


def _read_term(read: Document) -> CoordinatorTerm:
    worker, url = read["worker"], read["url"]
    if url not in (f"http://{worker}", f"https://{worker}"):  # passwords go to this address
        raise ValueError("an address that is not the worker's")
    secret = text(read.get("secret", ""))  # an older version writes none
    term, which = text(read["term"]), number(read.get("number", 0))
    return CoordinatorTerm(text(worker), url, term, read.get("users") is True, secret, which)


def _read_answer(read: Document) -> KeptAnswer:
    whole = number(read["at_ms"]), text(read["request"]), number(read["status"])
    user = text(read.get("user", ""))  # an older version writes none
    return KeptAnswer(*whole, text(read["location"]), text(read["body"]), user)


def slot_of(value: object) -> int:
    """Read a slot's number; ValueError: there is no such slot."""
    slot = number(value)
    if slot >= SLOTS:
        raise ValueError(slot)
    return slot


def task_in(name: str) -> tuple[str, int]:
    """Read the rest of a key that ends with a task's number; ValueError: there is no such task."""
    of, _, task = name.rpartition("-")
    if task != str(int(task)) or not 0 <= int(task) <= SLOTS:  # the target half is one more
        raise ValueError(task)
    return of, int(task)


def _texts(config: object) -> Mapping[str, str]:
    if not isinstance(config, dict) or not all(isinstance(value, str) for value in config.values()):
        raise TypeError
    return config
