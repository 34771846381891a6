"""The pipelines of one worker, as REST needs them: their states, their files' settings, their data in Kafka.

In: pipelines that were found good, and what passes wishes on.  Out: what
`control/runtime/rest/routes/connector_routes.py` needs, on any thread.  The worker's own thread keeps the
tasks' states here.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from threading import Lock

import orjson
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.ground.pipeline_access import ownership_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, GroupMember
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, settings_in_force
from wrackline.control.runtime.rest.routes.connector_routes import BY_FILE
from wrackline.control.runtime.services.offsets import PastPosition, PlannedMove, open_offsets
from wrackline.control.runtime.worker.pipeline_tasks import standing_of, tasks_of
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.login_check import check_login
from wrackline.producers.kafka.topic_deletion import list_topics
from wrackline.schemas.kafka.topic_names import is_of_table
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.versions import OURS

_NEW = ConnectorState(TaskState.STARTING)


class FileConnectors:
    """Pipelines whose files a worker was started with; a wish is forgotten when the worker ends.

    Their settings are those of the worker's start, or of the last restart of the connector.
    """

    def __init__(
        self,
        pipelines: Mapping[str, Pipeline],
        wished: Callable[[str, DesiredState], None],
        restart: Callable[[str, Callable[[str], bool]], Pipeline],
    ) -> None:
        """Take what passes wishes on, and what restarts all tasks of a name but those that rest."""
        self.worker = ""  # known once it listens
        self._pipelines, self._wished, self._restart = dict(pipelines), wished, restart
        self._standings: dict[str, ConnectorState] = {}
        self._shown: dict[str, tuple[Pipeline, Mapping[str, str]]] = {}
        self._versions, self._lock = dict.fromkeys(pipelines, 0), Lock()
        self._began_ms = now_ms()

    def stands(self, task: str, standing: ConnectorState) -> None:
        """Keep the state of a task's process."""
        self._standings[task] = standing

    def names(self) -> Sequence[str]:
        """Return the pipelines' names."""
        return list(self._pipelines)

    def version(self, name: str) -> int:
        """Return how often a file was read again."""
        return self._versions.get(name, 0)

    def pipeline(self, name: str) -> Pipeline:
        """Return a pipeline as its file was when it was last read."""
        return self._pipelines[name]

    def config(self, name: str) -> Mapping[str, str]:
        """Return the settings in a pipeline's file; secrets are masked."""
        pipeline = self._pipelines[name]
        if (shown := self._shown.get(name)) is None or shown[0] is not pipeline:
            shown = self._shown[name] = pipeline, pipeline.registry.shown(pipeline.given)
        return shown[1]

    def known_config(self, name: str) -> Mapping[str, str] | None:
        """Return them if they were asked for since the file was read."""
        shown = self._shown.get(name)
        return shown[1] if shown is not None and shown[0] is self._pipelines[name] else None

    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        """Return the settings that a pipeline runs with."""
        pipeline = self._pipelines[name]
        return settings_in_force(pipeline, pipeline.given)

    def standing(self, name: str) -> ConnectorState:
        """Return the states of its processes; a name that there is not is refused."""
        if name not in self._pipelines:
            raise NO_CONNECTOR(name=shown_name(name))
        tasks = tasks_of(self._pipelines[name])
        return standing_of(tasks, lambda number: self._standings.get(tasks.key(name, number), _NEW))

    def wish(self, name: str, wish: DesiredState, task: int | None = None) -> None:
        """Have it run, pause, stop or start again, soon; or one of its tasks run, pause or start again."""
        if task is None and wish is DesiredState.RESTART:
            with self._lock:
                self._pipelines[name] = self._restart(name, self._rests)
                self._versions[name] += 1
            return
        tasks = tasks_of(self._pipelines[name])
        for number in tasks if task is None else (task,):
            self._wished(tasks.key(name, number), wish)

    def _rests(self, task: str) -> bool:
        """Whether a task is paused: a restart of the connector leaves it so."""
        return self._standings.get(task, _NEW).state is TaskState.PAUSED

    def members(self) -> Sequence[GroupMember]:
        """Return this worker alone."""
        return [GroupMember(self.worker, None, self._began_ms, OURS)]

    def topics(self, name: str) -> Sequence[str]:
        """Return the names of its existing topics."""
        return existing_topics(self._pipelines[name])

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        """Return its committed positions."""
        return committed_offsets(self._pipelines[name])

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        """Return the positions that were kept."""
        with open_offsets(self._pipelines[name]) as opened:
            return opened.history()

    def rewind(self, name: str, to: datetime, *, as_new: bool, dry_run: bool) -> Sequence[PlannedMove]:
        """Refuse: what a file defines is edited by `wrackline offsets`."""
        del name, to, as_new, dry_run
        raise BY_FILE(method="POST of a rewind")


def existing_topics(pipeline: Pipeline) -> Sequence[str]:
    """Return the names of a pipeline's existing topics, only those of tables."""
    values = pipeline.good()
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    check_login(client, time.monotonic)
    server, naming = values.text("topic.prefix"), naming_of(values)
    return sorted(
        topic for topic in list_topics(AdminClient(client.admin())) if is_of_table(server, topic, naming)
    )


def committed_offsets(pipeline: Pipeline) -> Sequence[tuple[Mapping[str, str], object]]:
    """Return a pipeline's committed positions; none before its first start."""
    values = pipeline.good()
    name = values.text("name")
    return [
        ({"server": key.server, "database": key.database or ""}, orjson.loads(offset.position))
        for key, offset in sorted(
            ownership_of(values).state().positions.items(), key=lambda item: str(item[0])
        )
        if key.connector == name
    ]
