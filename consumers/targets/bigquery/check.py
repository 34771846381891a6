"""Findings about a project and its tables: rights, places, what would remove tables, what a merge costs.

In: a client, the tables' places, and how often batches come.  Out: findings, each with the command that
repairs it.  Nothing is changed, and no query is run that has a price.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from google.api_core.exceptions import Forbidden, NotFound
from google.cloud.bigquery import Client, Dataset, QueryJobConfig, Table

from wrackline.consumers.contract.plan import TableMode
from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.targets.bigquery.limits import MOST_LOADS, MOST_PARTITIONS
from wrackline.consumers.targets.bigquery.partitions import KeyPartitions, cut_by, key_places
from wrackline.consumers.targets.bigquery.session import CALL_S, RETRY
from wrackline.schemas.language.findings import Finding, Severity, rule

LARGE: Final = 10 * 2**30  # bytes from which on a merge that reads all of a table is worth a word
KEY_BYTES: Final = 66  # of a row's key, which is a text of 64 characters
_TABLES: Final = frozenset({"EXTERNAL", "SNAPSHOT"})  # of which SQL says that they are tables
_PRICE: Final = 6.25  # US dollars for a TiB that is read, where no slots are reserved
_BATCH_BYTES: Final = 4 * 10 * 2**20  # the least that the statements of a batch are billed for
_WORTH: Final = 1.0  # dollars a day from which on an interval is worth a word
_DAY_S: Final = 86_400

NO_JOBS = rule(
    "bigquery.no_jobs",
    Severity.ERROR,
    "no right to run jobs",
    "the account may not run jobs in project {project}",
    "nothing can be loaded or merged",
    "gcloud projects add-iam-policy-binding {project} --member=serviceAccount:<account>"
    " --role=roles/bigquery.jobUser",
)
NO_DATASET_RIGHT = rule(
    "bigquery.no_dataset_right",
    Severity.ERROR,
    "no right in a dataset",
    "the account may not look at dataset {dataset}",
    "no table can be made in it",
    'GRANT `roles/bigquery.dataEditor` ON SCHEMA `{project}.{dataset}` TO "serviceAccount:<account>"',
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
NOT_AUTHORIZED = rule(
    "bigquery.not_authorized",
    Severity.INFO,
    "views read tables that their readers may not",
    "dataset {storage} does not authorize the views of dataset {dataset}",
    "who may read {dataset} alone gets an error from each of its views",
    'GRANT `roles/bigquery.dataOwner` ON SCHEMA `{project}.{storage}` TO "serviceAccount:<account>", because'
    " BigQuery then asks for it where a view is made; and: "
    'bq show --format=json {project}:{storage} | jq \'.access += [{{"dataset": {{"dataset":'
    ' {{"projectId": "{project}", "datasetId": "{dataset}"}}, "targetTypes": ["VIEWS"]}}}}]\''
    " > access.json; bq update --source access.json {project}:{storage}",
)
NAME_TAKEN = rule(
    "bigquery.not_our_place",
    Severity.ERROR,
    "name taken",
    "{place} is there and is not ours: {kind}",
    "what Wrackline has under that name can't be made",
    'choose another schema: target.schema = "copy_of_{{schema}}"; or drop what is there: DROP {kind} {place}',
)
_COSTS: Final = (
    "each batch reads {read} GiB or more: without reserved slots for about {dollars} US dollars a batch, and"
    " {daily} a day with a batch every {seconds} seconds"
)
READS_ALL = rule(
    "bigquery.reads_all",
    Severity.WARNING,
    "a merge reads the whole table",
    "{place} has {gigabytes} GiB and is not partitioned by its key",
    _COSTS,
    'merge less often: consume.trigger.interval.ms; or make it again in parts: target.partition = "key";'
    " DROP TABLE {place}; then: wrackline snapshot start <pipeline.toml> '<table>'",
)
NOT_CUT = rule(
    "bigquery.key_cuts_nothing",
    Severity.WARNING,
    "a merge reads the whole table",
    "{place} has {gigabytes} GiB, and no whole number or day of a key by which it could be partitioned",
    _COSTS,
    "merge less often: consume.trigger.interval.ms; to read the table again changes nothing",
)
LARGE_PARTS = rule(
    "bigquery.large_parts",
    Severity.WARNING,
    "a merge reads large parts of a table",
    "{place} has {gigabytes} GiB in {parts} partitions of its key",
    _COSTS,
    "merge less often: consume.trigger.interval.ms; or make it again in smaller parts:"
    " target.partition.width, so that 3998 of them reach to the greatest key; DROP TABLE {place}; then:"
    " wrackline snapshot start <pipeline.toml> '<table>'",
)
MANY_LOADS = rule(
    "bigquery.many_loads",
    Severity.WARNING,
    "more loads than a project may have",
    "{tables} tables with a batch every {seconds} seconds are {loads} loads a day",
    "after {most} loads of a day BigQuery refuses the project's others until the next one",
    "merge less often: consume.trigger.interval.ms = {enough}",
)
PACE = rule(
    "bigquery.pace",
    Severity.INFO,
    "what the interval costs",
    "{tables} tables with a batch every {seconds} seconds cost {daily} US dollars a day or more, where each"
    " has news all day and no slots are reserved",
    "a batch of any size is billed for 40 MB: four times a table that a statement names",
    "merge less often: consume.trigger.interval.ms = 300000",
)


UPKEEP = rule(
    "bigquery.upkeep",
    Severity.INFO,
    "what the upkeep costs",
    "an upkeep of {place} that forgets old deletes may read {gigabytes} GiB, every {hours} hours",
    "without reserved slots that is up to {daily} US dollars a day: a DELETE is billed for the whole table",
    "tend tables less often: consume.upkeep.interval.ms = 604800000; 0 is never, and old deletes stay",
)


@dataclass(frozen=True, slots=True)
class CheckScope:
    """What is looked at."""

    places: Sequence[StagedPlace]
    shape: Callable[[StagedPlace], StagedShape | None]  # None: the table is not there yet
    batch_s: float  # how often a table may get a batch
    upkeep_s: float = 0  # how often it is tended; 0: never


def find_problems(client: Client, scope: CheckScope) -> Iterator[Finding]:
    """Look at the project, the datasets, and the tables that are there."""
    try:
        dry = QueryJobConfig(dry_run=True)
        client.query("SELECT 1", job_config=dry, retry=RETRY, timeout=CALL_S, job_retry=None)
    except Forbidden:
        yield NO_JOBS(project=client.project)
    schemas = [(place.table.schema, place.view.schema) for place in scope.places]
    found: dict[str, Dataset] = {}
    for name in dict.fromkeys(name for pair in schemas for name in pair):
        try:
            found[name] = client.get_dataset(name, retry=RETRY, timeout=CALL_S)
        except NotFound:
            continue  # it is made with the first table
        except Forbidden:
            yield NO_DATASET_RIGHT(dataset=name, project=client.project)
            continue
        yield from _of_dataset(client, found[name])
    for storage, name in dict.fromkeys(schemas):
        if storage != name and storage in found and name in found:
            yield from _of_views(client, found[storage], found[name])
    yield from _of_names(client, scope.places, found)
    yield from _of_pace(scope)
    for place in scope.places:
        yield from _of_table(client, scope, place)


def _of_dataset(client: Client, dataset: Dataset) -> Iterator[Finding]:
    name, found, wanted = dataset.dataset_id, dataset.location or "", client.location or "US"
    if found.lower() != wanted.lower():
        yield ELSEWHERE(dataset=name, found=found, wanted=wanted)
    lifetime_ms = dataset.default_table_expiration_ms
    if lifetime_ms:
        yield EXPIRES(dataset=name, days=round(lifetime_ms / 86_400_000, 1), project=client.project)


def _of_views(client: Client, storage: Dataset, dataset: Dataset) -> Iterator[Finding]:
    """Look whether views of one dataset may read the tables of the other."""
    named = (
        entry.entity_id.get("dataset", {}).get("datasetId")
        for entry in storage.access_entries
        if entry.entity_type == "dataset" and isinstance(entry.entity_id, dict)
    )
    if dataset.dataset_id not in named:
        yield NOT_AUTHORIZED(storage=storage.dataset_id, dataset=dataset.dataset_id, project=client.project)


def _of_names(client: Client, places: Sequence[StagedPlace], schemas: Iterable[str]) -> Iterator[Finding]:
    """Look what is there under the tables' names; one question for a dataset."""
    there: dict[StagedRelation, str] = {}
    for name in schemas:
        try:
            for one in client.list_tables(name, retry=RETRY, timeout=CALL_S):
                there[StagedRelation(name, one.table_id)] = one.table_type.replace("_", " ")
        except Forbidden:
            yield NO_DATASET_RIGHT(dataset=name, project=client.project)
            return
    views = {relation: kind == "VIEW" for relation, kind in there.items()}
    for place in places:
        for relation in place.strangers(views):
            path = f"`{client.project}.{relation.schema}.{relation.name}`"
            kind = there[relation]
            yield NAME_TAKEN(place=path, kind=f"{kind} TABLE" if kind in _TABLES else kind)


