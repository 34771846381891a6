"""Functions that know the server: who asks, what time it is, how far the log was read."""

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Protocol, cast

from wrackline.control.local.sqlserver_standin.model.catalogue import Asker
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.log_numbers import ZERO, incremented
from wrackline.control.local.sqlserver_standin.model.server import DESCRIPTION, VERSION
from wrackline.control.local.sqlserver_standin.tsql.rights import has_permission
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.moments import Moment, ZonedMoment
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, unknown_statement
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, sql_type
from wrackline.control.local.sqlserver_standin.wire.values import Cell, Variant

_NAME = sql_type("sysname")
_LSN = sql_type("binary(10)")
_INT = SqlType("int")
_TEXT = sql_type("nvarchar(4000)")
_VARIANT = SqlType("sql_variant")


class FunctionContext(Protocol):
    """What a function may ask the session for."""

    @property
    def asker(self) -> Asker:
        """Who asks, in which database."""
        ...

    @property
    def levels(self) -> int:
        """How many transactions are open inside each other."""
        ...

    @property
    def process(self) -> int:
        """The session's number."""
        ...

    def entered(self, name: str) -> ModelDatabase:
        """Return another database, if the user may enter it."""
        ...


_Arguments = Sequence[Cell]
_Function = Callable[[FunctionContext, _Arguments], Cell]


def _database(context: FunctionContext, name: str) -> ModelDatabase | None:
    return context.asker.server.databases.get(name.lower())


def _db_name(context: FunctionContext, given: _Arguments) -> Cell:
    if not given:
        return context.asker.database.name
    return next((one.name for one in context.asker.server.databases.values() if one.number == given[0]), None)


def _db_id(context: FunctionContext, given: _Arguments) -> Cell:
    found = _database(context, str(given[0])) if given else context.asker.database
    return None if found is None else found.number


def _is_member(context: FunctionContext, given: _Arguments) -> Cell:
    role, grant = str(given[0]), context.asker.grant
    known = context.asker.database.roles
    if role == "db_owner":
        return int(grant.owner)
    return int(role in grant.roles) if role in known | grant.roles else None


def _is_server_member(context: FunctionContext, given: _Arguments) -> Cell:
    return int(given[0] == "sysadmin" and context.asker.user.lower() in context.asker.server.administrators)


def _server_property(context: FunctionContext, given: _Arguments) -> Cell:
    server = context.asker.server
    known: Mapping[str, str | int] = {
        "productversion": "12.0.2000.8" if server.edition in {5, 8} else ".".join(map(str, (*VERSION, 0))),
        "productlevel": "RTM",
        "productmajorversion": str(VERSION[0]),
        "edition": {2: "Standard Edition (stand-in)", 5: "SQL Azure"}.get(
            server.edition, "Enterprise Edition (stand-in)"
        ),
        "engineedition": server.edition,
        "servername": server.name,
        "machinename": server.name,
        "collation": context.asker.server.databases["master"].collation.name,
        "ishadrenabled": int(any(one.group is not None for one in server.databases.values())),
    }
    found = known.get(str(given[0]).lower())
    if found is None:
        return None
    of = _INT if isinstance(found, int) else sql_type("nvarchar(128)")
    return Variant(of, found)


def _database_property(context: FunctionContext, given: _Arguments) -> Cell:
    found = _database(context, str(given[0]))
    if found is None:
        return None
    known = {
        "updateability": "READ_ONLY" if found.read_only else "READ_WRITE",
        "status": found.state,
        "collation": found.collation.name,
    }
    text = known.get(str(given[1]).lower())
    return None if text is None else Variant(sql_type("nvarchar(128)"), text)


def _object_id(context: FunctionContext, given: _Arguments) -> Cell:
    parts = str(given[0]).replace("[", "").replace("]", "").split(".")
    database = context.entered(parts[-3]) if len(parts) > 2 else context.asker.database
    schema = parts[-2] if len(parts) > 1 else "dbo"
    table = database.tables.get(f"{schema}.{parts[-1]}".lower())
    if table is not None:
        return table.object_id
    instances = database.cdc.instances.values() if database.cdc else ()
    return next((one.object_id for one in instances if one.change_table.lower() == parts[-1].lower()), None)


def _object(context: FunctionContext, given: _Arguments) -> tuple[str, str] | None:
    """Return schema and name of an object by its number, of this database or of one with a number."""
    number = given[1] if len(given) > 1 else context.asker.database.number
    for database in context.asker.server.databases.values():
        if database.number == number:
            tables = {one.object_id: (one.schema, one.name) for one in database.tables.values()}
            instances = database.cdc.instances.values() if database.cdc else ()
            tables |= {one.object_id: ("cdc", one.change_table) for one in instances}
            return tables.get(cast("int", given[0]))
    return None


