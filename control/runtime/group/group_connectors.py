"""A group's connectors, as REST needs them: what every worker knows, and what its coordinator changes.

    GET      from what this worker has read of the group
    others   by the coordinator: decided on what it has read, and written before it answers

In: what is read (`worker_tasks.py`), and the writer while this worker is the coordinator.  Out: what
`control/runtime/rest/routes/connector_routes.py` needs, on any thread.  One change is decided at a time; a
wish lets the next one be decided before it has been read.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from threading import Event, Lock
from typing import Final, NamedTuple

from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.group import config_records
from wrackline.control.runtime.group.config_records import (
    SLOTS,
    Change,
    Connector,
    Sent,
    is_draft,
)
from wrackline.control.runtime.group.coordinator_writer import PATIENCE, CoordinatorWriter
from wrackline.control.runtime.group.follower import Follower
from wrackline.control.runtime.group.group_settings import WorkerGroup
from wrackline.control.runtime.group.slots import slots_for
from wrackline.control.runtime.group.threads import Threads
from wrackline.control.runtime.group.worker_tasks import WorkerTasks
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import (
    NO_CONNECTOR,
    NO_COORDINATOR,
    NOT_STOPPED,
    GoodSettings,
    GroupMember,
    refuse_existing,
)
from wrackline.control.runtime.rest.model.kept_answers import KeptAnswer, too_old
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, settings_in_force
from wrackline.control.runtime.services.offsets import (
    PastPosition,
    PlannedMove,
    open_offsets,
)
from wrackline.control.runtime.worker.file_connectors import committed_offsets, existing_topics
from wrackline.control.runtime.worker.position_edits import edit_positions
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.failpoints import reach
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.secret_refs import Resolver

COORDINATORS_SLOT: Final = 0
_LOOK: Final = 0.1  # seconds between two looks at whether this worker is the coordinator
_TIDY: Final = 60.0  # seconds between two looks for what is too old
_AGAIN: Final = 1.0  # seconds from one failed try to become it to the next
_REFUSED: Final = 1.0  # seconds between two looks at whether Kafka refused a wish
_SETTLE: Final = 5.0  # seconds to hear who owns each slot, while workers join or leave

Say = Callable[[str, Sequence[str]], None]  # the coordinator, which writes, and all workers

NOT_HEARD = define(
    "group.not_heard",
    Transient,
    "the change of {name} is written, but this worker has not read it back within {seconds:.0f} s",
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


class Storing(NamedTuple):
    """What keeps a connector's settings: its records, and how this worker sees that it has read them."""

    name: str
    changes: Sequence[Change]
    heard: Callable[[Connector | None], bool]


