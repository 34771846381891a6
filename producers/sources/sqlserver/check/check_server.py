"""When the findings about a server, its databases and its captured tables apply.

    what the server showed to our login  ->  findings

Pure: the statements that ask are the source's.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.sqlserver.check import check_rules as rules
from wrackline.producers.sources.sqlserver.check.grants import NeededRight
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.discover.types import SqlServerType, seventh_place
from wrackline.producers.sources.sqlserver.follow.capture_instances import (
    CapturedColumn,
    CatalogueInstance,
    disable_sql,
    enable_sql,
)
from wrackline.producers.sources.sqlserver.follow.handover import NOT_CAPTURED, in_order
from wrackline.producers.sources.sqlserver.follow.rotation import next_step, still_there
from wrackline.producers.sources.sqlserver.log.lsn import ZERO
from wrackline.producers.sources.sqlserver.session.server import AZURE, AZURE_DATABASE
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

DEFAULT_REPLICATED: Final = 65_536  # bytes
OLDEST: Final = (13, 0, 4001)
EDITIONS: Final = frozenset({2, 3, *AZURE})  # with change data capture
DAY_MINUTES: Final = 24 * 60
BEHIND_S: Final = 600  # a quiet database reports its place about every 300 s
_INSTEAD: Final = {"text": "varchar", "ntext": "nvarchar", "image": "varbinary"}


@dataclass(frozen=True, slots=True)
class SqlServerFacts:
    """The server, as SERVERPROPERTY and sys.dm_server_services show it; None: we may not see it."""

    version: str
    edition: int
    agent: tuple[str, str] | None = None  # the service and its status
    replicated_bytes: int = DEFAULT_REPLICATED  # max text repl size; -1: any
    hides_agent: bool = False  # whether a right is missing to see it


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """One database, as sys.databases and its CDC jobs show it."""

    name: str
    captured: bool
    versions: bool = False  # ALLOW_SNAPSHOT_ISOLATION
    newest_age_s: float | None = None  # of the newest row of cdc.lsn_time_mapping
    retention_minutes: int | None = None
    polling_s: int | None = None


def too_old(edition: int, version: str) -> bool:
    """Whether a server lacks what we ask of it."""
    return edition not in AZURE and _number(version) < OLDEST


def server_findings(facts: SqlServerFacts, database: str, user: str) -> Iterator[Finding]:
    """Report what the server itself lacks."""
    if facts.edition not in EDITIONS:
        yield rules.EDITION_WITHOUT(edition=facts.edition)
    elif too_old(facts.edition, facts.version):
        yield rules.VERSION_OLD(version=facts.version)
    if facts.edition != AZURE_DATABASE and facts.agent is not None and facts.agent[1] != "Running":
        service, status = facts.agent
        yield rules.AGENT_STOPPED(service=service, status=status, database=identifier(database))
    if facts.edition != AZURE_DATABASE and facts.hides_agent:
        yield rules.AGENT_UNSEEN(user=identifier(user))
    if facts.replicated_bytes != -1:
        yield rules.REPLICATED_SIZE(bytes=facts.replicated_bytes)


def database_findings(facts: DatabaseFacts, *, versions_for: str | None = None) -> Iterator[Finding]:
    """Report what a database lacks; `versions_for`: why versions of its rows are needed."""
    names = {"name": facts.name, "database": identifier(facts.name)}
    if not facts.captured:
        yield rules.CDC_OFF(None, **names)
        return
    if facts.newest_age_s is not None and facts.newest_age_s > BEHIND_S:
        yield rules.CAPTURE_BEHIND(None, seconds=int(facts.newest_age_s), **names)
    if facts.polling_s is not None and facts.polling_s > 1:
        yield rules.CAPTURE_SLOW(None, seconds=facts.polling_s, **names)
    if facts.retention_minutes is not None and facts.retention_minutes < DAY_MINUTES:
        yield rules.RETENTION_SHORT(None, minutes=facts.retention_minutes, **names)
    if versions_for is not None and not facts.versions:
        yield rules.VERSIONS_OFF(None, reason=versions_for, **names)


def right_findings(
    database: str, rights: Sequence[NeededRight], answers: Sequence[int | None]
) -> Iterator[Finding]:
    """Report each right that the answers do not prove."""
    for right, answer in zip(rights, answers, strict=True):
        if answer != 1:
            lacking = rules.SERVER_RIGHT_LACKS if right.of_server else rules.RIGHT_LACKS
            yield lacking(purpose=right.purpose, statement=right.statement, database=identifier(database))


def instance_findings(
    table: TableId,
    instances: Sequence[CatalogueInstance],
    columns: Sequence[CapturedColumn],
    unnumbered: Collection[str] = (),
) -> Iterator[Finding]:
    """Report what a table's capture instances lack; `unnumbered`: those without `__$command_id`."""
    if not instances:
        yield error_finding(NOT_CAPTURED(table=table, statement=enable_sql(table)), table)
        return
    for one in instances:
        if one.name in unnumbered:
            again = f"{disable_sql(table, one.name)} {enable_sql(table, still_there(one, columns), one.name)}"
            yield rules.COMMANDS_UNNUMBERED(table, instance=one.name, statement=again)
    step = next_step(table, instances, columns, ZERO)
    if step is None:
        return
    names = ", ".join(step.missing)
    if step.statement is not None:
        yield rules.COLUMNS_UNCAPTURED(table, columns=names, statement=step.statement.rstrip(";"))
    else:
        older = disable_sql(table, in_order(instances)[0][1].name)
        yield rules.INSTANCES_TAKEN(table, columns=names, statement=older)


def column_findings(
    table: TableId, column: str, sql_type: SqlServerType, *, computed: bool = False
) -> Iterator[Finding]:
    """Report what is not copied of a column's values."""
    if computed:
        yield rules.COMPUTED_LEFT_OUT(table, column)
    elif sql_type.lost_before:
        yield rules.OLD_VALUE_UNKNOWN(table, column, type=sql_type, instead=_INSTEAD[sql_type.name])
    elif seventh_place(sql_type):
        yield rules.PLACE_CUT(table, column, type=sql_type, listed=f"{table}.{column}")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