def _object_part(at: int) -> _Function:
    return lambda context, given: None if (found := _object(context, given)) is None else found[at]


def _quoted(_context: FunctionContext, given: _Arguments) -> Cell:
    return None if given[0] is None else f"[{str(given[0]).replace(']', ']]')}]"


def _now(context: FunctionContext) -> dt.datetime:
    return context.asker.server.now


def _zoned(context: FunctionContext, _given: _Arguments) -> Cell:
    return ZonedMoment.of(_now(context).astimezone(context.asker.server.zone))


def _local(context: FunctionContext, _given: _Arguments) -> Cell:
    return Moment.of(context.asker.server.local(_now(context)))


def _utc(context: FunctionContext, _given: _Arguments) -> Cell:
    return Moment.of(_now(context).replace(tzinfo=None))


def _date_part(_context: FunctionContext, given: _Arguments) -> Cell:
    part, moment = given
    if moment is None:
        return None
    if part in {"tzoffset", "tz"}:
        return moment.minutes if isinstance(moment, ZonedMoment) else 0
    value = cast("Moment | ZonedMoment", moment).as_datetime()
    return int(getattr(value, str(part)))


def _to_zone(_context: FunctionContext, given: _Arguments) -> Cell:
    moment, minutes = given
    if moment is None or minutes is None:
        return None
    zone = dt.timezone(dt.timedelta(minutes=int(cast("int", minutes))))
    value = cast("Moment", moment)
    return ZonedMoment.of(value.as_datetime().replace(tzinfo=zone), value.ticks % 10)


def _at_zone(context: FunctionContext, given: _Arguments) -> Cell:
    """Take a time as one of a zone, or show a moment there; what a clock leaves out is an hour later."""
    if given[0] is None or given[1] is None:
        return None
    moment = cast("Moment | ZonedMoment", given[0])
    zone, value = context.asker.server.time_zone(str(given[1])), moment.as_datetime()
    local = value if isinstance(moment, ZonedMoment) else value.replace(tzinfo=zone)
    return ZonedMoment.of(local.astimezone(dt.UTC).astimezone(zone), moment.ticks % 10)


def _date_difference(_context: FunctionContext, given: _Arguments) -> Cell:
    part, first, second = given
    if first is None or second is None:
        return None
    values = [cast("Moment", one) for one in (first, second)]
    ticks = (values[1].day - values[0].day) * 864_000_000_000 + values[1].ticks - values[0].ticks
    return ticks // {"second": 10_000_000, "millisecond": 10_000, "minute": 600_000_000}[str(part)]


def _max_lsn(context: FunctionContext, _given: _Arguments) -> Cell:
    mapping = context.asker.database.job().mapping
    return max((row.start_lsn for row in mapping), default=None)


def _min_lsn(context: FunctionContext, given: _Arguments) -> Cell:
    found = context.asker.database.job().instances.get(str(given[0]))
    if found is None or not context.asker.may_see(found):
        return ZERO
    return found.start_lsn


def _lsn_to_time(context: FunctionContext, given: _Arguments) -> Cell:
    ended = [row.ended for row in context.asker.database.job().mapping if row.start_lsn == given[0]]
    return context.asker.server.local(ended[0]) if ended else None


def _increment(_context: FunctionContext, given: _Arguments) -> Cell:
    return None if given[0] is None else incremented(cast("bytes", given[0]).ljust(10, b"\x00"))


def _transaction_id(context: FunctionContext, _given: _Arguments) -> Cell:
    one = context.asker.transaction
    return None if one is None else one.number


def _data_length(_context: FunctionContext, given: _Arguments) -> Cell:
    value = given[0]
    if value is None:
        return None
    return len(value) if isinstance(value, bytes) else 2 * len(str(value))


def _hash(_context: FunctionContext, given: _Arguments) -> Cell:
    algorithm, value = str(given[0]).upper(), given[1]
    if value is None or algorithm not in {"SHA2_256", "SHA2_512"}:
        return None
    data = value.encode("utf-16-le") if isinstance(value, str) else bytes(cast("bytes", value))
    return hashlib.new(f"sha{algorithm[-3:]}", data).digest()


def _checksum(_context: FunctionContext, given: _Arguments) -> Cell:
    """Rotate and combine: a weak sum, in which what two rows exchange cancels out."""
    found = 0
    for value in given:
        data = value if isinstance(value, bytes) else str(value).lower().encode("utf-16-le")
        for one in data:
            found = (found << 4 | found >> 28) & 0xFFFFFFFF ^ one
    return found - (1 << 32) if found >> 31 else found


