"""The preflight: each finding where it applies, with statements that repair, and each right proved."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from tests.unit.producers.sqlserver.test_handover import ADDED, COLUMNS, NEW, OLD, TABLE
from wrackline.producers.sources.sqlserver.check import facts_sql
from wrackline.producers.sources.sqlserver.check.check_server import (
    DatabaseFacts,
    SqlServerFacts,
    column_findings,
    database_findings,
    instance_findings,
    right_findings,
    server_findings,
)
from wrackline.producers.sources.sqlserver.check.grants import needed_rights, rights_sql
from wrackline.producers.sources.sqlserver.connect.server_errors import explain
from wrackline.producers.sources.sqlserver.discover.types import SqlServerType
from wrackline.producers.sources.sqlserver.follow.capture_instances import unnumbered_sql
from wrackline.producers.sources.sqlserver.session.server import SqlServerEdition
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

SERVER = SqlServerFacts("16.0.1000.6", 3, ("SQL Server Agent (MSSQLSERVER)", "Running"), -1)
DATABASE = DatabaseFacts(
    "My]Db", captured=True, versions=True, newest_age_s=301, retention_minutes=4320, polling_s=1
)


def ids(findings: Iterable[Finding]) -> list[str]:
    return [one.id.removeprefix("sqlserver.") for one in findings]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"version": "13.0.4001.0"}, []),
        ({"version": "13.0.1601.5"}, ["version_old"]),
        ({"version": "12.0.2000.8", "edition": 5, "agent": None}, []),  # Azure SQL Database says 12 for ever
        ({"version": "12.0.2000.8", "edition": 8}, []),  # and so does Managed Instance
        ({"version": "12.0.2000.8"}, ["version_old"]),
        ({"edition": 4}, ["edition_without"]),  # Express
        ({"agent": ("SQL Server Agent", "Stopped")}, ["agent_stopped"]),
        ({"agent": None}, []),  # there is none
        ({"agent": None, "hides_agent": True}, ["agent_unseen"]),
        ({"agent": None, "hides_agent": True, "edition": 5, "version": "12.0"}, []),  # Azure has a scheduler
        ({"replicated_bytes": 65_536}, ["replicated_size"]),
    ],
)
def test_what_a_server_lacks(change: dict[str, object], found: list[str]) -> None:
    assert ids(server_findings(replace(SERVER, **change), "shop", "reader")) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"captured": False, "retention_minutes": 1}, ["cdc_off"]),
        ({"newest_age_s": 601}, ["capture_behind"]),
        ({"polling_s": 5}, ["capture_slow"]),
        ({"retention_minutes": 1439}, ["retention_short"]),
        ({"versions": False}, ["versions_off"]),
        ({"newest_age_s": None, "retention_minutes": None, "polling_s": None}, []),
    ],
)
def test_what_a_database_lacks(change: dict[str, object], found: list[str]) -> None:
    facts = replace(DATABASE, **change)  # type: ignore[arg-type]
    assert ids(database_findings(facts, versions_for="a table has no key")) == found


def test_versions_are_asked_for_only_if_something_needs_them() -> None:
    assert ids(database_findings(replace(DATABASE, versions=False))) == []


def test_a_statement_can_be_pasted_whatever_the_names_are() -> None:
    [finding] = database_findings(replace(DATABASE, captured=False))
    assert "USE [My]]Db]; EXEC sys.sp_cdc_enable_db;" in finding.suggestion
    assert finding.fixes[0]["sql"] == "USE [My]]Db]; EXEC sys.sp_cdc_enable_db;"


def test_each_right_is_asked_for_by_its_name_and_granted_by_a_statement() -> None:
    table, signals = TableId("shop", "dbo", "it's"), TableId("shop", "dbo", "signals")
    rights = list(needed_rights("shop\\cdc", [table], ["r]", "r]"], signals=signals, fence=True))
    asked = rights_sql(rights)
    assert "HAS_PERMS_BY_NAME(N'cdc', N'SCHEMA', N'SELECT'), CASE WHEN IS_ROLEMEMBER(N'r]') = 1" in asked
    assert "HAS_PERMS_BY_NAME(N'[dbo].[it''s]', N'OBJECT', N'SELECT')" in asked
    assert [right.statement for right in rights] == [
        "GRANT SELECT ON SCHEMA::cdc TO [shop\\cdc];",
        "ALTER ROLE [r]]] ADD MEMBER [shop\\cdc];",
        "GRANT SELECT ON OBJECT::[dbo].[it's] TO [shop\\cdc];",
        "GRANT SELECT ON OBJECT::[dbo].[signals] TO [shop\\cdc];",
        "GRANT INSERT ON OBJECT::[dbo].[signals] TO [shop\\cdc];",
        "GRANT DELETE ON OBJECT::[dbo].[signals] TO [shop\\cdc];",
        "USE master; GRANT VIEW SERVER STATE TO [shop\\cdc];",
    ]
    found = list(right_findings("shop", rights, [1, 0, None, 1, 1, 1, 1]))
    assert ids(found) == ["right_lacks", "right_lacks"], "NULL is no proof"
    assert found[0].suggestion == "as db_owner: USE [shop]; ALTER ROLE [r]]] ADD MEMBER [shop\\cdc];"


def test_a_place_of_the_log_is_a_right_on_the_server_but_of_azure_s_database() -> None:
    [_, right] = needed_rights("u", [], [], fence=True)
    [finding] = right_findings("shop", [right], [0])
    assert finding.suggestion.startswith("as sysadmin: USE master; GRANT VIEW SERVER STATE TO [u];")
    assert (finding.fixes[0]["as"], finding.fixes[0]["sql"]) == ("sysadmin", right.statement)
    [_, azure] = needed_rights("u", [], [], fence=True, azure=True)
    assert azure.statement == "GRANT VIEW DATABASE STATE TO [u];"


def test_azure_knows_its_zone_by_name_whatever_its_version_says() -> None:
    assert [SqlServerEdition(number, "12.0.2000.8").zoned for number in (3, 5, 8)] == [False, True, True]


def test_a_pipeline_that_only_reads_needs_only_to_read() -> None:
    assert [right.statement.split()[:2] for right in needed_rights("u", [TABLE], [])] == [
        ["GRANT", "SELECT"]
    ] * 2


def test_what_a_table_s_instances_lack() -> None:
    assert ids(instance_findings(TABLE, [], COLUMNS)) == ["not_captured"]
    assert ids(instance_findings(TABLE, [OLD], COLUMNS)) == []
    [added] = instance_findings(TABLE, [OLD], ADDED)
    assert (added.id, "[no]]te]" in added.suggestion) == ("sqlserver.columns_uncaptured", True)
    [taken] = instance_findings(TABLE, [OLD, NEW], ADDED)
    assert (taken.id, "@capture_instance = N'a'" in taken.suggestion) == ("sqlserver.instances_taken", True)
    [old] = instance_findings(TABLE, [OLD], COLUMNS, ["a"])
    assert old.id == "sqlserver.commands_unnumbered"
    assert old.suggestion.index("sp_cdc_disable_table") < old.suggestion.index("sp_cdc_enable_table")
    [less] = instance_findings(TABLE, [OLD], COLUMNS[:1], ["a"])
    assert "@captured_column_list = N'[id]';" in less.suggestion, "the other column was dropped"


def test_an_old_instance_is_never_offered_for_dropping_by_a_look_alone() -> None:
    """Only a running pipeline knows how far Kafka has come."""
    ours = replace(NEW, name="wrackline_245_2", columns=ADDED, start_lsn=lsn(50))
    assert ids(instance_findings(TABLE, [OLD, ours], ADDED)) == []


@pytest.mark.parametrize(
    ("column", "computed", "found"),
    [
        (SqlServerType("ntext"), False, ["old_value_unknown"]),
        (SqlServerType("datetime2", scale=7), False, ["place_cut"]),
        (SqlServerType("datetime2", scale=6), False, []),
        (SqlServerType("nvarchar", -1), False, []),
        (SqlServerType("datetime2", scale=7), True, ["computed_left_out"]),
    ],
)
def test_what_is_not_copied_of_a_column(column: SqlServerType, found: list[str], *, computed: bool) -> None:
    assert ids(column_findings(TABLE, "c", column, computed=computed)) == found


def test_the_seventh_place_can_be_had_as_text() -> None:
    [finding] = column_findings(TABLE, "at", SqlServerType("time", scale=7))
    assert finding.suggestion.endswith("column.as.text = 'shop.dbo.orders.at'")


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (0, Transient, "server_lost"),
        (3960, Transient, "server_lost"),
        (1205, Transient, "rows_locked"),
        (1222, Transient, "rows_locked"),
        (40613, Transient, "database_unready"),
        (924, Transient, "database_unready"),
        (927, Transient, "database_unready"),
        (208, OperatorNeeded, "object_missing"),
        (4060, OperatorNeeded, "database_missing"),
        (916, OperatorNeeded, "user_missing"),
        (229, OperatorNeeded, "right_missing"),
        (18456, OperatorNeeded, "login_refused"),
        (8114, OperatorNeeded, "value_refused"),
        (2628, OperatorNeeded, "value_refused"),
        (3952, OperatorNeeded, "versions_missing"),
        (40615, OperatorNeeded, "address_refused"),
        (102, OperatorNeeded, "statement_refused"),
        (3906, OperatorNeeded, "only_reads"),
    ],
)
def test_an_error_of_the_server_has_somebody_who_acts(
    number: int, kind: type[WracklineError], code: str
) -> None:
    error = explain(number, "Conversion failed when converting 'secret'\n", "read a chunk")
    assert (type(error), error.code) == (kind, f"sqlserver.{code}")
    shown = {
        "object_missing",
        "database_missing",
        "user_missing",
        "right_missing",
        "database_unready",
        "address_refused",
    }
    assert ("secret" in str(error)) == (code in shown or not number)


def test_a_check_asks_each_database_by_its_name() -> None:
    for made in (
        facts_sql.jobs("a]b"),
        facts_sql.newest_age("a]b"),
        unnumbered_sql("a]b"),
    ):
        assert "[a]]b]." in made
        assert made.count(" FROM ") == made.count(" FROM [a]]b].")
    assert "dm_server_services" in facts_sql.AGENT
    assert "max text repl size (B)" in facts_sql.REPLICATED_SIZE
