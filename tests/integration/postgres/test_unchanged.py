"""Updates that change nothing, on a real server: events, unless the settings leave them out."""

from contextlib import closing

import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.test_tables_come_and_go import Shop


@pytest.mark.parametrize(("text", "updates"), [("true", 0), ("false", 1)])
def test_an_update_that_changes_nothing_is_an_event_as_the_setting_says(
    database: Database, text: str, updates: int
) -> None:
    with closing(Shop(database, **{"skip.messages.without.change": text})) as shop:
        shop.sql.execute("ALTER TABLE a REPLICA IDENTITY FULL; INSERT INTO a VALUES (1, 'one')")
        assert len(shop.rows(shop.read())) == 1
        shop.sql.execute("UPDATE a SET note = note")
        assert len(shop.rows(shop.read())) == updates
        shop.sql.execute("UPDATE a SET note = 'two'")
        assert shop.rows(shop.read()) == [("a", {"id": 1, "note": "two"})]