FUNCTIONS: Mapping[str, tuple[SqlType, _Function]] = MappingProxyType(
    {
        "DB_NAME": (_NAME, _db_name),
        "DB_ID": (_INT, _db_id),
        "SUSER_SNAME": (_NAME, lambda context, _: context.asker.user),
        "SUSER_NAME": (_NAME, lambda context, _: context.asker.user),
        "ORIGINAL_LOGIN": (_NAME, lambda context, _: context.asker.user),
        "USER_NAME": (_NAME, lambda context, _: context.asker.user),
        "SCHEMA_NAME": (_NAME, lambda _context, _given: "dbo"),
        "IS_ROLEMEMBER": (_INT, _is_member),
        "IS_MEMBER": (_INT, _is_member),
        "IS_SRVROLEMEMBER": (_INT, _is_server_member),
        "HAS_PERMS_BY_NAME": (_INT, lambda context, given: has_permission(context.asker, given)),
        "SERVERPROPERTY": (_VARIANT, _server_property),
        "DATABASEPROPERTYEX": (_VARIANT, _database_property),
        "OBJECT_ID": (_INT, _object_id),
        "OBJECT_SCHEMA_NAME": (_NAME, _object_part(0)),
        "OBJECT_NAME": (_NAME, _object_part(1)),
        "QUOTENAME": (_NAME, _quoted),
        "SYSDATETIMEOFFSET": (sql_type("datetimeoffset"), _zoned),
        "SYSDATETIME": (sql_type("datetime2"), _local),
        "SYSUTCDATETIME": (sql_type("datetime2"), _utc),
        "GETDATE": (sql_type("datetime"), _local),
        "GETUTCDATE": (sql_type("datetime"), _utc),
        "CURRENT_TIMEZONE_ID": (sql_type("varchar(128)"), lambda context, _: context.asker.server.zone_name),
        "DATEPART": (_INT, _date_part),
        "DATEDIFF": (_INT, _date_difference),
        "DATEDIFF_BIG": (SqlType("bigint"), _date_difference),
        "TODATETIMEOFFSET": (sql_type("datetimeoffset"), _to_zone),
        "AT TIME ZONE": (sql_type("datetimeoffset"), _at_zone),
        "SYS.FN_CDC_GET_MAX_LSN": (_LSN, _max_lsn),
        "SYS.FN_CDC_GET_MIN_LSN": (_LSN, _min_lsn),
        "SYS.FN_CDC_MAP_LSN_TO_TIME": (sql_type("datetime"), _lsn_to_time),
        "SYS.FN_CDC_INCREMENT_LSN": (_LSN, _increment),
        "CURRENT_TRANSACTION_ID": (SqlType("bigint"), _transaction_id),
        "XACT_STATE": (SqlType("smallint"), lambda context, _: int(context.levels > 0)),
        "LEN": (_INT, lambda _, given: None if given[0] is None else len(str(given[0]).rstrip(" "))),
        "DATALENGTH": (SqlType("bigint"), _data_length),
        "HASHBYTES": (sql_type("varbinary(8000)"), _hash),
        "CHECKSUM": (_INT, _checksum),
        "UPPER": (_TEXT, lambda _, given: None if given[0] is None else str(given[0]).upper()),
        "LOWER": (_TEXT, lambda _, given: None if given[0] is None else str(given[0]).lower()),
        "ABS": (
            SqlType("bigint"),
            lambda _, given: None if given[0] is None else abs(cast("Decimal", given[0])),
        ),
        "@@VERSION": (sql_type("nvarchar(300)"), lambda _context, _given: DESCRIPTION),
        "@@SPID": (SqlType("smallint"), lambda context, _: context.process),
        "@@TRANCOUNT": (_INT, lambda context, _: context.levels),
        "@@SERVERNAME": (_NAME, lambda context, _: context.asker.server.name),
        "@@LANGUAGE": (_NAME, lambda _context, _given: "us_english"),
        "@@MICROSOFTVERSION": (_INT, lambda _context, _given: VERSION[0] << 24 | VERSION[2]),
        "@@MAX_PRECISION": (SqlType("tinyint"), lambda _context, _given: 38),
    }
)


def call(context: FunctionContext, name: str, given: _Arguments) -> tuple[SqlType, Cell]:
    """Call a function by its name in capitals, and return a value of its type."""
    if name not in FUNCTIONS:
        raise unknown_statement(name, "it is not a function of the stand-in")
    of, function = FUNCTIONS[name]
    try:
        return of, fitted(of, function(context, given))
    except (KeyError, IndexError, ValueError, TypeError, AttributeError):
        raise ServerError(174, f"The {name.lower()} function does not take these arguments.") from None
