"""Every statement that the source for SQL Server can write, by the function or the constant that writes it.

`writers` finds these by their texts, so one that is missing here is seen.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.sources.sqlserver import trials
from wrackline.producers.sources.sqlserver.assume import assumption_sql
from wrackline.producers.sources.sqlserver.check import check_rules, facts_sql, grants
from wrackline.producers.sources.sqlserver.chunks import chunk_sql, log_end_survey, marks, whole
from wrackline.producers.sources.sqlserver.chunks.key_values import SqlServerKeyColumn
from wrackline.producers.sources.sqlserver.connect.quoting import identifier, table_name
from wrackline.producers.sources.sqlserver.discover import database_sql, table_sql
from wrackline.producers.sources.sqlserver.discover.types import SqlServerType
from wrackline.producers.sources.sqlserver.follow import capture_instances
from wrackline.producers.sources.sqlserver.follow.capture_instances import CapturedColumn, CatalogueInstance
from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.log.change_rows import RowPlace, row_key
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.page_merger import PageRequest
from wrackline.producers.sources.sqlserver.log.page_sql import ChangeTable
from wrackline.producers.sources.sqlserver.session import server as server_session
from wrackline.producers.sources.sqlserver.session import shared_question
from wrackline.producers.sources.sqlserver.wire import login
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.kafka.signals import SignalRow
from wrackline.schemas.language.findings import Rule
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

SOURCE = Path(__file__).parents[3] / "producers" / "sources" / "sqlserver"
ORDERS = TableId("shop", "dbo", "Order Details")
EVERY = TableId("shop", "dbo", "every_type")
SIGNALS = TableId("shop", "dbo", "signals")
ROLE = "reads changes"
USER = "reader"

# Columns of EVERY: its declaration, its type as the source knows it, and a value as the source is given it.
KEYS: Mapping[str, tuple[str, SqlServerType, str]] = {
    "t": ("tinyint", SqlServerType("tinyint"), "255"),
    "s": ("smallint", SqlServerType("smallint"), "-7"),
    "i": ("int", SqlServerType("int"), "7"),
    "b": ("bigint", SqlServerType("bigint"), str(-(2**63))),
    "o": ("bit", SqlServerType("bit"), "1"),
    "d": ("decimal(10,2)", SqlServerType("decimal", precision=10, scale=2), "-1.10"),
    "m": ("money", SqlServerType("money"), "1.0001"),
    "n": ("smallmoney", SqlServerType("smallmoney"), "-3.5"),
    "r": ("real", SqlServerType("real"), "0.5"),
    "f": ("float", SqlServerType("float"), "1e+300"),
    "day": ("date", SqlServerType("date"), "2026-01-02"),
    "clock": ("time(3)", SqlServerType("time", scale=3), "23:59:59.999"),
    "at": ("datetime2(3)", SqlServerType("datetime2", scale=3), "2026-01-02 03:04:05.006"),
    "old": ("datetime", SqlServerType("datetime"), "2026-01-02 03:04:05.997"),
    "short": ("smalldatetime", SqlServerType("smalldatetime"), "2026-01-02 03:04:00"),
    "zoned": (
        "datetimeoffset(7)",
        SqlServerType("datetimeoffset", scale=7),
        "2026-01-02 03:04:05.0000001 -01:30",
    ),
    "guid": ("uniqueidentifier", SqlServerType("uniqueidentifier"), "6F9619FF-8B86-D011-B42D-00C04FC964FF"),
    "fixed": ("binary(4)", SqlServerType("binary", 4), "0x00ff0102"),
    "bytes": ("varbinary(4)", SqlServerType("varbinary", 4), "0x00ff"),
    "path": ("hierarchyid", SqlServerType("hierarchyid"), "0x5ac0"),
    "wide": ("nvarchar(20)", SqlServerType("nvarchar", 20), "it's é\ud83d\ude00"),
    "blank": ("nchar(4)", SqlServerType("nchar", 4), "é"),
    "code": ("varchar(20) collate Cyrillic_General_CI_AS", SqlServerType("varchar", 20), "ж's"),
    "utf": ("varchar(20) collate Latin1_General_100_BIN2_UTF8", SqlServerType("varchar", 20), "жé"),
    "char": ("char(4)", SqlServerType("char", 4), "é"),
}
COLUMNS = {
    name: SqlServerKeyColumn(
        name,
        of,
        nullable=name == "s",
        collation=(declared.partition(" collate ")[2] or "SQL_Latin1_General_CP1_CI_AS")
        if of.name in {"char", "varchar"}
        else None,
    )
    for name, (declared, of, _) in KEYS.items()
}


def shape(*names: str, dropped: str = "") -> Projection:
    """Return the shape of EVERY with these columns."""
    made = tuple(Column(name, place, ColumnType(Kind.INT32, "int")) for place, name in enumerate(names))
    source = TableSchema(EVERY, made, (names[0],))
    actions = tuple(Plain.DROP if name == dropped else Plain.KEEP for name in names)
    return Projection(source, source, actions)


def _bound(*names: str) -> Bound:
    return tuple(KEYS[name][2] for name in names)


def chunks() -> Iterator[str]:
    """Write chunks of EVERY by each type of a key, and by several columns."""
    shown = shape("i", "wide", dropped="wide")
    for name in KEYS:
        request = ChunkRequest(EVERY, (name,), after=_bound(name), upto=_bound(name), most_rows=5)
        yield chunk_sql.rows(request, shown, COLUMNS)
        yield chunk_sql.one_of(request, COLUMNS, _bound(name), most=2)
    key = ("i", "s", "guid")
    request = ChunkRequest(EVERY, key, after=_bound(*key), upto=("7", None, KEYS["guid"][2]))
    yield chunk_sql.rows(request, shown, COLUMNS)
    yield chunk_sql.rows(request, shown, COLUMNS, versions=True)
    yield chunk_sql.rows(
        ChunkRequest(EVERY, key, only=(_bound(*key), ("1", None, "0" * 8 + "-0000" * 3 + "-" + "0" * 12))),
        shown,
        COLUMNS,
    )
    for text in (
        "i = 1 AND wide LIKE 'a[b]_%' OR code <> 'x' AND s IS NOT NULL",
        "i IN (1, 2) OR day BETWEEN '2026-01-01' AND '2026-12-31'",
        "i = 1 OR s IS NULL",
    ):
        yield chunk_sql.rows(ChunkRequest(EVERY, ("i",), condition=text), shape(*KEYS), COLUMNS)
    for descending in (True, False):
        yield chunk_sql.one_key(ChunkRequest(EVERY, key), shown, COLUMNS, descending=descending)
    yield chunk_sql.all_rows(shape(*KEYS))


def polls(database: str | None, low: Lsn, high: Lsn, table: int) -> Iterator[str]:
    """Write what a stream asks of one database."""
    for with_it, zoned in ((True, True), (False, True), (False, False)):
        yield page_sql.commits_after(database, low, 5, with_it=with_it, zoned=zoned)
    places = [low, *(row_key(low, RowPlace(command, low, table, 3)) for command in (1, None))]
    requests = [PageRequest(table, place, high, 4) for place in places]
    numbered = ChangeTable(table, "dbo_Order Details", ["id", "my]note"])
    yield page_sql.poll(database, requests, [numbered], low)
    yield page_sql.poll(database, requests[:2], [numbered._replace(numbered=False)], low)
    yield page_sql.rows_of_range(database, "dbo_Order Details", low, high)
    yield page_sql.names_now()
    yield page_sql.names_now(1000017)
    yield database_sql.log_bounds_sql(database, low)
    yield capture_instances.instances_sql(database)
    yield capture_instances.columns_sql(database)
    yield facts_sql.jobs(database)
    yield facts_sql.newest_age(database)
    yield capture_instances.unnumbered_sql(database)


def described(object_id: int) -> Iterator[str]:
    """Write what describes tables and reads one whole, in their database."""
    yield table_sql.TABLES
    yield table_sql.ROWS
    yield table_sql.id_of(ORDERS)
    for one in (None, object_id):
        yield table_sql.columns(one)
        yield table_sql.keys(one)
    name = table_name(ORDERS)
    yield f"{whole._SNAPSHOT.format(name)} ROLLBACK TRANSACTION;"
    yield f"SET TRANSACTION ISOLATION LEVEL READ COMMITTED; {whole._LOCK.format(name)} ROLLBACK TRANSACTION;"


def server() -> Iterator[str]:
    """Write what is asked of the server before a log is read, and what a preflight asks."""
    yield login._FIRST
    yield login._EDITION
    yield f"USE {identifier('master')};"
    yield server_session._EDITION
    yield f"{server_session._READS_VERSIONS} SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    yield page_sql.SESSION
    yield shared_question.LOCKS
    yield page_sql.newest_commits(["shop"] * 60)
    yield page_sql.catalogue_digests(["shop"] * 60)
    yield page_sql.LOCK_TIMEOUT
    yield database_sql.databases_sql(["shop", "it's"])
    yield database_sql.azure_sql()
    yield from (facts_sql.AGENT, facts_sql.REPLICATED_SIZE)
    yield grants.rights_sql(rights())
    yield marks.FENCE_SQL
    yield log_end_survey.ends_sql(["shop", "master"])
    yield trials._CLOCK
    yield trials._LOCKS_SHORTLY
    for delete in (True, False):
        yield marks.signal_sql(SIGNALS, SignalRow("it's", "close", '{"a": "é"}'), delete=delete)


def probes() -> Iterator[str]:
    """Write what tries the assumptions, in the database."""
    yield from (assumption_sql.COMMITS, assumption_sql.SCANS, assumption_sql.VERSION)
    yield f"{assumption_sql.VERSIONS} SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    yield assumption_sql.newest_rows("dbo_Order Details")
    yield assumption_sql.own_rows("dbo_signals", bytes(10), ["it's"])
    yield assumption_sql.rows_there(SIGNALS, ["it's", "other"])
    yield assumption_sql.rows_like(SIGNALS, "it's")
    insert = marks.signal_sql(SIGNALS, SignalRow("it's", "close", "{}"), delete=False)
    yield f"{assumption_sql.begun(insert)} COMMIT TRANSACTION;"
    yield assumption_sql.exchange(SIGNALS, "it's", "other")
    yield assumption_sql.remove(SIGNALS, ["it's", "other"])


def rights() -> Sequence[grants.NeededRight]:
    """Return all rights of a pipeline."""
    needed = grants.needed_rights(USER, [ORDERS, EVERY], [ROLE], signals=SIGNALS, fence=True)
    return [*needed, grants.update_right(USER, SIGNALS)]


def repairs() -> Iterator[str]:
    """Write the statements of the findings, which an operator pastes."""
    for one in rights():
        yield f"USE [shop]; {one.statement}"
    values = {"database": "[shop]", "name": "shop", "seconds": "5", "minutes": "60", "user": f"[{USER}]"}
    for rule in vars(check_rules).values():
        for fix in rule.fixes if isinstance(rule, Rule) else ():
            for text in (fix["sql"], fix["undo"]):
                if text and "{statement}" not in text and "sp_cdc_disable_db" not in text:
                    yield text.format(**values)
    columns = (CapturedColumn("id", 1, 1), CapturedColumn("my]note", 2, 2))
    like = CatalogueInstance(
        "dbo_Order Details", 1, 2, None, "", columns, ROLE, True, "PK_Order Details", "PRIMARY"
    )
    yield capture_instances.enable_sql(ORDERS, like, "wrackline_2_2")
    yield capture_instances.disable_sql(ORDERS, "wrackline_2_2")
    yield capture_instances.disable_sql(ORDERS, "dbo_Order Details")
    yield capture_instances.enable_sql(ORDERS)
    yield trials._RAISE.format("[shop]").format(minutes=9)


_BEGINS = re.compile(r"(SELECT|INSERT|DELETE|EXEC|BEGIN|SET|USE|ALTER|GRANT|IF|WITH|UPDATE) [A-Z\[@( ]?")
# What only puts together what others write, or is part of a statement that others write.
PARTS = {
    "log/page_sql.py:_UNLOCKED",
    "log/page_sql.py:_numbered",
    "log/page_sql.py:ddl_after",
    "log/page_sql.py:instances_now",
    "log/page_sql.py:page",
}
WRITERS = {
    "assume/assumption_sql.py:COMMITS",
    "assume/assumption_sql.py:SCANS",
    "assume/assumption_sql.py:VERSION",
    "assume/assumption_sql.py:VERSIONS",
    "assume/assumption_sql.py:begun",
    "assume/assumption_sql.py:exchange",
    "assume/assumption_sql.py:newest_rows",
    "assume/assumption_sql.py:own_rows",
    "assume/assumption_sql.py:remove",
    "assume/assumption_sql.py:rows_like",
    "assume/assumption_sql.py:rows_there",
    "check/check_rules.py",
    "check/facts_sql.py:AGENT",
    "check/facts_sql.py:REPLICATED_SIZE",
    "check/facts_sql.py:jobs",
    "check/facts_sql.py:newest_age",
    "check/grants.py:NeededRight",
    "check/grants.py:_right",
    "check/grants.py:_place_right",
    "check/grants.py:role_right",
    "check/grants.py:rights_sql",
    "chunks/log_end_survey.py:_HOME",
    "chunks/log_end_survey.py:ends_sql",
    "chunks/marks.py:FENCE_SQL",
    "chunks/marks.py:signal_sql",
    "chunks/whole.py:_LOCK",
    "chunks/whole.py:_SNAPSHOT",
    "discover/database_sql.py:azure_sql",
    "discover/database_sql.py:databases_sql",
    "discover/database_sql.py:log_bounds_sql",
    "discover/table_sql.py:ROWS",
    "discover/table_sql.py:TABLES",
    "discover/table_sql.py:columns",
    "discover/table_sql.py:id_of",
    "discover/table_sql.py:keys",
    "follow/capture_instances.py:columns_sql",
    "follow/capture_instances.py:disable_sql",
    "follow/capture_instances.py:enable_sql",
    "follow/capture_instances.py:instances_sql",
    "follow/capture_instances.py:unnumbered_sql",
    "log/page_sql.py:LOCK_TIMEOUT",
    "log/page_sql.py:SESSION",
    "log/page_sql.py:commits_after",
    "log/page_sql.py:catalogue_digests",
    "log/page_sql.py:names_now",
    "log/page_sql.py:rows_of_range",
    "session/server.py:_EDITION",
    "session/server.py:_READS_VERSIONS",
    "session/shared_question.py:LOCKS",
    "trials.py:_CLOCK",
    "trials.py:_LOCKS_SHORTLY",
    "trials.py:_RAISE",
    "wire/login.py:_EDITION",
    "wire/login.py:_FIRST",
    *PARTS,
}


def writers() -> set[str]:
    """Find what writes T-SQL in the source: functions and constants with a text that begins as one."""
    found = set()
    for file in sorted(SOURCE.rglob("*.py")):
        module = file.relative_to(SOURCE).as_posix()
        for node in ast.parse(file.read_text()).body:
            if not any(_is_statement(one) for one in _texts(node)):
                continue
            found.add(module if module == "check/check_rules.py" else f"{module}:{_name(node)}")
    return found


def _texts(node: ast.stmt) -> Iterator[str]:
    """Give the texts of a statement of Python, without docstrings and the texts of errors and findings."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "define":
            return
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _is_statement(text: str) -> bool:
    return _BEGINS.match(text) is not None


def _name(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return f"line {node.lineno}"
