"""Tasks that take databases over from each other, and publish: each database counts up in its topic.

    python -m tests.integration.kafka.deals '{"bootstrap": …, "prefix": …, "names": …, "tasks": …, …}'

As a process, a task ends when it is killed, or once it has taken over.
"""

import json
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from zlib import crc32

import orjson

from tests.fakes.place import Place
from tests.integration.kafka.world import CONNECTOR, made_publisher
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.kafka.client import client
from wrackline.producers.kafka.ownership import GenerationClaim, Ownership
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.kafka.topic_creation import TopicGroup
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.pipelines.deal import Deal, TaskShare, shares_of
from wrackline.schemas.tables.table import SourcePartition, TableId


@dataclass
class Owner:
    """One task of a deal, which takes over and publishes until it is stopped or superseded."""

    bootstrap: str
    prefix: str
    share: TaskShare
    stopping: threading.Event = field(default_factory=threading.Event)
    published: int = 0
    ended: str = ""  # the code of the error that ended it

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                try:
                    self._publish(self.ownership(), self.claim())
                except Transient:
                    time.sleep(0.01)
        except WracklineError as error:
            self.ended = error.code

    def ownership(self) -> Ownership:
        return Ownership(client(self.bootstrap), self.prefix, CONNECTOR, self.share.task)

    def claim(self) -> GenerationClaim:
        """Take over, again and again while others come between."""
        made = self.ownership()
        while True:
            try:
                made.prepare(1, self.share.deal.tasks)
                return made.take_over(self.share, time.monotonic)
            except Transient:
                time.sleep(random.random() / 10)

    def _publish(self, ownership: Ownership, claim: GenerationClaim) -> None:
        publisher = made_publisher(
            self.bootstrap,
            _Names(self.prefix),
            generation=claim.generation,
            newest=ownership.newest,
            task=self.share.task,
            slots=self.share.deal.tasks,
            group=TopicGroup(1),
        )
        try:
            while not self.stopping.is_set():
                try:
                    self._session(publisher)
                except Transient:
                    time.sleep(0.01)
        finally:
            publisher.close()

    def _session(self, publisher: Publisher) -> None:
        state = publisher.start()
        at = {}
        for name in self.share.names:
            saved = state.resume(CONNECTOR, SourcePartition(self.prefix, name))
            at[name] = 0 if saved is None else int(orjson.loads(saved.position)["lsn"])
        while not self.stopping.wait(0.02):
            name = random.choice(self.share.names)
            publisher.publish([self._publication(name, at[name])])
            at[name] += 1
            self.published += 1

    def _publication(self, name: str, number: int) -> Publication:
        partition, topic, value = SourcePartition(self.prefix, name), f"{self.prefix}.{name}", str(number)
        table, end = TableId(name, "public", "t"), Place(0, number + 1)
        states = {} if number else {table: canonical_json({"status": "streaming"})}
        records = [(topic, b"key", value.encode())]
        return Publication(
            partition, records, len(value), crc32(value.encode()), [topic], end, end, states, None
        )


@dataclass(frozen=True)
class _Names:
    prefix: str

    @property
    def offsets(self) -> str:
        return f"{self.prefix}-offsets"


def main() -> None:
    """Take over once."""
    told = json.loads(sys.argv[1])
    deal = Deal(told["number"], shares_of(told["names"], told["tasks"]))
    Owner(told["bootstrap"], told["prefix"], TaskShare(deal, told["task"])).claim()


if __name__ == "__main__":
    main()
