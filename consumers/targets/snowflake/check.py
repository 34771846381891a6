"""Findings about a Snowflake account: the warehouse and what it costs, the database, and the role's rights.

In: a session, and what the settings say.  Out: findings, each with the statement that repairs.  All of it is
asked by SHOW, for which no warehouse has to run, so a check wakes none and costs nothing.

A right counts where the role has it, owns the object, or has been granted a role that does, as each has been
granted PUBLIC.  Where not all grants can be seen, nothing is said to be missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from snowflake.connector.errors import ProgrammingError

from wrackline.consumers.staged.places import StagedPlace, StagedRelation
from wrackline.consumers.targets.snowflake.dialect import literal, quoted
from wrackline.schemas.language.findings import Finding, Severity, rule

NO_WAREHOUSE = rule(
    "snowflake.warehouse_unseen",
    Severity.ERROR,
    "no warehouse",
    "role {role} sees no warehouse {warehouse}",
    "nothing can be loaded or merged",
    "GRANT USAGE ON WAREHOUSE {warehouse} TO ROLE {role}; if there is none: CREATE WAREHOUSE {warehouse}"
    " WAREHOUSE_SIZE = XSMALL AUTO_SUSPEND = 60 AUTO_RESUME = TRUE INITIALLY_SUSPENDED = TRUE",
)
ASLEEP = rule(
    "snowflake.warehouse_asleep",
    Severity.ERROR,
    "warehouse does not resume",
    "warehouse {warehouse} is suspended, and no statement resumes it",
    "nothing can be loaded or merged until somebody resumes it",
    "ALTER WAREHOUSE {warehouse} SET AUTO_RESUME = TRUE",
)
NEVER_SLEEPS = rule(
    "snowflake.never_sleeps",
    Severity.WARNING,
    "warehouse never sleeps",
    "warehouse {warehouse} is never suspended by itself",
    "it costs {credits} credits a day, also without news",
    "ALTER WAREHOUSE {warehouse} SET AUTO_SUSPEND = 60",
)
KEPT_AWAKE = rule(
    "snowflake.awake",
    Severity.WARNING,
    "the interval keeps the warehouse awake",
    "batches come each {interval} s while there is news, and warehouse {warehouse} sleeps {suspend} s after a"
    " statement and is paid for {least} s at least",
    "with news all day it costs {credits} credits a day, as much as with an interval of 0",
    "merge less often: consume.trigger.interval.ms = {enough}; and, if it is larger than 60: ALTER WAREHOUSE"
    " {warehouse} SET AUTO_SUSPEND = 60",
)
NO_DATABASE = rule(
    "snowflake.database_unseen",
    Severity.ERROR,
    "no database",
    "role {role} sees no database {database}",
    "no table can be made",
    "GRANT USAGE, CREATE SCHEMA ON DATABASE {database} TO ROLE {role}; if there is none: CREATE DATABASE"
    " {database}",
)
NO_SCHEMAS = rule(
    "snowflake.no_schema_right",
    Severity.ERROR,
    "no right to make schemas",
    "role {role} may make no schemas in database {database}",
    "no table can be begun",
    "GRANT CREATE SCHEMA ON DATABASE {database} TO ROLE {role}",
)
NO_RIGHT_IN_SCHEMA = rule(
    "snowflake.schema_right",
    Severity.ERROR,
    "rights missing in a schema",
    "role {role} lacks {rights} in schema {schema}, which another role made",
    "no table can be begun there",
    "GRANT {rights} ON SCHEMA {schema} TO ROLE {role}",
)
NOT_OWNER = rule(
    "snowflake.not_owner",
    Severity.ERROR,
    "made by another role",
    "{place} belongs to role {owner}, and the pipeline works as {role}",
    "its shape can't be changed",
    'work as that role: target.role = "{owner}"; or GRANT OWNERSHIP ON {kind} {place} TO ROLE {role} COPY'
    " CURRENT GRANTS",
)
KEEPS_HISTORY = rule(
    "snowflake.keeps_history",
    Severity.WARNING,
    "history of every merge",
    "schema {schema} keeps what each merge replaced for {days} days",
    "a table that changes often takes many times its size, and that is paid for",
    "ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 1",
)
NAME_TAKEN = rule(
    "snowflake.not_our_place",
    Severity.ERROR,
    "name taken",
    "{place} is there and is not ours: {kind}",
    "what Wrackline has under that name can't be made",
    "ALTER {kind} {place} RENAME TO {other}; or choose another schema: target.schema",
)

_LEAST_S: Final = 60  # what is paid for each time a warehouse resumes
_DAY_HOURS: Final = 24
_MOST_DAYS: Final = 1  # of history that nobody has to be asked about
_SIZES: Final = ("X-Small", "Small", "Medium", "Large", "X-Large", "2X-Large", "3X-Large", "4X-Large",
                 "5X-Large", "6X-Large")  # fmt: skip  # each costs twice what the one before does
_VIEWS: Final = ("USAGE", "CREATE VIEW")
_STORAGE: Final = ("USAGE", "CREATE TABLE", "CREATE STAGE")
_MOST_ROLES: Final = 50
_MOST_SHOWN: Final = 10_000  # objects; SHOW leaves the others out


@dataclass(frozen=True, slots=True)
class SnowflakeFacts:
    """What the settings say that a check compares."""

    warehouse: str
    database: str
    interval_ms: int


class CatalogueSession(Protocol):
    """What a check asks."""

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Ask."""
        ...

    def named_rows(self, text: str) -> list[Mapping[str, Any]]:
        """Ask, where columns have names and no fixed order."""
        ...


