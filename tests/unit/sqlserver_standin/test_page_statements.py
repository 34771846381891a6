"""A reader of docs/sqlserver.md gets from nothing to rows: its statements run on the stand-in, in order."""

import re
import time
from collections.abc import Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import SqlServerRegistry, given_of, read_settings
from tests.unit.sqlserver_standin.shop import outcomes, session
from tests.unit.test_house import ROOT
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.producers.contract.source_plugin import Source, Surroundings
from wrackline.producers.contract.steps import Rows
from wrackline.producers.sources.sqlserver import PLUGIN
from wrackline.schemas.language.findings import Severity

READER = "wrackline_reader"
PAGE = (ROOT / "docs/sqlserver.md").read_text()
STATEMENTS = re.compile(r"```sql\n(.*?)```|`((?:ALTER|CREATE|DROP|EXEC|GRANT|USE) [^`]*;)", re.DOTALL)
TITLE = re.compile(r"^##+ (.*)$", re.MULTILINE)
# what the stand-in does not have: Amazon's procedures, users without a login, and the removal of principals
STEPS = {"Enable change data capture": 8, "Login and grants": 9, "Existing rows": 1}  # with their statements
BEYOND = ("rds_cdc_enable_db", f"USER {READER} WITH PASSWORD", "DROP USER", "DROP LOGIN")


def parts() -> dict[str, list[list[str]]]:
    """The blocks of statements on the page, by the heading that they stand below."""
    found: dict[str, list[list[str]]] = {}
    titles = [(one.start(), one.group(1)) for one in TITLE.finditer(PAGE)]
    for one in STATEMENTS.finditer(PAGE):
        title = [name for start, name in titles if start < one.start()][-1]
        text = one.group(1) or one.group(2)
        statements = [statement.strip() for statement in text.split(";") if statement.strip()]
        found.setdefault(title, []).append([f"{statement};" for statement in statements])
    return found


def run(model: ModelServer, blocks: Sequence[Sequence[str]]) -> int:
    """Run what the stand-in has, each block in a session of its own; return how many statements those are."""
    count = 0
    for block in blocks:
        admin = session(model, "sa")
        for statement in block:
            if not any(word in statement for word in BEYOND):
                outcomes(admin, statement)
                count += 1
    return count


@pytest.fixture
def server() -> Iterator[SqlServerStandin]:
    """A server with a database and a table, of which nothing is captured."""
    model = ModelServer()
    model.create_login("sa", "secret", administrator=True)
    model.create_database("shop").create_table(
        "dbo.orders", {"id": "int", "note": "nvarchar(20) null"}, ("id",)
    )
    made = SqlServerStandin(model)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def source(server: SqlServerStandin) -> Iterator[Source]:
    """The page's pipeline, whose login the page makes later."""
    around = Surroundings(
        time.monotonic, lambda: time.time_ns() // 1_000_000, SqlServerRegistry().register, 1 << 20, print
    )
    given = given_of(server.port, "shop") | {
        "database.user": READER,
        "database.password": "...",
        "table.include.list": "dbo[.]orders",
        "signal.data.collection": "dbo.wrackline_signals",
    }
    made = PLUGIN.open(read_settings(given), around)
    yield made
    made.close()


def test_the_page_s_statements_lead_from_nothing_to_rows_and_back(
    server: SqlServerStandin, source: Source
) -> None:
    said, model = parts(), server.model
    outcomes(session(model, "sa"), "CREATE ROLE cdc_readers;")
    assert [one for one in said if one in STEPS] == list(STEPS), "what is needed first stands first"
    for title, least in STEPS.items():
        assert run(model, said[title]) >= least
    model.databases["shop"].scan()
    (partition,) = source.partitions()
    tables = source.tables(partition)
    found = source.check(partition, tables)
    assert [one.id for one in found if one.severity is Severity.ERROR] == []
    stream = source.stream(partition, tables, None)
    outcomes(session(model, "sa"), "INSERT INTO dbo.orders (id, note) VALUES (1, N'x');")
    rows: list[object] = []
    until = time.monotonic() + 20
    while not rows and time.monotonic() < until:
        model.databases["shop"].scan()
        batch = stream.poll(time.monotonic() + 0.2)
        rows += [step for step in batch.steps if isinstance(step, Rows)] if batch else []
    stream.close()
    assert len(rows) == 1
    assert run(model, said["A quiet database"]) == 4
    assert run(model, said["Remove everything"]) == 3
    assert model.databases["shop"].cdc is None
