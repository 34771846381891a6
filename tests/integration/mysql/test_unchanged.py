"""Updates that change no captured column, from MySQL and MariaDB: left out where the settings say so.

The servers log no row that an update leaves as it was, so here a column changes that is not captured.
"""

from collections.abc import Callable
from contextlib import closing

import pytest

from tests.integration.mysql.shop import Shop
from tests.integration.mysql.world import FLAVOURS
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.testing.sources.reading import row_changes

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("text", "operations"), [("true", "cdc"), ("false", "cudc")])
def test_an_update_that_changes_no_captured_column_is_an_event_as_the_setting_says(
    started: Callable[[str], MysqlServer], flavour: str, text: str, operations: str
) -> None:
    settings = {"skip.messages.without.change": text, "column.exclude.list": r".*\.a\.note"}
    with closing(Shop(started(flavour), **settings)) as shop:
        shop.run("INSERT INTO a VALUES (1, 'one')", "UPDATE a SET note = 'two'", "UPDATE a SET id = 2")
        assert "".join(op for _, op, *_ in row_changes(shop.all())) == operations
