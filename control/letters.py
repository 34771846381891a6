"""A pipeline's dead letters, for the command line: Spark, the target, Kafka and the registry opened.

In: a pipeline that was found good.  Out: letters by table, and what a replay made of them.  A table that
fails does so alone, as in `wrackline consume`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from wrackline.consumers.kafka_settings import asking
from wrackline.consumers.letters import Letter
from wrackline.consumers.planning import Rules
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.replay import Replayed, replay
from wrackline.consumers.topics import Topics
from wrackline.consumers.writers import table_id
from wrackline.control.consume import exit_of_all, rules, target_of
from wrackline.control.exits import Exit
from wrackline.control.spark_session import opened_target
from wrackline.schemas import registry
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.table import TableId


@dataclass(slots=True)
class Desk:
    """The letters of one pipeline."""

    session: SparkSession
    target: SparkTarget
    topics: Topics
    server: str
    rules: Rules
    failed: list[WracklineError] = field(default_factory=list)
    left: int = 0

    @property
    def exit(self) -> Exit:
        """The exit code of a replay: what stays asks for somebody."""
        return max(exit_of_all(self.failed), Exit.OPERATOR if self.left else Exit.OK)

    def tables(self) -> list[TableId]:
        """Return the tables that have a topic."""
        return sorted(map(table_id, self.topics.ends(self.server)))

    def letters(self, table: TableId) -> Iterator[Letter]:
        """Give a table's letters."""
        return self.target.letters.kept(table)

    def replay(self, table: TableId) -> Replayed:
        """Merge what can be merged of a table's letters."""
        try:
            done = replay(self.session, table, self.target, self.rules)
        except WracklineError as error:
            self.failed.append(error)
            return Replayed(0, {})
        self.left += sum(done.left.values())
        return done

    def drop(self, table: TableId) -> int:
        """Forget a table's letters; return how many they were."""
        spots = self.target.letters.spots(table)
        self.target.letters.remove(table, spots)
        return len(spots)


@contextmanager
def desk(pipeline: Pipeline) -> Iterator[Desk]:
    """Open all that letters need."""
    values, kind = target_of(pipeline)
    with ExitStack() as opened:
        session, target = opened.enter_context(opened_target(values, kind, None))
        texts = opened.enter_context(registry.Registry(registry.access(values)))
        given = values.below("kafka.")
        topics = Topics(asking(given))
        yield Desk(session, target, topics, values.text("topic.prefix"), rules(values, given, texts.text))
