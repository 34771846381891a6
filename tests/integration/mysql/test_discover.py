"""Tables of a server that does not distinguish T from t."""

from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from tests.integration.mysql.log_files import ask, table_maps
from wrackline.control.local.stack import binlog_server, mariadb
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

SHAPES = MySqlShapes(ColumnRules())


def test_any_spelling_finds_the_table(tmp_path: Path) -> None:
    edition = mariadb.pinned_edition()
    settings = (*edition.settings, "--lower-case-table-names=1")
    server = binlog_server.server(tmp_path, replace(edition, settings=settings))
    server.process.start()
    try:
        with pymysql.connect(
            host=server.host, port=server.port, user=server.user, autocommit=True
        ) as connection:
            ask(connection, "CREATE DATABASE Shop")
            ask(connection, "CREATE TABLE Shop.Orders (Id int primary key)")
            catalogue = MySqlCatalogue(connection, SHAPES)
            [there] = [one for one in catalogue.tables() if one.schema == "shop"]
            for number, spelled in enumerate(("orders", "ORDERS")):
                found = catalogue.facts(TableId("SHOP", "SHOP", spelled))
                [told] = table_maps(connection, f"INSERT INTO sHOP.{spelled} VALUES ({number})")
                assert SHAPES.of_log(told, found) == catalogue.describe(there)
                assert found.table == there == TableId("shop", "shop", "orders")
    finally:
        server.process.stop()
