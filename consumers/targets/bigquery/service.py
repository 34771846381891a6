"""BigQuery as a service of staged targets: one client, which is safe for many threads.

What is asked often is asked by calls that are no query, and cost nothing: `tabledata.list` for a state's row,
`tables.get` for whether a table is there.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC
from typing import Any, Final

from google.api_core.exceptions import NotFound
from google.cloud.bigquery import Client, SchemaField, Table, TableReference

from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.service import StagedSession, StageTable
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.state import COLUMNS, read_state, state_names
from wrackline.consumers.targets.bigquery.check import CheckScope, find_problems
from wrackline.consumers.targets.bigquery.dialect import DIALECT
from wrackline.consumers.targets.bigquery.partitions import (
    KeyPartitions,
    create_stage,
    create_table,
    cut_by,
)
from wrackline.consumers.targets.bigquery.refusals import bigquery_error
from wrackline.consumers.targets.bigquery.session import CALL_S, RETRY, BigQuerySession, JobPolicy
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding

_NUMBERS: Final = frozenset({"number", "version"})
_STATE: Final = tuple(SchemaField(name, "INT64" if name in _NUMBERS else "STRING") for name in COLUMNS)


class BigQueryService:
    """One project."""

    dialect: StagedDialect = DIALECT

    def __init__(
        self,
        client: Client,
        partitions: KeyPartitions,
        jobs: JobPolicy,
        batch_s: float = 1.0,
        upkeep_s: float = 0,
    ) -> None:
        self.client, self._partitions, self._jobs = client, partitions, jobs
        self._batch_s = batch_s  # how often a table may get a batch
        self._upkeep_s = upkeep_s

    def session(self) -> StagedSession:
        """Share the client."""
        return BigQuerySession(self.client, self._jobs)

    def close(self) -> None:
        """End the client's connections."""
        self.client.close()  # type: ignore[no-untyped-call]

    def has_schema(self, session: StagedSession, name: str) -> bool:
        """Ask for the dataset."""
        del session
        try:
            self.client.get_dataset(name, retry=RETRY, timeout=CALL_S)
        except NotFound:
            return False
        return True

    def kept_columns(self, session: StagedSession, table: StagedRelation) -> Collection[str]:
        """Name those by which the table is cut or sorted: BigQuery refuses to drop them."""
        del session
        found = self.client.get_table(self._reference(table), retry=RETRY, timeout=CALL_S)
        return {cut_by(found) or "", *(found.clustering_fields or ())}

    def state_row(self, session: StagedSession, table: StagedRelation) -> tuple[Any, ...] | None:
        """Read the table's rows without a query."""
        del session
        wanted = Table(self._reference(table), schema=_STATE)
        try:
            rows = list(self.client.list_rows(wanted, max_results=2, retry=RETRY, timeout=CALL_S))
        except NotFound:
            return None
        return rows[0].values() if len(rows) == 1 else ()

    def made(self, session: StagedSession, relation: StagedRelation) -> str | None:
        """Return when it was created, to the millisecond."""
        del session
        try:
            created = self.client.get_table(self._reference(relation), retry=RETRY, timeout=CALL_S).created
        except NotFound:
            return None
        return "" if created is None else created.astimezone(UTC).isoformat()

    def create(self, place: StagedPlace, shape: StagedShape) -> Sequence[str]:
        """Cut and sort the table by its key."""
        return [create_table(place.table, shape, self._partitions)]

    def create_stage(self, stage: StageTable) -> str:
        """Let it expire."""
        return create_stage(stage)

    def old_tables(self, session: StagedSession, beginning: StagedRelation) -> Sequence[str]:
        """Find none: a stage expires before it is old."""
        del session, beginning
        return ()

    def refusal(self, error: Exception, doing: str, place: str) -> WracklineError | None:
        """Ask the error's reason."""
        return bigquery_error(error, doing=doing, place=place, project=self.client.project)

    def check(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        """Look at rights, places and prices."""

        def shape(place: StagedPlace) -> StagedShape | None:
            row = self.state_row(session, place.state)
            return None if row is None else read_state(row, state_names(place, DIALECT)).shape

        return find_problems(self.client, CheckScope(places, shape, self._batch_s, self._upkeep_s))

    def _reference(self, relation: StagedRelation) -> TableReference:
        return TableReference.from_string(f"{self.client.project}.{relation.schema}.{relation.name}")
