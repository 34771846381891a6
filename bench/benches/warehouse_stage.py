"""A first load from Kafka to a warehouse's door: staged and submitted, beside Iceberg's load of these rows.

No warehouse is there, so what is measured is the client alone: batches are read and folded, written as files,
read once more as an upload does, and each statement is handed to a session that answers at once.

    wrackline staged            the driver reads the batches in Arrow, as it does for Iceberg too
    wrackline staged by Spark   Spark reads and folds them, and its tasks write the files
    Iceberg                     bench lake-load's own
"""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import stage
from bench.benches.decode import TEXTS
from bench.benches.lake_load import BATCHES, METRIC, UNITS, ours, publish, timed
from bench.lake import session
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.envelopes import TOPIC
from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.kafka.record_reader import RecordReader
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedLayout, StagedPlace, StagedRelation
from wrackline.consumers.staged.service import CarriedFiles, StagedSession, StageTable
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.staged.target import StagedTarget
from wrackline.consumers.targets.snowflake.dialect import DIALECT, create_stage, create_table
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding

__all__ = ["METRIC", "UNITS"]

FULL = Size(1_000_000, 3)
QUICK = Size(100_000, 1)


class AcceptingSession:
    """Takes every statement and every file."""

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Find nothing."""
        del text
        return []

    def run(self, text: str) -> None:
        """Do it."""

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        """Be the first."""
        del move, steps, name
        return True

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        """Read the files, as an upload does."""
        del stage, name
        for address in files.addresses:
            hashlib.sha256(Path(address).read_bytes()).digest()
        return files.rows

    def close(self) -> None:
        """End it."""


class AcceptingService:
    """A service in which nothing is there; what our own commits did is remembered by the target."""

    dialect: StagedDialect = DIALECT

    def session(self) -> StagedSession:
        """Open one."""
        return AcceptingSession()

    def has_schema(self, session: StagedSession, name: str) -> bool:
        """Find none."""
        del session, name
        return False

    def state_row(self, session: StagedSession, table: StagedRelation) -> tuple[Any, ...] | None:
        """Find none."""
        del session, table
        return None

    def made(self, session: StagedSession, relation: StagedRelation) -> str | None:
        """Find none."""
        del session, relation
        return None

    def create(self, place: StagedPlace, shape: StagedShape) -> Sequence[str]:
        """Write it."""
        return [create_table(place, shape)]

    def create_stage(self, stage: StageTable) -> str:
        """Write it."""
        return create_stage(stage)

    def old_tables(self, session: StagedSession, beginning: StagedRelation) -> Sequence[str]:
        """Find none."""
        del session, beginning
        return ()

    def refusal(self, error: Exception, doing: str, place: str) -> WracklineError | None:
        """Know none."""
        del error, doing, place
        return None

    def check(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        """Find nothing."""
        del session, places
        return iter(())


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Publish the rows once, for all to read."""
    with stage.servers() as stack, tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        bootstrap = stack.kafka().bootstrap
        publish(bootstrap, rows)
        yield [
            Contender("wrackline staged", staged, (folder, bootstrap, rows, True), ours=True),
            Contender("wrackline staged by Spark", staged, (folder, bootstrap, rows, False)),
            Contender("Iceberg", ours, (folder, bootstrap, rows, True)),
            Contender("Iceberg by Spark", ours, (folder, bootstrap, rows, False)),
        ]


def staged(folder: str, bootstrap: str, rows: int, directly: bool) -> Outcome:  # noqa: FBT001 - a contender's argument
    """Merge batch after batch, as the driver does."""
    size = -(-rows // BATCHES)
    with tempfile.TemporaryDirectory(dir=folder) as place, session(place) as spark:
        reader = RecordReader({"bootstrap.servers": bootstrap}, "wrackline-bench", is_local=True)
        rules = BatchRules(
            {"kafka.bootstrap.servers": bootstrap},
            TEXTS.__getitem__,
            most_offsets=size,
            reader=reader if directly else None,
        )
        layout = StagedLayout("{schema}", "wrackline", DIALECT.identifiers)
        target = StagedTarget(AcceptingService(), layout, DriverCarrier())
        batches = Batches(spark, TopicOffsets({"bootstrap.servers": bootstrap}), target, rules)
        try:
            return timed(rows, lambda: batches.merge(TOPIC, {0: rows}))
        finally:
            reader.close()
            target.close()
