"""Findings about a database and its tables: its dialect, rights, and names that are taken.

In: a session, and the tables' places.  Out: findings, each with the command that repairs it.  Nothing is
changed.  Batches have no price of their own there: the instance's capacity is paid by the hour, used or not.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from google.api_core.exceptions import GoogleAPICallError, MethodNotImplemented

from wrackline.consumers.staged.places import StagedPlace
from wrackline.consumers.targets.spanner.refusals import spanner_error
from wrackline.consumers.targets.spanner.session import SpannerSession, is_ours
from wrackline.consumers.targets.spanner.texts import path
from wrackline.schemas.language.findings import Finding, Severity, rule

OTHER_DIALECT = rule(
    "spanner.other_dialect",
    Severity.ERROR,
    "database of another dialect",
    "database {database} has the dialect {dialect}",
    "no table can be made in it",
    "make another one: gcloud spanner databases create <name> --instance={instance}"
    " --database-dialect=GOOGLE_STANDARD_SQL; then: target.dbname",
)
NO_RIGHT = rule(
    "spanner.no_right",
    Severity.ERROR,
    "no right in the database",
    "the account lacks rights in database {database}: {missing}",
    "tables can't be made or merged",
    "gcloud spanner databases add-iam-policy-binding {database} --instance={instance} --member=<account>"
    " --role=roles/spanner.databaseUser",
)
RIGHTS_UNKNOWN = rule(
    "spanner.rights_unknown",
    Severity.INFO,
    "rights not known",
    "what serves database {database} does not know the question which rights an account has in it",
    "a right that the account lacks is found by the first batch",
    "nothing to do if target.endpoint or SPANNER_EMULATOR_HOST names an emulator, which has no rights; of"
    " Spanner itself: gcloud spanner databases get-iam-policy {database} --instance={instance}",
)
NAME_TAKEN = rule(
    "spanner.not_our_place",
    Severity.ERROR,
    "name taken",
    "{place} is there and is not ours",
    "its table can't be made",
    'choose another schema: target.schema = "copy_of_{{schema}}"; or drop what is there: DROP {kind} {place}',
)
RIGHTS: Final = (
    "spanner.databases.select",
    "spanner.databases.write",
    "spanner.databases.updateDdl",
    "spanner.databases.beginOrRollbackReadWriteTransaction",
    "spanner.databases.beginPartitionedDmlTransaction",
)
_DIALECT: Final = (
    "SELECT o.option_value FROM information_schema.database_options AS o"
    " WHERE o.option_name = 'database_dialect'"
)


def find_problems(session: SpannerSession, places: Sequence[tuple[StagedPlace, bool]]) -> Iterator[Finding]:
    """Look at the database, and at places, each with whether it has a table of ours."""
    _, _, _, instance, _, database = session.database.name.split("/")
    yield from _rights(session, database, instance)
    ((dialect,),) = session.ask(_DIALECT) or (("GOOGLE_STANDARD_SQL",),)
    if dialect != "GOOGLE_STANDARD_SQL":
        yield OTHER_DIALECT(database=database, instance=instance, dialect=dialect)
    for place, known in places:
        if known:
            continue
        for relation in (place.table, place.view):
            made = session.made(relation)
            if made is not None and not is_ours(made):
                kind = "VIEW" if session.is_view(relation) else "TABLE"
                yield NAME_TAKEN(place=path(relation), kind=kind)


def _rights(session: SpannerSession, database: str, instance: str) -> Iterator[Finding]:
    """Look at the account's rights; no answer is not taken for every right."""
    try:
        missing = sorted(set(RIGHTS) - session.granted(RIGHTS))
    except MethodNotImplemented:
        yield RIGHTS_UNKNOWN(database=database, instance=instance)
        return
    except GoogleAPICallError as exc:
        doing = "the question which rights the account has"
        refusal = spanner_error(exc, doing=doing, place=f"database {database}")
        raise refusal or exc from None
    if missing:
        yield NO_RIGHT(database=database, instance=instance, missing=", ".join(missing))
