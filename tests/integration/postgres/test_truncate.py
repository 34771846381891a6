"""TRUNCATE of several tables at once, which the log contains in one message."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.test_tables_come_and_go import Shop
from wrackline.producers.contract.steps import Rows, Shape, Step, Truncate


@pytest.fixture
def shop(database: Database) -> Iterator[Shop]:
    """A pipeline over all tables that do not begin with x, and tables that refer to one another."""
    with closing(Shop(database)) as made:
        made.stop()
        made.sql.execute(
            "CREATE TABLE b (id int PRIMARY KEY REFERENCES a);"
            "CREATE TABLE c (id int PRIMARY KEY REFERENCES b);"
            "CREATE TABLE x (id int PRIMARY KEY REFERENCES a);"
            "ALTER PUBLICATION wrackline ADD TABLE b, c, x"
        )
        made.source, made.stream = made.start()
        yield made


def operations(shop: Shop, steps: list[Step]) -> list[tuple[str, str]]:
    """Each table and what became of it, in order."""
    names = {step.ref: step.table.id.name for step in shop.steps if isinstance(step, Shape)}
    found = []
    for step in steps:
        if isinstance(step, Truncate):
            found.append((names[step.ref], "t"))
        elif isinstance(step, Rows):
            found += [(names[row[0]], row[1]) for row in step.rows]
    return found


def test_a_truncate_that_cascades_empties_each_captured_table_between_the_rows_around_it(shop: Shop) -> None:
    """T-P22; for windows that are open meanwhile see tests/unit/producers/snapshot/test_window.py."""
    shop.sql.execute(
        "BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); INSERT INTO c VALUES (1);"
        "INSERT INTO x VALUES (1); TRUNCATE a CASCADE; INSERT INTO a VALUES (2); COMMIT"
    )
    found = operations(shop, shop.read())
    assert found[:3] == [("a", "c"), ("b", "c"), ("c", "c")]
    assert sorted(found[3:6]) == [("a", "t"), ("b", "t"), ("c", "t")]
    assert found[6:] == [("a", "c")]
