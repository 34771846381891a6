"""The pipelines of one worker, as REST asks for them: how each is, what its file says, what Kafka has of it.

In: pipelines that were found good, and whoever hears wishes.  Out: what `control/rest/connectors.py` asks of
a crew, on any thread.  Whoever hears of the tasks' states keeps them here, on a thread of its own.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import orjson
from confluent_kafka.admin import AdminClient

from wrackline.control.rest.shapes import Standing
from wrackline.control.run import ownership_of
from wrackline.producers.connect.supervision import State, Wish
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.knock import knock
from wrackline.producers.kafka.removal import existing
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.topics import is_of_table

_NEW = Standing(State.STARTING)


class FilesCrew:
    """Pipelines whose files a worker was started with; a wish is forgotten when the worker ends."""

    def __init__(self, pipelines: Mapping[str, Pipeline], wished: Callable[[str, Wish], None]) -> None:
        self.worker = ""  # known once it listens
        self._pipelines, self._wished = pipelines, wished
        self._standings: dict[str, Standing] = {}

    def stands(self, name: str, standing: Standing) -> None:
        """Keep how a pipeline's process is now."""
        self._standings[name] = standing

    def names(self) -> Sequence[str]:
        """Name the pipelines."""
        return list(self._pipelines)

    def pipeline(self, name: str) -> Pipeline:
        """Return one as its file said when the worker was started."""
        return self._pipelines[name]

    def config(self, name: str) -> Mapping[str, str]:
        """Return what a pipeline's file says; secrets are masked."""
        pipeline = self._pipelines[name]
        return pipeline.registry.shown(pipeline.given)

    def standing(self, name: str) -> Standing:
        """Say how its process is."""
        return self._standings.get(name, _NEW)

    def wish(self, name: str, wish: Wish) -> None:
        """Have it run, pause, stop or begin again, soon."""
        self._wished(name, wish)

    def topics(self, name: str) -> Sequence[str]:
        """Name its topics that are there."""
        return topics_of(self._pipelines[name])

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        """Return its committed positions."""
        return committed(self._pipelines[name])


def topics_of(pipeline: Pipeline) -> Sequence[str]:
    """Name a pipeline's topics that are there, tables' alone."""
    values = pipeline.good()
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    knock(client, time.monotonic)
    server = values.text("topic.prefix")
    return sorted(topic for topic in existing(AdminClient(client.admin())) if is_of_table(server, topic))


def committed(pipeline: Pipeline) -> Sequence[tuple[Mapping[str, str], object]]:
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
