"""Findings about a project and its tables: rights, places, what would remove tables, what a merge costs.

In: a client, and the tables' places.  Out: findings, each with the command that repairs it.  Nothing is
changed, and no query is run that has a price.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from google.api_core.exceptions import Forbidden, NotFound
from google.cloud.bigquery import Client, Dataset, QueryJobConfig, Table

from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.targets.bigquery.session import CALL_S, RETRY
from wrackline.schemas.language.findings import Finding, Severity, rule

LARGE: Final = 10 * 2**30  # bytes from which on a merge that reads all of a table is worth a word
_PRICE: Final = 6.25  # US dollars for a TiB that is read, where no slots are reserved

NO_JOBS = rule(
    "bigquery.no_jobs",
    Severity.ERROR,
    "no right to run jobs",
    "the account may not run jobs in project {project}",
    "nothing can be loaded or merged",
    "gcloud projects add-iam-policy-binding {project} --member=<account> --role=roles/bigquery.jobUser",
)
NO_DATASET_RIGHT = rule(
    "bigquery.no_dataset_right",
    Severity.ERROR,
    "no right in a dataset",
    "the account may not look at dataset {dataset}",
    "no table can be made in it",
    "gcloud projects add-iam-policy-binding {project} --member=<account> --role=roles/bigquery.dataEditor",
)
ELSEWHERE = rule(
    "bigquery.elsewhere",
    Severity.ERROR,
    "dataset in another location",
    "dataset {dataset} is in {found}, and jobs run in {wanted}",
    "a job sees only datasets of its own location, so nothing can be merged",
    'run them there: target.location = "{found}"; or choose another dataset: target.schema,'
    " target.storage.schema",
)
EXPIRES = rule(
    "bigquery.expires",
    Severity.ERROR,
    "tables expire",
    "dataset {dataset} removes each table {days} days after it was made",
    "tables go with all their rows, and are built again from what their topics still hold",
    "bq update --default_table_expiration 0 {project}:{dataset}; and for a table that is there:"
    " bq update --expiration 0 {project}:{dataset}.<table>",
)
READS_ALL = rule(
    "bigquery.reads_all",
    Severity.WARNING,
    "a merge reads the whole table",
    "{place} has {gigabytes} GiB and is not partitioned",
    "each batch reads all of it: without reserved slots for about {dollars} US dollars a batch",
    'merge less often: consume.trigger.interval.ms; or make it again in parts: target.partition = "key";'
    " DROP TABLE {place}; then: wrackline snapshot start <pipeline.toml> '<table>'",
)


def find_problems(client: Client, places: Sequence[StagedPlace]) -> Iterator[Finding]:
    """Look at the project, the datasets, and the tables that are there."""
    try:
        dry = QueryJobConfig(dry_run=True)
        client.query("SELECT 1", job_config=dry, retry=RETRY, timeout=CALL_S, job_retry=None)
    except Forbidden:
        yield NO_JOBS(project=client.project)
    names = dict.fromkeys(name for place in places for name in (place.table.schema, place.view.schema))
    for name in names:
        yield from _of_dataset(client, name)
    for place in places:
        yield from _of_table(client, place.table)


def _of_dataset(client: Client, name: str) -> Iterator[Finding]:
    try:
        dataset: Dataset = client.get_dataset(name, retry=RETRY, timeout=CALL_S)
    except NotFound:
        return  # it is made with the first table
    except Forbidden:
        yield NO_DATASET_RIGHT(dataset=name, project=client.project)
        return
    found, wanted = dataset.location or "", client.location or "US"
    if found.lower() != wanted.lower():
        yield ELSEWHERE(dataset=name, found=found, wanted=wanted)
    lifetime_ms = dataset.default_table_expiration_ms
    if lifetime_ms:
        yield EXPIRES(dataset=name, days=round(lifetime_ms / 86_400_000, 1), project=client.project)


def _of_table(client: Client, relation: StagedRelation) -> Iterator[Finding]:
    place = f"{client.project}.{relation.schema}.{relation.name}"
    try:
        table: Table = client.get_table(place, retry=RETRY, timeout=CALL_S)
    except (NotFound, Forbidden):
        return
    size = table.num_bytes or 0
    if size >= LARGE and table.range_partitioning is None and table.time_partitioning is None:
        dollars = f"{size / 2**40 * _PRICE:.2f}"
        yield READS_ALL(place=f"`{place}`", gigabytes=round(size / 2**30), dollars=dollars)
