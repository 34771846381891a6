"""A pipeline's dead letters, for the command line: the target and Kafka opened, and Spark only if it must be.

In: a pipeline that was found good.  Out: letters by table.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wrackline.consumers.kafka_settings import asking
from wrackline.consumers.letters import Letter, LetterBox
from wrackline.consumers.topics import Topics
from wrackline.consumers.writers import table_id
from wrackline.control.target_alone import target_alone, target_of
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.table import TableId


@dataclass(frozen=True, slots=True)
class Desk:
    """The letters of one pipeline."""

    box: LetterBox
    topics: Topics
    server: str

    def tables(self) -> list[TableId]:
        """Return the tables that have a topic."""
        return sorted(map(table_id, self.topics.ends(self.server)))

    def letters(self, table: TableId) -> Iterator[Letter]:
        """Give a table's letters."""
        return self.box.kept(table)

    def drop(self, table: TableId) -> int:
        """Forget a table's letters; return how many they were."""
        spots = self.box.spots(table)
        self.box.remove(table, spots)
        return len(spots)


@contextmanager
def desk(pipeline: Pipeline) -> Iterator[Desk]:
    """Open all that letters need while they stay letters."""
    values, kind = target_of(pipeline)
    with target_alone(values, kind) as target:
        topics = Topics(asking(values.below("kafka.")))
        yield Desk(target.letters, topics, values.text("topic.prefix"))