class Grants:
    """What a role may do, with the roles that were granted to it; `whole`: whether all could be seen."""

    def __init__(self, session: CatalogueSession, role: str) -> None:
        self.roles: set[str] = set()
        self.whole = True
        self._held: set[tuple[str, str, str]] = set()
        waits = ["PUBLIC", role]
        while waits:
            one = waits.pop()
            if one in self.roles:
                continue
            if len(self.roles) == _MOST_ROLES:
                self.whole = False
                return
            self.roles.add(one)
            for row in self._of(session, one):
                right, kind, name = (str(row[part]).upper() for part in ("privilege", "granted_on", "name"))
                self._held.add((right, kind, name.replace('"', "")))
                if kind == "ROLE":
                    waits.append(name.replace('"', ""))
                self.whole = self.whole and kind != "DATABASE_ROLE"

    def lacks(self, kind: str, name: str, rights: Sequence[str]) -> list[str]:
        """Return those of the rights that are missing; none, if not all can be seen."""
        if not self.whole or ("OWNERSHIP", kind, name) in self._held:
            return []
        return [right for right in rights if (right, kind, name) not in self._held]

    def _of(self, session: CatalogueSession, role: str) -> list[Mapping[str, Any]]:
        try:
            return session.named_rows(f"SHOW GRANTS TO ROLE {quoted(role)}")
        except ProgrammingError:
            self.whole = False
            return []


