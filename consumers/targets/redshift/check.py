"""Findings about the database, the bucket and the tables: rights, places, what waits for VACUUM, the pace.

In: a session, the bucket, and the tables' places.  Out: findings, each with the SQL or the command that
repairs it.  Nothing is changed.  Whether the role may read the bucket is known to AWS alone: a trial shows it
(`wrackline check --probe`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.staged.service import StagedSession
from wrackline.consumers.targets.redshift.config import Endpoint
from wrackline.consumers.targets.redshift.dialect import DIALECT, literal, quoted
from wrackline.consumers.targets.redshift.refusals import NO_RIGHT, STORE_REFUSED, statement_error
from wrackline.consumers.targets.redshift.session import CopyRole
from wrackline.consumers.targets.redshift.store import S3Store
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding, Severity, rule

COMMITS: Final = 4  # of a batch: its stage, the load, the merge, the end of the stage
MOST_COMMITS: Final = 60  # a minute, from which on they are worth a word
AWAKE_MS: Final = 60_000  # what a serverless workgroup is billed for, at least, when it begins to work
_CALM_MS: Final = 300_000
_DEAD_ROWS, _DEAD_SHARE = 1_000_000, 0.5  # deleted rows that are still there: at least so many, and this part

NO_DATABASE_RIGHT = rule(
    "redshift.no_create",
    Severity.ERROR,
    "schema can't be made",
    "schema {schema} is not there, and {user} may not make it",
    "no table can be made in it",
    "GRANT CREATE ON DATABASE {database} TO {user}; or make it: CREATE SCHEMA {schema} AUTHORIZATION {user}",
)
NO_SCHEMA_RIGHT = rule(
    "redshift.no_schema_right",
    Severity.ERROR,
    "no right in a schema",
    "{user} may not make tables in schema {schema}",
    "no table can be made in it",
    "GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}",
)
NO_ROLE_RIGHT = rule(
    "redshift.no_role_right",
    Severity.ERROR,
    "no right to copy with the role",
    "{user} may not use {role} for COPY",
    "no file can be loaded",
    "GRANT ASSUMEROLE ON '{role}' TO {user} FOR COPY",
)
NAME_TAKEN = rule(
    "redshift.not_our_place",
    Severity.ERROR,
    "name taken",
    "{place} is there and is not ours",
    "what Wrackline has under that name can't be made",
    "ALTER TABLE {place} RENAME TO {other}; or choose another schema: target.schema",
)
NO_BUCKET_RIGHT = rule(
    "redshift.no_bucket_right",
    Severity.ERROR,
    "bucket refuses us",
    "bucket {bucket} refuses a look at it: {why}",
    "no batch can be written",
    "who this machine is there: aws sts get-caller-identity; it needs s3:ListBucket of the bucket; the whole"
    " policy: docs/redshift.md",
)
OTHER_REGION = rule(
    "redshift.other_region",
    Severity.ERROR,
    "bucket in another region",
    "bucket {bucket} is in {found}, and Redshift in {wanted}",
    "COPY reads Parquet only from its own region",
    "aws s3 mb s3://{bucket}-{wanted} --region {wanted}; then: target.stage",
)
DEAD_ROWS = rule(
    "redshift.dead_rows",
    Severity.WARNING,
    "deleted rows are still there",
    "{place} has {dead} rows that are deleted, beside {live} that live",
    "each batch and each query reads them too",
    "VACUUM DELETE ONLY {place}; Redshift does it by itself where it has idle time: merge less often,"
    " consume.trigger.interval.ms",
)
MANY_COMMITS = rule(
    "redshift.many_commits",
    Severity.WARNING,
    "many small batches",
    "up to {commits} commits a minute, if all {tables} tables have news each {seconds} s",
    "a cluster commits one after the other, and each COPY of a few rows costs as much as one of thousands",
    'merge less often: consume.trigger.interval.ms = "{advised}"',
)
ALWAYS_AWAKE = rule(
    "redshift.always_awake",
    Severity.WARNING,
    "workgroup never rests",
    "a batch may come each {seconds} s, and a serverless workgroup is billed for at least 60 s when it wakes",
    "it is billed all day, even if a batch takes a second",
    'merge less often: consume.trigger.interval.ms = "{advised}"',
)


@dataclass(frozen=True, slots=True)
class RedshiftCheck:
    """What is looked at beside the database."""

    role: CopyRole
    store: S3Store
    endpoint: Endpoint | None
    interval_ms: int

    def findings(self, session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
        """Look at all of it."""
        yield from _rights(session, places, self.role)
        yield from self._bucket()
        yield from _names(session, places)
        yield from _dead_rows(session, places)
        yield from self._pace(len(places))

    def _bucket(self) -> Iterator[Finding]:
        try:
            found = self.store.region()
        except WracklineError as error:
            if error.code != STORE_REFUSED.code:
                raise
            yield NO_BUCKET_RIGHT(bucket=self.store.bucket, why=error.sentence.rpartition(": ")[2])
            return
        wanted = self.endpoint and self.endpoint.region
        if None not in (found, wanted) and found != wanted:
            yield OTHER_REGION(bucket=self.store.bucket, found=found, wanted=wanted)

    def _pace(self, tables: int) -> Iterator[Finding]:
        seconds = round(self.interval_ms / 1000, 1)
        commits = round(COMMITS * tables * 60_000 / self.interval_ms)
        if self.endpoint is not None and self.endpoint.serverless and self.interval_ms <= AWAKE_MS:
            yield ALWAYS_AWAKE(seconds=seconds, advised=_CALM_MS)
        elif commits > MOST_COMMITS:
            least = -(-COMMITS * tables * 60 // MOST_COMMITS) * 1000
            yield MANY_COMMITS(commits=commits, tables=tables, seconds=seconds, advised=max(AWAKE_MS, least))


def _rights(session: StagedSession, places: Sequence[StagedPlace], role: CopyRole) -> Iterator[Finding]:
    ((user, database, may_make),) = session.rows(
        "SELECT CAST(current_user AS VARCHAR(127)), CAST(current_database() AS VARCHAR(127)),"
        " has_database_privilege(current_database(), 'CREATE')"
    )
    who = quoted(user)
    for schema in _schemas(places):
        named = literal(schema)
        if not session.rows(f"SELECT 1 FROM pg_namespace WHERE nspname = {named}"):  # noqa: S608 - names are literals, here and below
            if not may_make:
                yield NO_DATABASE_RIGHT(schema=quoted(schema), database=quoted(database), user=who)
            continue
        ((may,),) = session.rows(
            f"SELECT has_schema_privilege({named}, 'USAGE') AND has_schema_privilege({named}, 'CREATE')"
        )
        if not may:
            yield NO_SCHEMA_RIGHT(schema=quoted(schema), user=who)
    if role.arn is not None:
        arn = role.arn.partition(",")[0]  # the one that Redshift itself takes; it assumes the next
        ((may,),) = session.rows(f"SELECT has_assumerole_privilege({literal(arn)}, 'COPY')")
        if not may:
            yield NO_ROLE_RIGHT(role=arn, user=who)


def _names(session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
    views: dict[StagedRelation, bool] = {}
    for schema in _schemas(places):
        found = session.rows(
            "SELECT CAST(c.relname AS VARCHAR(127)), c.relkind = 'v' FROM pg_class c"  # noqa: S608
            f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {literal(schema)}"
        )
        views |= {StagedRelation(schema, str(name)): bool(is_view) for name, is_view in found}
    for place in places:
        for relation in place.strangers(views):
            other = quoted(f"{relation.name}_before"[:63])
            yield NAME_TAKEN(place=DIALECT.path(relation), other=other)


def _dead_rows(session: StagedSession, places: Sequence[StagedPlace]) -> Iterator[Finding]:
    ours = {place.table for place in places}
    for schema in dict.fromkeys(place.table.schema for place in places):
        try:
            found = session.rows(
                'SELECT "table", tbl_rows, estimated_visible_rows FROM svv_table_info'  # noqa: S608
                f' WHERE "schema" = {literal(schema)} AND tbl_rows > {_DEAD_ROWS}'
            )
        except Exception as exc:
            refusal = statement_error(exc, "a look at sizes", "svv_table_info")
            if refusal is None or refusal.code != NO_RIGHT.code:
                raise
            return  # a superuser may see it, and whom one has granted it
        for name, rows, live in found:
            relation, dead = StagedRelation(schema, str(name).strip()), int(rows) - int(live)
            if relation in ours and dead >= max(_DEAD_ROWS, _DEAD_SHARE * int(rows)):
                yield DEAD_ROWS(place=DIALECT.path(relation), dead=dead, live=int(live))


def _schemas(places: Sequence[StagedPlace]) -> Sequence[str]:
    return list(dict.fromkeys(name for one in places for name in (one.table.schema, one.view.schema)))
