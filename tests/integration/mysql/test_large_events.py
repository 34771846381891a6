"""Events that are larger than a pipeline holds: only the table that they are of can be set aside by them."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.integration.mysql.shop import Shop
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.steps import Fault

pytestmark = pytest.mark.servers
MOST = 1_000_000


@pytest.fixture
def shop(server: MysqlServer) -> Iterator[Shop]:
    """A pipeline that holds rows of a million bytes, in events of 4 MiB, and leaves out tables x…."""
    with closing(Shop(server, **{"max.row.bytes": str(MOST)})) as made:
        yield made


@pytest.mark.parametrize("packed", [False, True])
def test_only_the_table_of_an_event_that_is_too_large_is_set_aside(shop: Shop, packed: bool) -> None:  # noqa: FBT001
    shop.run(
        "CREATE TABLE x1 (id int PRIMARY KEY, big longtext)",
        "CREATE TABLE b (id int PRIMARY KEY, big longtext)",
    )
    shop.told()
    large = f"repeat('x', {5 * MOST})"
    if packed:
        shop.run(
            "SET GLOBAL log_bin_compress = ON" if shop.mariadb else "SET binlog_transaction_compression = ON"
        )
    try:
        shop.run(
            "BEGIN", f"INSERT INTO x1 VALUES (1, {large}), (2, {large})", "INSERT INTO a VALUES (1, 'one')"
        )
        shop.run("UPDATE x1 SET big = concat(big, 'y')", "COMMIT")
        assert not [step for step in shop.told() if isinstance(step, Fault)]
        shop.run("BEGIN", f"INSERT INTO b VALUES (1, {large})", "INSERT INTO a VALUES (2, 'two')", "COMMIT")
        (fault,) = [step for step in shop.told() if isinstance(step, Fault)]
    finally:
        if packed and shop.mariadb:
            shop.run("SET GLOBAL log_bin_compress = OFF")
    assert (fault.table, fault.error.code) == (shop.named("b"), "mysql.row_too_large")
    shop.run("INSERT INTO a VALUES (3, 'three')")
    shop.told()
    assert [row["id"] for name, row in shop.rows(shop.steps) if name == "a"] == [1, 2, 3]
