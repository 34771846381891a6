"""The event trigger that writes each schema change into the log: only what it wrote is obeyed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.test_tables_come_and_go import Shop
from tests.integration.postgres.world import settings_of
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Appeared, Found, Renamed, Reshaped, Step, Vanished
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.sources.postgres import source
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.discover import ddl_messages
from wrackline.producers.sources.postgres.discover.ddl_trigger import find_trigger
from wrackline.producers.sources.postgres.follow import table_resolver
from wrackline.producers.sources.postgres.stream import PgStream
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

OLD = """
CREATE FUNCTION wrackline_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_logical_emit_message(true, 'wrackline.ddl', json_build_object(
    'oid', objid::bigint, 'schema', 'public', 'table', 'a', 'file', 1, 'columns',
    '[[1, "id", 23, -1, true, "", "", null, false]]'::json, 'primary', true, 'key', '[1]'::json)::text)
  FROM pg_event_trigger_ddl_commands() WHERE classid = 'pg_class'::regclass;
END $$;
CREATE EVENT TRIGGER wrackline_ddl ON ddl_command_end EXECUTE FUNCTION wrackline_ddl();"""
ADD = "ALTER TABLE a ADD c int DEFAULT 1"


class Heard(Shop):
    """A pipeline over all tables, which notes what it passes over."""

    told: list[WracklineError]

    def start(self, aside: Sequence[TableId] = ()) -> tuple[source.PgSource, PgStream]:
        self.told = []
        self.around: Surroundings = replace(self.around, tell=self.told.append)
        return super().start(aside)

    def installed(self) -> None:
        self.sql.execute(ddl_messages.install_sql("postgres").encode())

    def checked(self, **more: str) -> dict[str, Finding]:
        """What a check finds of messages and the trigger."""
        settings = settings_of(self.database.dsn, **more)
        return {
            one.id: one
            for one in check(PgServer(settings), settings, [])
            if "ddl" in one.id or "mess" in one.id
        }


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def shop(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """The shop after its first look at the catalogue; the next look does not come during the test."""
    monkeypatch.setattr(source, "CataloguePoller", partial(CataloguePoller, every=1000))
    monkeypatch.setattr(table_resolver, "SECRET_HOLDS_S", 0.0)
    with closing(Heard(database, **{"publication.autocreate.mode": "all_tables"})) as made:
        if not any(isinstance(step, Found) for step in made.steps):
            made.until(Found)
        made.sql.execute("INSERT INTO a VALUES (1, 'one')")
        made.read()
        yield made


def news(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step, Reshaped | Renamed | Vanished | Appeared)]


def forge(shop: Shop, secret: str = "") -> None:
    """Write what the trigger would if the table had been altered, and if it had been renamed."""
    ((oid,),) = shop.sql.execute("SELECT 'a'::regclass::oid::bigint")
    for name, note in (("a", 17), ("gone", 25)):
        forged = (
            f'{{"v": 1, "oid": {oid}, "schema": "public", "table": "{name}", "file": 1, "primary": true,'
            f' "key": [1], "columns": [[1, "id", 23, -1, true, "", "", null, false],'
            f' [2, "note", {note}, -1, false, "", "", "x", false]]}}'
        )
        shop.sql.execute("SELECT pg_logical_emit_message(true, 'wrackline.ddl', %s)", [secret + forged])


@pytest.mark.parametrize("installed", [True, False])
def test_a_forged_message_is_passed_over(shop: Heard, installed: bool) -> None:  # noqa: FBT001
    """A-SQL-09."""
    if installed:
        shop.installed()
    forge(shop)
    forge(shop, "1 ")
    shop.sql.execute("INSERT INTO a VALUES (2, 'two')")
    steps = shop.read()
    assert [row["id"] for _, row in shop.rows(steps)] == [2]
    assert not news(steps)
    assert [one.code for one in shop.told] == ["pg.ddl_message_refused"], "once a minute at most"


def test_an_unreadable_message_of_the_trigger_harms_nothing(shop: Heard) -> None:
    shop.installed()
    secret = find_trigger(shop.sql)
    assert secret is not None
    assert secret.secret is not None
    for content in ("{", "[]", "null", '{"oid": 1}', '{"dropped": [1]}'):
        signed = f"{secret.secret.decode()} {content}"
        shop.sql.execute("SELECT pg_logical_emit_message(true, 'wrackline.ddl', %s)", [signed])
    shop.sql.execute("INSERT INTO a VALUES (2, 'two')")
    steps = shop.read()
    assert shop.rows(steps) == [("a", {"id": 2, "note": "two"})]
    assert not news(steps)


def test_an_old_trigger_is_not_obeyed_and_the_check_prints_the_new_one(shop: Heard) -> None:
    shop.sql.execute(OLD.encode())
    shop.sql.execute(ADD.encode())
    assert not news(shop.read())
    found = shop.checked()["pg.ddl_trigger_unsealed"]
    assert "wrackline_ddl()" in found.description
    shop.sql.execute(found.suggestion.partition(":\n")[2].encode())
    assert set(shop.checked()) == {"pg.messages_public"}
    shop.sql.execute("ALTER TABLE a ALTER c SET DEFAULT 2, ADD d int DEFAULT 3")
    assert [type(step) for step in news(shop.read())] == [Reshaped]


def test_a_secret_that_is_changed_or_given_away_is_no_secret_any_more(shop: Heard) -> None:
    shop.installed()
    shop.sql.execute(ADD.encode())
    assert news(shop.read())
    before = find_trigger(shop.sql)
    shop.installed()
    assert before is not None
    assert before.secret is not None
    forge(shop, f"{before.secret.decode()} ")
    assert not news(shop.read())
    shop.sql.execute("ALTER TABLE a ADD d int DEFAULT 1")
    assert [type(step) for step in news(shop.read())] == [Reshaped]
    shop.sql.execute("GRANT SELECT ON SEQUENCE wrackline_ddl.secret TO PUBLIC")
    shop.sql.execute("ALTER TABLE a ADD e int DEFAULT 1")
    assert not news(shop.read())
    assert "pg.ddl_trigger_unsealed" in shop.checked()


def test_a_user_who_runs_ddl_needs_no_right_and_learns_no_secret(shop: Heard) -> None:
    shop.installed()
    role = f"owner_{shop.database.name}"
    shop.sql.execute(f"CREATE ROLE {role} LOGIN; ALTER TABLE a OWNER TO {role}".encode())
    shop.sql.execute(f"GRANT CREATE ON SCHEMA public TO {role}".encode())
    shop.sql.execute(shop.checked()["pg.messages_public"].suggestion.partition(":\n")[2].encode())
    shop.read()
    installed = find_trigger(shop.sql)
    assert installed is not None
    assert installed.secret is not None
    heard: list[str] = []
    try:
        with psycopg.connect(f"{shop.database.dsn} user={role}", autocommit=True) as theirs:
            hidden = find_trigger(theirs)
            assert hidden is not None
            assert (hidden.sealed, hidden.readable, hidden.secret) == (True, False, None)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                theirs.execute("SELECT last_value FROM wrackline_ddl.secret")
            theirs.add_notice_handler(
                lambda said: heard.append(str(said.message_primary) + str(said.message_detail))
            )
            theirs.execute(
                "SET client_min_messages = log; SET debug_print_plan = on; SET debug_print_parse = on"
            )
            theirs.execute(ADD.encode())
            table, name = shop.checked(**{"database.user": role}), installed.sequence
        assert [type(step) for step in news(shop.read())] == [Reshaped]
        shown = " ".join(heard)
        assert "PLANNEDSTMT" in shown, "plans show what the text of a variable is"
        assert plan_of(installed.secret) not in shown
        assert installed.secret.decode() not in shown
        assert table["pg.ddl_secret_hidden"].suggestion.endswith(
            f'GRANT SELECT ON SEQUENCE {name} TO "{role}"'
        )
    finally:
        shop.sql.execute(
            f"REASSIGN OWNED BY {role} TO postgres; DROP OWNED BY {role}; DROP ROLE {role}".encode()
        )


def plan_of(text: bytes) -> str:
    """How a plan shows these bytes."""
    return " ".join(map(str, text))


def test_the_trigger_goes_with_its_schema_as_the_page_says(shop: Heard) -> None:
    shop.installed()
    shop.sql.execute("DROP SCHEMA wrackline_ddl CASCADE")
    assert "pg.ddl_untold" in shop.checked()
    shop.sql.execute("CREATE TABLE b (id int PRIMARY KEY)")


@pytest.mark.parametrize(("printed", "suffix"), [("page", ""), ("check", ""), ("check", "$$; '\"%s")])
def test_every_form_of_the_function_that_writes_messages_is_closed(
    shop: Heard, printed: str, suffix: str
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "postgresql.md").read_text()
    role = f"reader_{shop.database.name}{suffix}"
    quoted = identifier(role)
    shop.sql.execute(f"CREATE ROLE {quoted} LOGIN".encode())
    found = shop.checked(**{"database.user": role})["pg.messages_public"]
    block = found.suggestion.partition(":\n")[2]
    if printed == "page":
        (of_the_page,) = re.findall(r"DO \$\$.*?END \$\$;", page, re.DOTALL)
        block = of_the_page.replace("wrackline_reader", quoted)
    forms = "SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message'"
    may = f"SELECT bool_or(has_function_privilege(%s, oid, 'EXECUTE')), count(*) > 1 FROM ({forms}) AS forms"
    try:
        shop.sql.execute(block.encode())
        assert "pg.messages_public" not in shop.checked()
        assert [shop.sql.execute(may.encode(), [one]).fetchone() for one in (role, "public")] == [
            (True, True),
            (False, True),
        ]
    finally:
        shop.sql.execute(f"DROP OWNED BY {quoted}; DROP ROLE {quoted}".encode())
