"""Messages outside of transactions, as heartbeats are: what follows at once in the log is not passed over."""

from collections.abc import Iterator, Sequence

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from tests.integration.shop import Opened
from wrackline.producers.contract.steps import Message, Rows, Step
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_number
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream

SPEAKS = "SELECT pg_logical_emit_message(false, 'x', 'x')::text"
ADJACENT = 30  # tries until no other session writes between a message and a commit


class Orders(Opened):
    """A pipeline over one table."""

    def __init__(self, database: Database) -> None:
        self.database = database
        super().__init__(PgRegistry())

    def start(self) -> tuple[PgSource, PgStream]:
        """Open the log where it was left."""
        made = PgSource(settings_of(self.database.dsn), self.around)
        (partition,) = made.partitions()
        return made, made.stream(partition, made.tables(partition), self.saved)


@pytest.fixture
def orders(database: Database) -> Iterator[Orders]:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    made = Orders(database)
    yield made
    made.stop()


def has_rows(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, Rows) for step in steps)


def place_of(step: Step) -> PgPosition:
    place = step.position if isinstance(step, Message) else step.upto if isinstance(step, Rows) else None
    assert isinstance(place, PgPosition)
    return place


def commits_behind_a_message(orders: Orders) -> Sequence[Step]:
    """Write a message, and commit a row at once: the commit begins in the log where the message ends."""
    dsn = orders.database.dsn
    with psycopg.connect(dsn, autocommit=True) as speaker, psycopg.connect(dsn) as writer:
        for number in range(ADJACENT):
            writer.execute("INSERT INTO orders VALUES (%s)", [number])
            ((ended,),) = speaker.execute(SPEAKS)
            writer.commit()
            steps = orders.read_until(has_rows)
            if place_of(next(step for step in steps if isinstance(step, Rows))).lsn == lsn_number(str(ended)):
                return steps
    raise AssertionError("other sessions wrote all the time")


def test_a_commit_directly_behind_a_message_is_later_than_it_and_is_sent_again(orders: Orders) -> None:
    """T-P05, INV-4."""
    steps = commits_behind_a_message(orders)
    said = max((step for step in steps if isinstance(step, Message)), key=place_of)
    rows = next(step for step in steps if isinstance(step, Rows))
    assert place_of(said) < place_of(rows)
    orders.saved = place_of(said).saved()
    orders.go_on()
    again = orders.read_until(has_rows)
    assert [step for step in again if isinstance(step, Message) and step.prefix == said.prefix] == []
    assert next(step.rows[0][2] for step in again if isinstance(step, Rows)) == rows.rows[0][2]