def find_problems(
    session: CatalogueSession, facts: SnowflakeFacts, places: Sequence[StagedPlace]
) -> Iterator[Finding]:
    """Look at the warehouse, the database, the schemas, and what is there of the tables."""
    ((role,),) = session.rows("SELECT CURRENT_ROLE()")
    yield from _of_warehouse(session, facts, role)
    database = facts.database.upper()
    seen = session.named_rows(f"SHOW DATABASES LIKE {literal(database)}")
    if not any(row["name"] == database for row in seen):
        yield NO_DATABASE(role=role, database=database)
        return
    grants = Grants(session, role)
    wanted: dict[str, dict[str, None]] = {}
    for place in places:
        wanted.setdefault(place.table.schema, {}).update(dict.fromkeys(_STORAGE))
        wanted.setdefault(place.view.schema, {}).update(dict.fromkeys(_VIEWS))
    storage = {place.table.schema for place in places}
    there = {row["name"]: row for row in session.named_rows(f"SHOW SCHEMAS IN DATABASE {quoted(database)}")}
    if not wanted.keys() <= there.keys() and grants.lacks("DATABASE", database, ("CREATE SCHEMA",)):
        yield NO_SCHEMAS(role=role, database=database)
    for name, rights in wanted.items():
        if name not in there:
            continue  # it is made with the first table
        path = f"{database}.{name}"
        if missing := grants.lacks("SCHEMA", path, tuple(rights)):
            yield NO_RIGHT_IN_SCHEMA(role=role, rights=", ".join(missing), schema=path)
        days = int(there[name].get("retention_time") or 0)
        if name in storage and days > _MOST_DAYS:
            yield KEEPS_HISTORY(schema=path, days=days)
    yield from _of_tables(session, places, there, grants.roles if grants.whole else None, role)


def _of_warehouse(session: CatalogueSession, facts: SnowflakeFacts, role: str) -> Iterator[Finding]:
    name = facts.warehouse.upper()
    rows = session.named_rows(f"SHOW WAREHOUSES LIKE {literal(name)}")  # `_` stands for any character
    found = next((row for row in rows if row["name"] == name), None)
    if found is None:
        yield NO_WAREHOUSE(role=role, warehouse=name)
        return
    if str(found["state"]).upper() == "SUSPENDED" and str(found["auto_resume"]).lower() != "true":
        yield ASLEEP(warehouse=name)
    suspend, interval = int(found["auto_suspend"] or 0), facts.interval_ms / 1000
    cost: Mapping[str, Any] = {"warehouse": name, "credits": _credits(str(found["size"]))}
    if not suspend:
        yield NEVER_SLEEPS(**cost)
    elif interval <= max(suspend, _LEAST_S):
        enough = 1000 * 5 * max(suspend, _LEAST_S)
        yield KEPT_AWAKE(**cost, interval=f"{interval:g}", suspend=suspend, least=_LEAST_S, enough=enough)


def _of_tables(
    session: CatalogueSession,
    places: Sequence[StagedPlace],
    there: Mapping[str, object],
    roles: set[str] | None,
    role: str,
) -> Iterator[Finding]:
    """Look what is there under the tables' names, and who owns it; one question for a schema."""
    relations = {relation for place in places for relation in (place.table, place.view, place.state)}
    kinds: dict[StagedRelation, str] = {}
    unseen = set[str]()
    for schema in dict.fromkeys(relation.schema for relation in relations):
        if schema not in there:
            continue
        rows = session.named_rows(f"SHOW OBJECTS IN SCHEMA {quoted(schema)}")
        if len(rows) >= _MOST_SHOWN:
            unseen.add(schema)
        for row in rows:
            relation, owner = StagedRelation(schema, str(row["name"])), str(row["owner"] or "")
            if relation not in relations:
                continue
            kinds[relation] = str(row["kind"])
            if roles is not None and owner and owner not in roles:
                yield NOT_OWNER(place=_path(relation), owner=owner, role=role, kind=row["kind"])
    views = {relation: kind == "VIEW" for relation, kind in kinds.items()}
    for place in places:
        for relation in place.strangers(views) if place.state.schema not in unseen else ():
            other = _path(relation._replace(name=f"{relation.name}_BEFORE"))
            yield NAME_TAKEN(place=_path(relation), kind=kinds[relation], other=other)


def _path(relation: StagedRelation) -> str:
    return f"{quoted(relation.schema)}.{quoted(relation.name)}"


def _credits(size: str) -> int | str:
    """Return what a warehouse costs that is awake all day."""
    return _DAY_HOURS * 2 ** _SIZES.index(size) if size in _SIZES else "many"
