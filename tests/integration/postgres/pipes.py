"""A pipeline's stream without a pipeline: one database, one table, and the position that Kafka would hold."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

import psycopg
import pytest

from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Commit, Rows, Saved, Step
from wrackline.producers.sources.postgres.log.position import PgPosition, position_of
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream
from wrackline.schemas.errors import WracklineError

PATIENCE = 30.0
SETUP = "CREATE TABLE orders (id int PRIMARY KEY)"


@dataclass
class Pipe:
    """One database and the stream of its one table; `saved` is what Kafka would hold."""

    dsn: str
    slot: str
    more: dict[str, str] = field(default_factory=dict)
    saved: Saved | None = None

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def source(self, **more: str) -> PgSource:
        given = {"slot.name": self.slot, "table.include.list": "public.orders", **self.more, **more}
        around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
        return PgSource(settings_of(self.dsn, **given), around)

    def open(self, **more: str) -> tuple[PgSource, PgStream]:
        source = self.source(**more)
        [partition] = source.partitions()
        try:
            return source, source.stream(partition, source.tables(partition), self.saved)
        except BaseException:
            source.close()
            raise

    def pull(self, want: int, *, confirm: bool = True) -> PgPosition:
        """Stream until `want` rows have come and their transaction is complete; save the position."""
        source, stream = self.open()
        try:
            rows, last = 0, None
            deadline = time.monotonic() + PATIENCE
            while rows < want or last is None:
                assert time.monotonic() < deadline, f"{rows} of {want} rows came"
                batch = stream.poll(time.monotonic() + 0.2)
                for step in batch.steps if batch else ():
                    match step:
                        case Rows():
                            rows, last = rows + len(step.rows), None
                        case Commit(position=PgPosition() as position):
                            last = position
            assert rows == want
            self.saved = last.saved()
            if confirm:
                stream.confirm(last)
            return last
        finally:
            stream.close()
            source.close()

    def refused(self, **more: str) -> WracklineError:
        """Open the stream and return why that, or its first message, is refused."""
        with pytest.raises(WracklineError) as caught:  # noqa: PT012 it may only show when the log is read
            source, stream = self.open(**more)
            try:
                deadline = time.monotonic() + PATIENCE
                while time.monotonic() < deadline:
                    stream.poll(time.monotonic() + 0.2)
            finally:
                stream.close()
                source.close()
        return caught.value

    def repairs(self, error: WracklineError) -> None:
        """Start over after this loss: what is written then comes, in an epoch after all before."""
        before = self.saved
        assert before is not None
        with closing(self.source()) as source:
            [partition] = source.partitions()
            assert source.lost(partition, error)
            for _ in range(2):  # as where one is killed before the new position is committed
                self.saved = source.renewed(partition, before, error)
        source, stream = self.open()
        try:
            self.sql("INSERT INTO orders VALUES (1000)")
            steps: list[Step] = []
            found: list[PgPosition] = []
            deadline = time.monotonic() + PATIENCE
            while not found:
                assert time.monotonic() < deadline, "nothing came"
                batch = stream.poll(time.monotonic() + 0.2)
                steps += batch.steps if batch else ()  # a commit may come in a batch after its rows
                if any(isinstance(step, Rows) for step in steps):
                    found += [one.position for one in steps if isinstance(one, Commit)]  # type: ignore[misc]  # a source's positions are its own
            assert found[-1].epoch == position_of(before, self.slot).epoch + 1
        finally:
            stream.close()
            source.close()


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
