"""A catalogue that can't have changed is not looked at again, and each change is seen all the same."""

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import settings_of
from tests.integration.running.world import wait_until
from wrackline.producers.kit.log_reports import ReportMoment
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.follow.catalogue_snapshot import PgCatalogueReader
from wrackline.producers.sources.postgres.follow.sight import PgSight
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.types import Kind

pytestmark = pytest.mark.servers


class Looks:
    """Looks at a database, and hands over each picture."""

    def __init__(self, database: Database) -> None:
        def catalogue(connection: Connection) -> PgCatalogue:
            return PgCatalogue(connection, database.name, ColumnRules(), Kind.ZONED_TIMESTAMP)

        server, ticks = PgServer(settings_of(database.dsn)), count()
        self.sight = PgSight(lambda: float(next(ticks)))  # each look asks
        self.reader = PgCatalogueReader(
            server.guarded, catalogue, lambda _: True, "p", ours=False, sight=self.sight, pushes=False
        )
        self.moment = ReportMoment()
        self.hands_over = True

    def __call__(self) -> set[str] | None:
        """Return the names of the tables of a picture; None: it would be the one before."""
        picture = self.reader.look(self.moment)
        if picture is None:
            return None
        if self.hands_over:
            self.reader.handed_over(picture)
        return {one.table.name for one in picture.entries.values()}

    def rest(self) -> None:
        """Look until there is nothing new: other databases of the server are written to."""
        wait_until(lambda: self() is None)


@pytest.fixture
def looks(database: Database) -> Iterator[Looks]:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute("CREATE TABLE a (id int PRIMARY KEY); CREATE PUBLICATION p FOR ALL TABLES")
    made = Looks(database)
    yield made
    made.reader.close()


def test_a_change_is_seen_after_a_rest(database: Database, looks: Looks) -> None:
    assert looks() == {"a"}
    looks.rest()
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute("CREATE TABLE b (id int PRIMARY KEY)")
        assert looks() == {"a", "b"}
        looks.rest()
        session.execute("DROP TABLE a")
        assert looks() == {"b"}


def test_a_change_that_is_under_way_leaves_no_rest_and_is_seen_when_it_ends(
    database: Database, looks: Looks
) -> None:
    with psycopg.connect(database.dsn) as session:
        session.execute("CREATE TABLE b (id int PRIMARY KEY)")
        assert [looks() for _ in range(3)] == [{"a"}] * 3
        session.commit()
        assert looks() == {"a", "b"}
    looks.rest()


def test_what_transactions_see_changes_with_the_end_of_each_also_of_an_older_one(database: Database) -> None:
    ticks = count()
    sight = PgSight(lambda: float(next(ticks)))
    with (
        PgServer(settings_of(database.dsn)).guarded() as looking,
        psycopg.connect(database.dsn) as first,
        psycopg.connect(database.dsn) as later,
    ):
        for session in (first, later):
            session.execute("SELECT pg_current_xact_id()")
        views = [sight.of(looking)]
        for session in (later, first):
            session.commit()
            views.append(sight.of(looking))
    assert None not in views
    assert len(set(views)) == 3


def test_a_picture_that_nobody_has_is_taken_again(looks: Looks) -> None:
    looks.hands_over = False
    assert [looks() for _ in range(3)] == [{"a"}] * 3


def test_a_report_of_the_log_is_a_reason_to_look_and_a_picture_that_was_taken_is_none(looks: Looks) -> None:
    looks.rest()
    looks.moment = ReportMoment(number=1, news=0)
    looks.rest()
    looks.moment = ReportMoment(number=2, news=1)
    assert looks() == {"a"}
    looks.rest()


def test_another_connection_looks_at_all(looks: Looks) -> None:
    looks.rest()
    looks.reader.close()
    assert looks() == {"a"}


def test_a_table_that_is_being_altered_is_looked_at_until_it_is_not(database: Database, looks: Looks) -> None:
    looks.rest()
    with psycopg.connect(database.dsn) as session:
        session.execute("LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
        looks.reader.close()
        assert [looks() for _ in range(3)] == [{"a"}] * 3
    looks.rest()
