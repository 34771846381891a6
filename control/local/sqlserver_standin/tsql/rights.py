"""What a user may do: GRANT, log-ins, users and roles, and HAS_PERMS_BY_NAME, which asks for it."""

from collections.abc import Sequence
from dataclasses import replace

from wrackline.control.local.sqlserver_standin.model.catalogue import Asker
from wrackline.control.local.sqlserver_standin.model.database import RIGHTS, Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import PrincipalDefinition, RightGrant
from wrackline.control.local.sqlserver_standin.tsql.reading.word_reader import name_parts
from wrackline.control.local.sqlserver_standin.tsql.sources import Reader
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_UNMASK = "UNMASK"
_OF_DATABASE = frozenset({"VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE", _UNMASK})
_OF_SERVER = frozenset({"VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE"})
_OWNER = "db_owner"
_NOTHING = Grant(schemas=frozenset(), views_state=False)


def run(statement: RightGrant | PrincipalDefinition, reader: Reader, database: ModelDatabase) -> None:
    """Run a statement about rights; only who owns the database may."""
    asker = reader.asks(database)
    if not asker.grant.owner:
        raise ServerError(15151, "You do not have permission.", severity=16)
    if isinstance(statement, RightGrant):
        if statement.kind == "SERVER":
            _grant_of_server(statement, asker)
        else:
            _grant(statement, database)
        return
    name, of = statement.name, statement.of
    match statement.kind:
        case "LOGIN":
            asker.server.create_login(name, of)
        case "USER":
            if of.lower() not in asker.server.passwords:
                raise _unknown("login", of)
            database.grants.setdefault(name.lower(), _NOTHING)
        case "ROLE":
            database.roles.add(name)
        case _:
            _member(database, name, of, joins=statement.kind == "ADD")


def _grant_of_server(statement: RightGrant, asker: Asker) -> None:
    if asker.database.name != "master":
        text = "Permissions at the server scope can only be granted when the current database is master"
        raise ServerError(4621, text)
    if statement.user.lower() not in asker.server.passwords:
        raise _unknown("login", statement.user)
    asker.server.viewers.add(statement.user.lower())


def _grant(statement: RightGrant, database: ModelDatabase) -> None:
    held = _held(database, statement.user)
    if statement.rights == (_UNMASK,):
        held = replace(held, single=held.single | {(_UNMASK, "")})
    elif statement.kind == "DATABASE":
        held = replace(held, views_state=True)
    else:
        *front, last = (part.lower() for part in statement.securable)
        name = last if statement.kind == "SCHEMA" else ".".join((front[-1] if front else "dbo", last))
        known = database.schemas if statement.kind == "SCHEMA" else database.tables
        if name not in {one.lower() for one in known}:
            raise _unknown(statement.kind.lower(), ".".join(statement.securable))
        held = replace(held, single=held.single | {(right, name) for right in statement.rights})
    database.grants[statement.user.lower()] = held


def _member(database: ModelDatabase, role: str, user: str, *, joins: bool) -> None:
    held = _held(database, user)
    if role == _OWNER:
        held = replace(held, owner=joins)
    elif role in database.roles:
        held = replace(held, roles=held.roles | {role} if joins else held.roles - {role})
    else:
        raise _unknown("role", role)
    database.grants[user.lower()] = held


def _held(database: ModelDatabase, user: str) -> Grant:
    if user.lower() not in database.grants:
        raise _unknown("user", user)
    return database.grants[user.lower()]


def _unknown(kind: str, name: str) -> ServerError:
    return ServerError(
        15151, f"Cannot find the {kind} '{name}', because it does not exist or you do not have permission."
    )


def has_permission(asker: Asker, given: Sequence[Cell]) -> Cell:
    """Answer HAS_PERMS_BY_NAME: 1, 0, or NULL for what there is not."""
    securable, kind, right = (None if one is None else str(one) for one in given)
    grant, database = asker.grant, asker.database
    if kind is None and securable is None and right is not None:
        return int(asker.server.views_state(asker.user)) if right.upper() in _OF_SERVER else None
    known = {"SCHEMA": RIGHTS, "OBJECT": RIGHTS, "DATABASE": _OF_DATABASE}.get((kind or "").upper())
    if known is None or right is None or right.upper() not in known or securable is None:
        return None
    *front, last = name_parts(securable)
    if known is _OF_DATABASE:
        found = asker.server.databases.get(last.lower())
        if found is not None and right.upper() == _UNMASK:
            return int(replace(asker, database=found).grant.may(_UNMASK, ""))
        return None if found is None else int(replace(asker, database=found).views_state)
    if (kind or "").upper() == "SCHEMA":
        exists = last.lower() in {one.lower() for one in database.schemas}
        return int(grant.may(right.upper(), last)) if exists else None
    schema = front[-1] if front else "dbo"
    if len(front) > 1:
        database = asker.server.database(front[0], asker.user)
        grant = replace(asker, database=database).grant
    exists = f"{schema}.{last}".lower() in database.tables
    return int(grant.may(right.upper(), schema, last)) if exists else None
