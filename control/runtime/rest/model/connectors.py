"""What runs the pipelines, as REST knows it: a crew can be read, and a group's connectors can be changed.

In: nothing.  Out: the two protocols, and what each of them may refuse.  A worker by files is a crew; only its
files define its connectors.  In a group REST defines them, and one worker, the coordinator, records them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import NamedTuple, Protocol

from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.kept_answers import KeptAnswers
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce
from wrackline.control.runtime.rest.model.shared_sessions import SharedSessions
from wrackline.control.runtime.services.offsets import PastPosition, PlannedMove
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.pipelines.pipeline import Pipeline

NO_CONNECTOR = define(
    "rest.no_connector",
    Definite,
    "Connector {name} not found",  # the sentence is Connect's
    hint="list the connectors: wrackline connectors; over REST: GET /connectors",
)
NO_TASK = define(
    "rest.no_task",
    Definite,
    "connector {name} has no task {task}",
    hint="its tasks: GET /connectors/{name}/tasks",
)
NOT_STOPPED = define(  # the sentence is Connect's
    "rest.not_stopped",
    OperatorNeeded,
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the"
    " specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
    hint="PUT /connectors/{name}/stop, and ask again when GET /connectors/{name}/status lists no task",
)
NO_PARTITION = define(
    "rest.no_partition",
    Definite,
    "connector {name} has no such partition",
    hint="name it as GET /connectors/{name}/offsets does: {known}",
)
SOME_REMOVED = define(
    "rest.some_removed",
    OperatorNeeded,
    "one request to connector {name} removes positions of some databases and sets others",
    hint="send two requests: one with null for each database that starts over, one with the new positions;"
    " databases that you leave out stay as they are",
)
NO_COORDINATOR = define(
    "rest.no_coordinator",
    Transient,
    "the group has no coordinator at the moment: one is being chosen",
    hint="ask again in some seconds",
)
EXISTS = define(
    "rest.exists",
    OperatorNeeded,
    "Connector {name} already exists",
    hint="to change it: PUT /connectors/{name}/config",
)
TOO_LIKE = define(
    "rest.too_like",
    OperatorNeeded,
    "connector {name} can't be made beside {other}: Kafka takes . and _ in a topic's name for the same",
    hint="choose another name",
)


def refuse_existing(known: Collection[str], name: str) -> None:
    """Raise if there is a connector of this name, or one whose topics would have the same names."""
    if name in known:
        raise EXISTS(name=name)
    like = [one for one in known if one.replace(".", "_") == name.replace(".", "_")]
    if like:
        raise TOO_LIKE(name=name, other=like[0])


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A worker."""

    name: str
    slots: int | None  # that it owns; None: there is no group
    began_ms: int
    version: str  # of its program; empty: it does not say
    leads: bool = False  # whether it is the coordinator


class Connectors(Protocol):
    """Runs pipelines; any thread may ask.  A call that asks Kafka may wait for it."""

    worker: str  # host and port, as Connect names a worker

    def names(self) -> Sequence[str]:
        """Return the pipelines' names."""
        ...

    def config(self, name: str) -> Mapping[str, str]:
        """Return the settings in a pipeline's file; secrets are masked.

        It may check them, which loads a source's modules and reads the files that references name.
        """
        ...

    def known_config(self, name: str) -> Mapping[str, str] | None:
        """Return them if they were checked before, and have not changed since."""
        ...

    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        """Return the settings that a pipeline runs with, where each comes from, and what it means."""
        ...

    def standing(self, name: str) -> ConnectorState:
        """Return the state of its process."""
        ...

    def wish(self, name: str, wish: DesiredState, task: int | None = None) -> None:
        """Have it run, pause, stop or start again, soon; or one of its tasks run, pause or start again."""
        ...

    def members(self) -> Sequence[GroupMember]:
        """Return the workers that run them, by name; by files, this worker alone."""
        ...

    def topics(self, name: str) -> Sequence[str]:
        """Name its topics that are there."""
        ...

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        """Return its committed positions by partition of the source."""
        ...

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        """Return the positions that were kept, oldest first."""
        ...

    def rewind(self, name: str, to: datetime, *, as_new: bool, dry_run: bool) -> Sequence[PlannedMove]:
        """Go back to a moment, or only say what that would do.  NOT_STOPPED unless it was stopped.

        By files it is refused.
        """
        ...


class GoodSettings(NamedTuple):
    """Settings of a connector that were checked and found good."""

    config: Mapping[str, str]  # as they are stored
    tasks: int  # to which its databases are dealt


class WritableConnectors(Connectors, KeptAnswers, SharedSessions, Protocol):
    """A crew whose connectors are made by REST.  For an unknown name it raises NO_CONNECTOR."""

    cluster: str  # the id of the Kafka that the group keeps its records in
    group_id: str
    turn: Lock  # held by a caller that reads a connector's settings and then writes them, so none is lost

    def elsewhere(self) -> str | None:
        """Return the URL of the worker that writes, None if it is this one; NO_COORDINATOR meanwhile."""
        ...

    def stored_settings(self, name: str) -> Mapping[str, str]:
        """The flat map as it was given, secrets unmasked, references unresolved: never to be shown."""
        ...

    def check(self, settings: Mapping[str, str]) -> Pipeline:
        """Check settings with what the group adds to them, and with what it allows them to reach."""
        ...

    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        """Keep settings, and for a new connector whether it runs (None: it does).

        With `new`, EXISTS is raised if there is one.  What was asked is to be seen on this worker when it
        returns.
        """
        ...

    def remove(self, name: str) -> None:
        """Forget a connector; its task is ended; its positions stay, as Connect's do."""
        ...

    def edit_offsets(
        self, name: str, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
    ) -> None:
        """Set positions, None removes one; None for all of them.  NOT_STOPPED unless it was stopped."""
        ...
