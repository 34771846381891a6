"""Names that need care: reserved words, dots, quotes, other scripts, capitals, and servers that fold them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.pipes import Pipe
from tests.integration.mysql.shop import Shop, kinds
from tests.integration.mysql.test_check_servers import EDITIONS
from tests.integration.mysql.world import FLAVOURS
from tests.integration.running.world import wait_until
from wrackline.control.local.stack import binlog_server
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers.contract.steps import Found
from wrackline.producers.sources.mysql.connect.quoting import identifier

pytestmark = pytest.mark.servers

TABLES = (
    "select",
    "or.ders",
    "with space",
    "quo`te",
    'dou"ble',
    "sing'le",
    "back\\slash",
    "semi;colon",
    "per%cent",
    "1digit",
    "123",
    "straße",
    "日本語",
    "Case",
    "cASE",
    "l" * 64,
)
ODD_COLUMN = "q`u.o t%e'\"日"


@pytest.mark.parametrize("flavour", alternatives(FLAVOURS))
def test_every_name_that_a_server_takes_is_copied_under_it(
    stack: Stack,
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    flavour: str,
) -> None:
    """A-SQL-01."""
    server = getattr(stack, flavour)()
    pipe = Pipe(tmp_path, flavour, server, kafka, registry, topic_prefix, ("o dd.b-é",), "initial")
    [database] = pipe.databases
    try:
        for table in TABLES:
            make(pipe, f"CREATE TABLE {{}} (id int PRIMARY KEY, {quoted(ODD_COLUMN)} varchar(20))", table)
            make(pipe, "INSERT INTO {} VALUES (1, 'before')", table)
        running = pipe.run()
        for table in TABLES:
            make(pipe, "INSERT INTO {} VALUES (2, 'while it runs')", table)
            make(pipe, "ALTER TABLE {} ADD COLUMN `group` int", table)
            make(pipe, "UPDATE {} SET `group` = 7 WHERE id = 2", table)
        make(pipe, f"RENAME TABLE {{}} TO {quoted('re.named`')}", "select")
        left = [*TABLES[1:], "re.named`"]

        def same() -> bool:
            """Look at no table behind one that is not there yet: to read a topic is what takes the time."""
            while left and pipe.folded(database, left[-1]) == pipe.table(database, left[-1]):
                left.pop()
            return not left

        wait_until(same, look=0.2)
        assert running.stop() == Exit.OK
        assert "set aside" not in running.output
    finally:
        pipe.close()


def quoted(name: str) -> str:
    return identifier(name).replace("{", "{{").replace("}", "}}")


def make(pipe: Pipe, statement: str, table: str) -> None:
    """Run a statement on a table of the pipeline's database."""
    pipe.execute(f"USE {identifier(pipe.databases[0])}")
    pipe.execute(statement.format(identifier(table)))


@pytest.fixture(scope="module", params=alternatives(FLAVOURS, by="file"))
def folding(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[MysqlServer]:
    """A server that knows small letters only."""
    edition = EDITIONS[request.param]()
    small = "--lower-case-table-names=1"
    edition = replace(edition, settings=(*edition.settings, small), initialise=[*edition.initialise, small])
    made = binlog_server.server(tmp_path_factory.mktemp("small"), edition)
    made.process.start()
    yield made
    made.process.stop()


def test_a_server_that_folds_names_reports_them_in_lower_case_however_they_are_written(
    folding: MysqlServer,
) -> None:
    shop = Shop(folding)
    try:
        shop.read_until(lambda steps: any(isinstance(step, Found) for step in steps))
        shop.run("CREATE TABLE Goods (id int PRIMARY KEY)", "INSERT INTO GOODS VALUES (1)")
        shop.run("ALTER TABLE gOODS ADD COLUMN n int NOT NULL DEFAULT 3", "RENAME TABLE GOODS TO Wares")
        shop.run("INSERT INTO WARES VALUES (2, 4)", "TRUNCATE TABLE WARES", "DROP TABLE Wares")
        shop.run(f"DROP TABLE {shop.database.upper()}.A")
        steps = shop.all()
    finally:
        shop.close()
    assert kinds(steps) == [
        ("appeared", "goods", "complete"),
        ("refresh", "goods"),
        ("renamed", "goods", "wares"),
        ("truncate",),
        ("vanished", "wares"),
        ("vanished", "a"),
    ]
    assert shop.rows(steps) == [("goods", {"id": 1}), ("wares", {"id": 2, "n": 4})]
