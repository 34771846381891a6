"""A group's connectors, as REST asks for them: what every worker knows, and what its coordinator changes.

    GET      from what this worker has heard of the group
    others   by the coordinator: decided on what it has heard, written, and heard again before it answers

In: what is heard (`hands.py`), and the pen while this worker is the coordinator.  Out: what
`control/rest/connectors.py` asks of a crew, on any thread.  One change is made at a time.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock
from typing import Final

import orjson

from wrackline.control.crew import committed, topics_of
from wrackline.control.group import records
from wrackline.control.group.coordinator import PATIENCE, Pen
from wrackline.control.group.follower import Follower
from wrackline.control.group.hands import Hands
from wrackline.control.group.records import Change, Connector
from wrackline.control.group.settings import Group
from wrackline.control.group.slots import slot_for
from wrackline.control.group.threads import Threads
from wrackline.control.installed import Installed
from wrackline.control.offsets import Desk, desk
from wrackline.control.rest.crews import NO_CONNECTOR, NO_COORDINATOR, NO_PARTITION, NOT_STOPPED
from wrackline.control.rest.shapes import Standing
from wrackline.producers.changes import Saved
from wrackline.producers.connect.supervision import State, Wish
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.pipeline import Pipeline, check
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.secret_refs import Resolver
from wrackline.schemas.table import SourcePartition

COORDINATORS_SLOT: Final = 0
_LOOK: Final = 0.1  # seconds between two looks at whether the office is ours
_AGAIN: Final = 1.0  # seconds from one failed try to take it to the next

Say = Callable[[str, Sequence[str]], None]  # who does what writes, and all workers

NOT_HEARD = define(
    "group.not_heard",
    Transient,
    "the change of {name} is written, and was not heard within {seconds:.0f} s",
    hint="see whether Kafka answers; what became of it: GET /connectors/{name}",
)


OPEN_COORDINATOR = define(
    "group.open_coordinator",
    OperatorNeeded,
    "the group's coordinator, {worker}, does not say that it asks for a log-in, as this worker does;"
    " nothing is sent to it",
    hint="if {worker} is of an older version, upgrade it; else start it again with --rest-users, as the other"
    " workers",
)


class GroupCrew:
    """All connectors of the group."""

    def __init__(
        self,
        group: Group,
        hands: Hands,
        follower: Follower,
        tell: Callable[[WracklineError], None],
        threads: Threads,
    ) -> None:
        self.worker = self._url = ""  # known once it listens
        self._users = False  # whether one has to log in here
        self._say: Say = lambda _coordinator, _workers: None
        self._said: tuple[str, tuple[str, ...]] | None = None
        self._group, self._hands, self._follower, self._tell = group, hands, follower, tell
        self._pen = Pen(group.client, group.id)
        self._wanted, self._stop, self._lock = Event(), Event(), Lock()
        self._holds = False
        self._shown: dict[str, tuple[int, Mapping[str, str]]] = {}
        self._thread = threads.make("coordinator", self._keep_office)

    def begin(self, worker: str, url: str, say: Say, *, users: bool) -> None:
        """Be ready to be the coordinator, under this name; `users`: one has to log in here."""
        self.worker, self._url, self._say, self._users = worker, url, say, users
        self._thread.start()

    def end(self) -> None:
        """Be it no longer."""
        self._stop.set()
        self._thread.join(PATIENCE)

    def owns(self, slots: frozenset[int]) -> None:
        """Hear which slots are ours: with the first of them comes the office."""
        (self._wanted.set if COORDINATORS_SLOT in slots else self._wanted.clear)()

    def elsewhere(self) -> str | None:
        """Where what writes is done; None: here."""
        if self._holds:
            return None
        office = self._hands.office()
        owner = self._hands.owners().get(COORDINATORS_SLOT)
        if office is None or office.worker == self.worker or office.worker != owner:
            unknown = NO_COORDINATOR()
            raise unknown
        if self._users and not office.users:  # it would do whatever anybody asks
            raise OPEN_COORDINATOR(worker=office.worker)
        return office.url

    @property
    def led(self) -> bool:
        """Whether it is known who does what writes."""
        try:
            self.elsewhere()
        except WracklineError as error:
            return error.code == OPEN_COORDINATOR.code
        return True

    def names(self) -> Sequence[str]:
        """Name the connectors."""
        return list(self._hands.connectors())

    def given(self, name: str) -> Mapping[str, str]:
        """Return its settings as they were given, secrets among them."""
        return self._known(name).config

    def config(self, name: str) -> Mapping[str, str]:
        """Return its settings; secrets are masked."""
        connector = self._known(name)
        cut, shown = self._shown.get(name, (-1, {}))
        if cut != connector.cut:
            shown = self.pipeline(name).registry.shown(connector.config)
            self._shown[name] = (connector.cut, shown)
        return shown

    def pipeline(self, name: str) -> Pipeline:
        """Return the connector as a pipeline, checked."""
        return self.check(self.given(name))

    def check(self, settings: Mapping[str, str]) -> Pipeline:
        """Check settings with what the group's file adds and allows."""
        return check(self._group.whole(settings), Installed(), Resolver(self._group.allowed, os.environ))

    def standing(self, name: str) -> Standing:
        """Say how its task is."""
        return self._hands.standing(self._known(name))

    def topics(self, name: str) -> Sequence[str]:
        """Name its topics that are there."""
        return topics_of(self.pipeline(name))

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        """Return its committed positions."""
        return committed(self.pipeline(name))

    def put(self, name: str, config: Mapping[str, str], wish: Wish | None) -> None:
        """Keep a connector's settings; a task that runs begins again with them."""
        with self._lock:
            known = self._hands.connectors().get(name)
            cut = max(time.time_ns() // 1_000_000, 0 if known is None else known.cut + 1)
            if known is None:
                new = self._placed(Connector(name, config, cut, wish or Wish.RUN, COORDINATORS_SLOT))
            else:
                new = Connector(name, config, cut, known.wish, known.slot)
            self._write(name, records.put(new), lambda now: now is not None and now.cut == cut)

    def remove(self, name: str) -> None:
        """Forget a connector; its positions stay."""
        with self._lock:
            self._known(name)
            self._write(name, records.remove(name), lambda now: now is None)
            self._hands.forgets(name)
            self._shown.pop(name, None)

    def wish(self, name: str, wish: Wish) -> None:
        """Have it run, pause, stop or begin again, soon."""
        with self._lock:
            known = self._known(name)
            if wish is Wish.RESTART:
                self._write(name, [records.restart(name, time.time_ns() // 1_000_000)], lambda _: True)
            elif wish is not known.wish:
                new = Connector(name, known.config, known.cut, wish, known.slot)
                new = self._placed(new) if wish is Wish.RUN else new  # it has no process that would move
                self._write(name, records.put(new), lambda now: now is None or now.wish is wish)

    def edit_offsets(
        self, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
    ) -> None:
        """Set positions, or forget them: the task then begins anew, wherever the log begins."""
        with self._lock:  # before it is looked at: who resumes it meanwhile waits
            connector = self._known(name)
            if connector.wish is not Wish.STOP or self._hands.standing(connector).state is not State.STOPPED:
                raise NOT_STOPPED(name=name)
            with desk(self.pipeline(name)) as opened:
                _edit(opened, name, edits)

    def _known(self, name: str) -> Connector:
        known = self._hands.connectors().get(name)
        if known is None:
            raise NO_CONNECTOR(name=shown_name(name))
        return known

    def _placed(self, connector: Connector) -> Connector:
        known = self._hands.connectors()
        slot = slot_for(connector.name, known, self._hands.owners())
        return Connector(connector.name, connector.config, connector.cut, connector.wish, slot)

    def _write(self, name: str, changes: Sequence[Change], heard: Callable[[Connector | None], bool]) -> None:
        if not self._holds:
            unknown = NO_COORDINATOR()
            raise unknown
        try:
            self._pen.write(changes)
        finally:
            self._holds &= self._pen.office is not None  # else somebody else's by now, or to be taken anew
        if not self._follower.wait_for(lambda: heard(self._hands.connectors().get(name)), PATIENCE):
            raise NOT_HEARD(name=name, seconds=PATIENCE)

    def _keep_office(self) -> None:
        while not self._stop.wait(_LOOK):
            self._say_who()
            if not self._wanted.is_set():
                self._leave()
            elif not self._holds:
                self._take()
            else:
                office = self._hands.office()
                if office is not None and office.worker != self.worker:
                    self._leave()  # it is another's, though the group has not told us yet
        self._leave()

    def _say_who(self) -> None:
        """Say who is in the group when it has changed, once it is known who does what writes."""
        office, owners = self._hands.office(), self._hands.owners()
        coordinator = owners.get(COORDINATORS_SLOT)
        if office is None or coordinator is None or office.worker != coordinator:
            return
        now = coordinator, tuple(sorted(set(owners.values())))
        if now != self._said:
            self._said = now
            self._say(*now)

    def _take(self) -> None:
        try:
            with self._lock:
                office = self._pen.take(self.worker, self._url, users=self._users)
            self._holds = self._follower.wait_for(lambda: self._hands.office() == office, PATIENCE)
        except WracklineError as error:
            self._tell(error)
            self._stop.wait(_AGAIN)

    def _leave(self) -> None:
        if self._holds:
            self._holds = False
            with self._lock:
                self._pen.drop()


def _edit(opened: Desk, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None) -> None:
    if edits is None:
        opened.reset(force=False)
        return
    known = opened.partitions()
    found = [(_one_of(known, partition, name), position) for partition, position in edits]
    wanted: dict[str | None, Saved] = {
        partition.database: position for partition, position in found if isinstance(position, dict)
    }
    if wanted:
        opened.set(wanted, force=False)
    else:
        opened.reset(force=False)


def _one_of(known: Sequence[SourcePartition], given: Mapping[str, str], name: str) -> SourcePartition:
    """Find the partition that is meant; nothing else may be said of it."""
    for partition in known:
        if given == {"server": partition.server, "database": partition.database}:
            return partition
    shown = " or ".join(
        orjson.dumps({"server": one.server, "database": one.database}).decode() for one in known
    )
    raise NO_PARTITION(name=name, known=shown)