class GroupConnectors:
    """All connectors of the group."""

    def __init__(
        self,
        group: WorkerGroup,
        cluster: str,
        hands: WorkerTasks,
        follower: Follower,
        tell: Callable[[WracklineError], None],
        threads: Threads,
    ) -> None:
        self.worker = self._url = ""  # known once it listens
        self.cluster, self.group_id = cluster, group.id
        self._users = False  # whether users have to log in here
        self._say: Say = lambda _coordinator, _workers: None
        self._last_group: tuple[str, tuple[str, ...]] | None = None
        self._group, self._hands, self._follower, self._tell = group, hands, follower, tell
        self._pen = CoordinatorWriter(group.client, group.id)
        self.turn = Lock()
        self._wanted, self._stop, self._lock = Event(), Event(), Lock()
        self._unread: dict[str, Connector] = {}  # as wishes that were sent and not read have it
        self._last_sent = Sent(0, 0)
        self._holds = False
        self._shown: dict[str, tuple[int, Mapping[str, str]]] = {}
        self._thread = threads.make("coordinator", self._keep_office)

    def begin(self, worker: str, url: str, say: Say, *, users: bool) -> None:
        """Start, ready to be the coordinator, under this name; `users`: users have to log in here."""
        self.worker, self._url, self._say, self._users = worker, url, say, users
        self._thread.start()

    def end(self) -> None:
        """Stop being it."""
        self._stop.set()
        self._thread.join(PATIENCE)

    def owns(self, slots: frozenset[int]) -> None:
        """Take the slots that are ours: the owner of the first slot is the coordinator."""
        (self._wanted.set if COORDINATORS_SLOT in slots else self._wanted.clear)()

    def elsewhere(self) -> str | None:
        """Return the address of the worker that writes; None: it is this one."""
        if self._holds:
            return None
        office = self._hands.office()
        owner = self._hands.owners().get(COORDINATORS_SLOT)
        if office is None or office.worker == self.worker or office.worker != owner:
            unknown = NO_COORDINATOR()
            raise unknown
        if self._users and not office.users:  # it would do what any caller asks
            raise OPEN_COORDINATOR(worker=office.worker)
        return office.url

    def session_secret(self) -> bytes:
        """Return what the keys of the console's sessions are made from, on every worker of the group."""
        office = self._hands.office()
        return b"" if office is None else office.secret.encode()

    def end_session(self, session: str, until_s: int) -> None:
        """Have all workers of the group refuse a session of the console."""
        self._hands.end_session(session, until_s)

    def is_session_ended(self, session: str) -> bool:
        """Whether some worker has ended a session."""
        return self._hands.is_session_ended(session)

    @property
    def writes(self) -> bool:
        """Whether this worker is the coordinator."""
        return self._holds

    @property
    def led(self) -> bool:
        """Whether it is known which worker writes."""
        try:
            self.elsewhere()
        except WracklineError as error:
            return error.code == OPEN_COORDINATOR.code
        return True

    def names(self) -> Sequence[str]:
        """Return the connectors' names."""
        return list(self._hands.connectors())

    def stored_settings(self, name: str) -> Mapping[str, str]:
        """Return its settings as they were given, secrets among them."""
        return self._connector(name).config

    def config(self, name: str) -> Mapping[str, str]:
        """Return its settings; secrets are masked."""
        known = self.known_config(name)
        if known is not None:
            return known
        connector = self._connector(name)
        shown = self.check(connector.config).registry.shown(connector.config)
        self._shown[name] = (connector.cut, shown)
        return shown

    def known_config(self, name: str) -> Mapping[str, str] | None:
        """Return them if they were checked before, and have not changed since."""
        cut, shown = self._shown.get(name, (-1, {}))
        return shown if cut == self._connector(name).cut else None

    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        """Return the settings that a connector runs with; some may be the group's."""
        own = self.stored_settings(name)
        return settings_in_force(self.check(own), own)

    def version(self, name: str) -> int:
        """Return a number that changes with the connector's settings."""
        return self._connector(name).cut

    def pipeline(self, name: str) -> Pipeline:
        """Return the connector as a pipeline, checked."""
        return self.check(self.stored_settings(name))

    def check(self, settings: Mapping[str, str]) -> Pipeline:
        """Check settings with what the group's file adds and allows."""
        return check(self._group.whole(settings), Installed(), Resolver(self._group.allowed, os.environ))

    def standing(self, name: str) -> ConnectorState:
        """Return its task's state."""
        return self._hands.standing(self._connector(name))

    def members(self) -> Sequence[GroupMember]:
        """Return the workers of the group."""
        return self._hands.members()

    def topics(self, name: str) -> Sequence[str]:
        """Return the names of its existing topics."""
        return existing_topics(self.pipeline(name))

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        """Return its committed positions."""
        return committed_offsets(self.pipeline(name))

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        """Return the positions that were kept."""
        with open_offsets(self.pipeline(name)) as opened:
            return opened.history()

    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        """Keep a connector's settings; a task that runs starts again with them."""
        with self.writing():
            self.write(*self.storing(name, good, wish, new=new))

    def storing(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool) -> Storing:
        """Return what has to be written to keep a connector's settings; called while `writing`.

        A new one replaces none, also none that was made since the caller looked.  The settings were checked
        before, because all other writers wait meanwhile.
        """
        if new:
            refuse_existing(self._hands.connectors(), name)
        known = self._hands.connectors().get(name)
        cut = max(time.time_ns() // 1_000_000, 0 if known is None else known.cut + 1)
        config, tasks = good
        if known is None:
            made = Connector(name, config, cut, wish or DesiredState.RUN, COORDINATORS_SLOT)
            kept = made.placed(self._slots_for(name, tasks))
        else:
            slots = known.slots[:tasks]
            if len(slots) < tasks:
                slots = self._slots_for(name, tasks, slots)
            kept = known.changed(config, cut, slots)

        def heard(now: Connector | None) -> bool:
            return now is not None and now.cut == cut

        return Storing(name, config_records.connector_record(kept, known), heard)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let nobody else decide or write until the block ends; what was wished before is known in it."""
        with self._lock:
            self._await_wishes()
            yield

    def find_answer(self, key: str) -> KeptAnswer | None:
        """Return what was answered to a request that is done once, if it still counts."""
        found = self._hands.answers().get(key)
        return found if found is not None and found.counts(now_ms()) else None

    def keep_answer(self, key: str, answer: KeptAnswer | None) -> None:
        """Keep an answer, and forget those that are too old; None: forget it."""
        with self.writing():
            old = [] if answer is None else too_old(self._hands.answers(), key, answer.user)
            self._write_answers({**dict.fromkeys(old), key: answer})

    def tidy(self) -> None:
        """Forget tasks and workers that are gone, answers that are too old, and what the client reports."""
        self._hands.forget_gone()
        with self.writing():
            self._pen.hear()
            now = now_ms()
            old = [key for key, answer in self._hands.answers().items() if not answer.counts(now)]
            if old:
                self._write_answers(dict.fromkeys(old))

    def _write_answers(self, answers: Mapping[str, KeptAnswer | None]) -> None:
        changes = [config_records.answer_record(key, answer) for key, answer in answers.items()]
        self.write("an Idempotency-Key", changes, lambda _: True)

    def remove(self, name: str) -> None:
        """Forget a connector; its positions stay."""
        with self.writing():
            known = self._connector(name)
            self.write(name, config_records.removal_records(known), lambda now: now is None)
            self._shown.pop(name, None)

    def wish(self, name: str, wish: DesiredState, task: int | None = None) -> None:
        """Have it run, pause, stop or start again, soon; or one of its tasks run, pause or start again."""
        with self._lock:
            sent = self._decide(name, wish, task)
        if sent is not None:
            self._until_read(name, sent)

    def _decide(self, name: str, wish: DesiredState, task: int | None) -> Sent | None:
        """Return what was sent for a wish; None: nothing has to be read for it."""
        known = self._unread.get(name) or self._connector(name)
        if wish is DesiredState.RESTART:
            return self._send(name, partial(config_records.restart_record, name, now_ms(), task))
        wished = known.wished(wish, task)
        if wished == known:
            return self._last_sent if name in self._unread else None
        if wished.wish is DesiredState.RUN and known.wish is not DesiredState.RUN:
            slots = self._slots_for(name, len(wished.slots))
            wished = wished.placed(slots)  # it has no process that would move
        if wished.slots != known.slots:
            self._await_wishes()
            self.write(name, config_records.connector_record(wished), lambda _: True)
            return None
        sent = self._send(name, partial(config_records.wish_record, wished))
        self._unread[name] = wished
        return sent

    def edit_offsets(
        self, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
    ) -> None:
        """Set positions, or forget them: the task then starts over, wherever the log begins."""
        with self.writing():  # before its state is checked: a call that resumes it meanwhile waits
            self._require_stopped(name)
            with open_offsets(self.pipeline(name)) as opened:
                edit_positions(opened, name, edits)

    def rewind(self, name: str, to: datetime, *, as_new: bool, dry_run: bool) -> Sequence[PlannedMove]:
        """Go back to a moment, or only say what that would do."""
        if dry_run:
            with open_offsets(self.pipeline(name)) as opened:
                return opened.preview_rewind(to, as_new=as_new)
        with self.writing():
            self._require_stopped(name)
            with open_offsets(self.pipeline(name)) as opened:
                moves = opened.preview_rewind(to, as_new=as_new)
                opened.rewind(to, as_new=as_new, force=False)
                return moves

    def _require_stopped(self, name: str) -> None:
        connector = self._connector(name)
        stands = self._hands.standing(connector).state
        if connector.wish is not DesiredState.STOP or stands is not TaskState.STOPPED:
            raise NOT_STOPPED(name=name)

    def _connector(self, name: str) -> Connector:
        known = self._hands.connectors().get(name)
        if known is None:
            raise NO_CONNECTOR(name=shown_name(name))
        return known

    def _slots_for(self, name: str, tasks: int, keep: Sequence[int] = ()) -> tuple[int, ...]:
        self._follower.wait_for(lambda: len(self._hands.owners()) == SLOTS, _SETTLE)
        return slots_for(name, tasks, self._hands.connectors(), self._hands.owners(), keep)

    def write(self, name: str, changes: Sequence[Change], heard: Callable[[Connector | None], bool]) -> None:
        """Write as the coordinator, in one transaction, and wait until it counts on this worker.

        A connector's records count when they are committed.  A draft's count when they are read, because its
        version is their offset.
        """
        if not self._holds:
            unknown = NO_COORDINATOR()
            raise unknown
        _decided(name)
        try:
            with self._hands.written([one for one in changes if not is_draft(one[0])]):
                self._pen.write(changes)
        finally:
            self._holds &= self._pen.office is not None  # else it is lost, or must be taken again
        _written(name)
        if not self._follower.wait_for(lambda: heard(self._hands.connectors().get(name)), PATIENCE):
            raise NOT_HEARD(name=name, seconds=PATIENCE)

    def _send(self, name: str, record: Callable[[Sent], Change]) -> Sent:
        if not self._holds:
            unknown = NO_COORDINATOR()
            raise unknown
        self._read_own_term()
        _decided(name)
        self._last_sent = self._pen.send(record)
        return self._last_sent

    def _await_wishes(self) -> None:
        if self._unread and self._holds:
            self._until_read(", ".join(self._unread), self._last_sent)
        self._unread.clear()

    def _until_read(self, name: str, sent: Sent) -> None:
        """Wait until what was sent counts."""
        try:
            deadline = time.monotonic() + PATIENCE
            while not self._follower.wait_for(lambda: self._is_known(sent), _REFUSED):
                self._pen.check_sent()
                if time.monotonic() > deadline:
                    raise NOT_HEARD(name=name, seconds=PATIENCE)
        except WracklineError:
            self._lose(sent.by)  # it may arrive later: our next term shuts it out
            raise
        _written(name)
        if not self._hands.is_newest(sent.by):  # another coordinator wrote before us
            self._lose(sent.by)
            lost = NO_COORDINATOR()
            raise lost

    def _is_known(self, sent: Sent) -> bool:
        """Whether a wish was read, or can't count any more because a newer term was."""
        return self._hands.has_read(sent) or not self._hands.is_newest(sent.by)

    def _lose(self, term: int) -> None:
        """Be the coordinator no longer, if it is still this term."""
        office = self._pen.office
        if office is None or office.number == term:
            self._holds = False

    def _read_own_term(self) -> None:
        """Wait until our term is read, and give it the number that it was read with."""
        ours = self._pen.office
        if ours is not None and not ours.number:
            self._follower.wait_for(lambda: self._hands.office() == ours, PATIENCE)
            ours = self._pen.numbered(self._hands.office())
        if ours is None or not ours.number:
            unknown = NO_COORDINATOR()
            raise unknown

    def _restate(self) -> None:
        """Write again what a coordinator before us has overwritten late."""
        if self._hands.restated():
            with self.writing():
                self.write("wishes that came late", self._hands.restated(), lambda _: True)

    def _keep_office(self) -> None:
        tidy = time.monotonic() + _TIDY
        while not self._stop.wait(_LOOK):
            self._say_who()
            if not self._wanted.is_set():
                self._leave()
            elif not self._holds:
                self._take()
            else:
                office = self._hands.office()
                if office is not None and office.worker != self.worker:
                    self._leave()  # another worker has it, though our slots have not changed yet
                    continue
                with suppress(WracklineError):  # the next look tries again
                    self._restate()
                    if time.monotonic() > tidy:
                        tidy = time.monotonic() + _TIDY
                        self.tidy()
        self._leave()

    def _say_who(self) -> None:
        """Report the group's workers when they have changed, once it is known which of them writes."""
        office, owners = self._hands.office(), self._hands.owners()
        coordinator = owners.get(COORDINATORS_SLOT)
        if office is None or coordinator is None or office.worker != coordinator:
            return
        now = coordinator, tuple(sorted(set(owners.values())))
        if now != self._last_group:
            self._last_group = now
            self._say(*now)

    def _take(self) -> None:
        try:
            with self._lock:
                known = self._hands.office()
                secret = "" if known is None else known.secret
                self._pen.take(self.worker, self._url, users=self._users, secret=secret)
                self._unread.clear()
                self._read_own_term()
                self._holds = True
        except WracklineError as error:
            self._tell(error)
            self._stop.wait(_AGAIN)

    def _leave(self) -> None:
        if self._holds:
            self._holds = False
            with self._lock:
                self._pen.drop()


def _decided(name: str) -> None:
    reach("group_decided", name)


def _written(name: str) -> None:
    reach("group_written", name)
