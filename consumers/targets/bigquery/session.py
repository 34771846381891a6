"""Conversations with BigQuery: each statement, load and script is a job, which is waited for.

    rows, run    a query
    commit       a script, under a name that is the commit's alone
    load         files that are uploaded into a stage

A job that may change something has a name, so an answer that was lost is asked for again instead of done
again: a job of that name that is there already is ours.  A name saves work; what is right is decided by the
number in the state's row.

In: texts and files.  Out: rows, or the driver's own errors.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from google.api_core.exceptions import Conflict
from google.api_core.retry import Retry
from google.cloud.bigquery import (
    Client,
    LoadJob,
    LoadJobConfig,
    QueryJob,
    QueryJobConfig,
    SchemaField,
    TableReference,
)
from google.cloud.bigquery.retry import DEFAULT_RETRY

from wrackline.consumers.staged.service import CarriedFiles, StageTable, check_length
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.bigquery.dialect import DIALECT, DONE, script
from wrackline.consumers.targets.bigquery.limits import MOST_TEXT
from wrackline.consumers.targets.bigquery.refusals import comes_too_soon

Job = TypeVar("Job", QueryJob, LoadJob)
Answer = TypeVar("Answer")

CALL_S: Final = 60.0  # one call; the driver's own patience would be ten minutes
RETRY: Final = DEFAULT_RETRY.with_timeout(CALL_S)
_WAITING: Final = Retry(comes_too_soon, initial=2, maximum=10, timeout=3 * CALL_S)


@dataclass(frozen=True, slots=True)
class JobPolicy:
    """What every job is begun with."""

    seconds: float  # how long BigQuery may work on it
    labels: Mapping[str, str] = field(default_factory=dict)  # by which its owner finds what we cost


class BigQuerySession:
    """A conversation; the client is shared, and safe for many threads."""

    def __init__(self, client: Client, jobs: JobPolicy) -> None:
        self._client, self._jobs = client, jobs

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Run a query."""
        job = self._client.query(text, job_config=self._config(), retry=RETRY, timeout=CALL_S, job_retry=None)
        return self._answer(job)

    def run(self, text: str) -> None:
        """Run a statement, which is committed by itself; many changes of one table wait for each other."""
        _WAITING(self.rows)(text)

    def commit(self, move: StateMove, steps: Sequence[str], name: str) -> bool:
        """Run the script."""
        job_id, text = _job_id("commit", name), script(move, steps)
        check_length([text], MOST_TEXT, move.state)
        job = self._named(
            job_id,
            lambda: self._client.query(
                text,
                job_config=self._config(),
                job_id=job_id,
                retry=RETRY,
                timeout=CALL_S,
                job_retry=None,
            ),
        )
        return self._answer(job) == [(DONE,)]

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        """Upload the files, each by a job of its own."""
        table = TableReference.from_string(".".join((self._client.project, *stage.relation)))
        config = LoadJobConfig(
            source_format="PARQUET",
            schema=[SchemaField(one.name, DIALECT.types[one.of]) for one in stage.columns],
            create_disposition="CREATE_NEVER",
            write_disposition="WRITE_APPEND",
            job_timeout_ms=self._job_ms,
            labels=dict(self._jobs.labels),
        )
        jobs = [
            self._upload(Path(address), table, config, _job_id(f"load{at}", name))
            for at, address in enumerate(files.addresses)
        ]
        for job in jobs:
            self._wait(partial(job.result, retry=RETRY, timeout=CALL_S))
        return sum(job.output_rows or 0 for job in jobs)

    def close(self) -> None:
        """Leave the client open: it is everybody's."""

    def _upload(self, path: Path, table: TableReference, config: LoadJobConfig, job_id: str) -> LoadJob:
        with path.open("rb") as file:
            return self._named(
                job_id,
                lambda: self._client.load_table_from_file(
                    file, table, job_config=config, job_id=job_id, timeout=CALL_S
                ),
            )

    def _named(self, job_id: str, begin: Callable[[], Job]) -> Job:
        """Begin a job, or take the one that has the name: its beginning was answered, and nobody heard it."""
        try:
            return begin()
        except Conflict:
            return cast("Job", self._client.get_job(job_id, retry=RETRY, timeout=CALL_S))

    @property
    def _job_ms(self) -> int:
        """How long BigQuery itself lets a job run."""
        return int(self._jobs.seconds * 1000)

    def _config(self) -> QueryJobConfig:
        return QueryJobConfig(job_timeout_ms=self._job_ms, labels=dict(self._jobs.labels))

    def _answer(self, job: QueryJob) -> list[tuple[Any, ...]]:
        found = self._wait(partial(job.result, retry=RETRY, timeout=CALL_S, job_retry=None))
        return [row.values() for row in found]

    def _wait(self, ask: Callable[[], Answer]) -> Answer:
        """Ask until the job has ended; no single question is waited for longer than a call may take."""
        end = time.monotonic() + self._jobs.seconds + CALL_S  # BigQuery ends the job first
        while True:
            try:
                return ask()
            except TimeoutError:
                if time.monotonic() > end:
                    raise


def _job_id(doing: str, name: str) -> str:
    return f"wrackline_{doing}_{name}"
