"""A group of one worker in memory: what REST makes is kept and runs nowhere; what is asked is done at once.

In: the installed sources.  Out: `WritableConnectors` as `control/runtime/rest/model/connectors.py` has it.
`coordinator` may be set, as if another worker did what writes.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Event, Lock

from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import (
    NO_CONNECTOR,
    NOT_STOPPED,
    GoodSettings,
    GroupMember,
    refuse_existing,
)
from wrackline.control.runtime.rest.model.kept_answers import AnswersInMemory
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, settings_in_force
from wrackline.control.runtime.services.offsets import PastPosition, PlannedMove
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

WORKER = "127.0.0.1:8083"
DEFAULTS = {"kafka.bootstrap.servers": "broker1:9092", "schema.registry.url": "http://registry:8081"}
_STATES = {DesiredState.PAUSE: TaskState.PAUSED, DesiredState.STOP: TaskState.STOPPED}

PAST = [
    PastPosition("2026-05-01T12:00:00.000+00:00", "shop", {"lsn": "0/1"}, "0/1", 3),
    PastPosition("2026-05-01T12:01:00.000+00:00", "shop", {"lsn": "0/9"}, "0/9", 3),
]
Partition = frozenset[tuple[str, str]]


class FakeGroup(AnswersInMemory):
    """Keeps what it is given."""

    worker, cluster, group_id = WORKER, "kafka-1", "prod"

    def __init__(self) -> None:
        super().__init__()
        self.turn = Lock()
        self.coordinator: str | WracklineError | None = None
        self.looked = Event()  # a caller asked which worker writes
        self.ended: dict[str, int] = {}  # sessions
        self.resolver = Resolver(Allowed(), {})
        self.asked: list[str] = []  # what reached it, in order
        self._configs: dict[str, dict[str, str]] = {}
        self._wishes: dict[str, DesiredState] = {}
        self._positions: dict[str, dict[Partition, object]] = {}

    def elsewhere(self) -> str | None:
        self.looked.set()
        if isinstance(self.coordinator, WracklineError):
            raise self.coordinator
        return self.coordinator

    def session_secret(self) -> bytes:
        return b"a secret of the group"

    def end_session(self, session: str, until_s: int) -> None:
        self.ended[session] = until_s

    def is_session_ended(self, session: str) -> bool:
        return session in self.ended

    def names(self) -> Sequence[str]:
        return list(self._configs)

    def stored_settings(self, name: str) -> Mapping[str, str]:
        self._known(name)
        return self._configs[name]

    def config(self, name: str) -> Mapping[str, str]:
        given = self.stored_settings(name)
        return self.check(given).registry.shown(given)

    def known_config(self, name: str) -> Mapping[str, str] | None:
        self._known(name)
        return None

    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        own = self.stored_settings(name)
        return settings_in_force(self.check(own), own)

    def check(self, settings: Mapping[str, str]) -> Pipeline:
        return check({**DEFAULTS, **settings}, Installed(), self.resolver)

    def standing(self, name: str) -> ConnectorState:
        self._known(name)
        return ConnectorState(_STATES.get(self._wishes[name], TaskState.RUNNING))

    def wish(self, name: str, wish: DesiredState, task: int | None = None) -> None:
        self._known(name)
        self.asked.append(f"{wish.value} {name}" + ("" if task is None else f" {task}"))
        self._wishes[name] = wish

    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        if new:
            refuse_existing(self._configs, name)
        self.asked.append(f"put {name}")
        if name not in self._configs:
            self._wishes[name] = wish or DesiredState.RUN
        self._configs[name] = dict(good.config)

    def remove(self, name: str) -> None:
        self._known(name)
        self.asked.append(f"remove {name}")
        del self._configs[name], self._wishes[name]

    def members(self) -> Sequence[GroupMember]:
        return [GroupMember(WORKER, 128, 0, "", leads=True)]

    def topics(self, name: str) -> Sequence[str]:
        self._known(name)
        return []

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        self._known(name)
        return [(dict(partition), at) for partition, at in self._positions.get(name, {}).items()]

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        self._known(name)
        return PAST

    def rewind(self, name: str, to: datetime, *, as_new: bool, dry_run: bool) -> Sequence[PlannedMove]:
        self._known(name)
        if not dry_run and self._wishes[name] is not DesiredState.STOP:
            raise NOT_STOPPED(name=name)
        self.asked.append(f"{'preview' if dry_run else 'rewind'} {name} {to.isoformat()} {as_new}")
        return [PlannedMove("shop", "0/9", "0/1", {"lsn": "0/1"})]

    def edit_offsets(
        self, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
    ) -> None:
        self._known(name)
        if self._wishes[name] is not DesiredState.STOP:
            raise NOT_STOPPED(name=name)
        self.asked.append(f"offsets {name}")
        kept = {} if edits is None else self._positions.get(name, {})
        changed = {frozenset(partition.items()): position for partition, position in edits or ()}
        self._positions[name] = {p: at for p, at in {**kept, **changed}.items() if at is not None}

    def _known(self, name: str) -> None:
        if name not in self._configs:
            raise NO_CONNECTOR(name=shown_name(name))
