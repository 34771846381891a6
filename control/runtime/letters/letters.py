"""A pipeline's dead letters, for the command line: opens the target and Kafka, and Spark only if it must.

In: a pipeline that was found good.  Out: letters by table.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wrackline.consumers.contract.letters import DeadLetter, LetterBox
from wrackline.consumers.kafka.client_settings import client_settings
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.control.runtime.spark.target_access import open_target_alone, target_of
from wrackline.schemas.kafka.topic_names import Naming, table_of
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.tables.table import TableId


@dataclass(frozen=True, slots=True)
class LettersService:
    """The letters of one pipeline."""

    box: LetterBox
    topics: TopicOffsets
    server: str
    naming: Naming

    def tables(self) -> list[TableId]:
        """Return the tables that have a topic."""
        return sorted(map(table_of, self.topics.ends(self.server, self.naming)))

    def letters(self, table: TableId) -> Iterator[DeadLetter]:
        """Return a table's letters."""
        return self.box.kept(table)

    def drop(self, table: TableId) -> int:
        """Forget a table's letters; return how many they were."""
        spots = self.box.spots(table)
        self.box.remove(table, spots)
        return len(spots)


@contextmanager
def open_letters(pipeline: Pipeline) -> Iterator[LettersService]:
    """Open all that letters need while they stay letters."""
    values, kind = target_of(pipeline)
    with open_target_alone(values, kind) as target:
        topics = TopicOffsets(client_settings(values.below("kafka.")))
        yield LettersService(target.letters, topics, values.text("topic.prefix"), naming_of(values))