def _of_pace(scope: CheckScope) -> Iterator[Finding]:
    tables, seconds = len(scope.places), f"{scope.batch_s:g}"
    batches = round(tables * _DAY_S / scope.batch_s)
    if batches > MOST_LOADS:
        enough = ceil(tables * _DAY_S / MOST_LOADS) * 1000
        yield MANY_LOADS(tables=tables, seconds=seconds, loads=batches, most=MOST_LOADS, enough=enough)
    daily = _dollars(batches * _BATCH_BYTES)
    if daily >= _WORTH:
        yield PACE(tables=tables, seconds=seconds, daily=f"{daily:.2f}")


def _of_table(client: Client, scope: CheckScope, place: StagedPlace) -> Iterator[Finding]:
    name = f"{client.project}.{place.table.schema}.{place.table.name}"
    try:
        table: Table = client.get_table(name, retry=RETRY, timeout=CALL_S)
    except (NotFound, Forbidden):
        return
    size = table.num_bytes or 0
    daily = _dollars(size * _DAY_S / scope.upkeep_s) if scope.upkeep_s else 0
    if size < LARGE and daily < _WORTH:
        return
    shape = scope.shape(place)
    if daily >= _WORTH and shape is not None and shape.mode is TableMode.UPSERT:
        hours = f"{scope.upkeep_s / 3600:g}"
        yield UPKEEP(place=f"`{name}`", gigabytes=round(size / 2**30), hours=hours, daily=f"{daily:.2f}")
    cut = cut_by(table)
    is_cut = cut is not None and (shape is None or cut in key_places(shape))
    parts = _partitions(table) if is_cut else 1
    read = _bytes_read(table, shape) / parts
    if read < LARGE:
        return
    dollars = _dollars(read)
    could_be_cut = shape is not None and KeyPartitions(1).clause(shape) is not None
    found = LARGE_PARTS if is_cut else READS_ALL if could_be_cut and not _only_adds(shape) else NOT_CUT
    yield found(
        place=f"`{name}`",
        gigabytes=round((table.num_bytes or 0) / 2**30),
        parts=parts,
        read=round(read / 2**30),
        dollars=f"{dollars:.2f}",
        daily=f"{dollars * _DAY_S / scope.batch_s:.2f}",
        seconds=f"{scope.batch_s:g}",
    )


def _partitions(table: Table) -> int:
    """Return how many partitions hold rows, so far as BigQuery says."""
    return int(table.to_api_repr().get("numPartitions") or MOST_PARTITIONS)


def _bytes_read(table: Table, shape: StagedShape | None) -> int:
    """Return what a batch reads: of a table that only gets rows, its keys alone."""
    return (table.num_rows or 0) * KEY_BYTES if _only_adds(shape) else table.num_bytes or 0


def _only_adds(shape: StagedShape | None) -> bool:
    """Whether a table only gets rows; its key, if it has one, is not what they are found by."""
    return shape is not None and (shape.mode is TableMode.APPEND or shape.keyless)


def _dollars(read: float) -> float:
    return read / 2**40 * _PRICE
