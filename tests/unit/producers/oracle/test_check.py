"""The preflight's rules: each finding where it applies, with statements that repair."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from wrackline.producers.sources.oracle import __file__ as oracle_source
from wrackline.producers.sources.oracle.check import grants
from wrackline.producers.sources.oracle.check.check_server import (
    ArchivedRecord,
    OldestTransaction,
    OnlineRecord,
    OracleDatabaseFacts,
    OracleDatabaseRow,
    RecoveryArea,
    area_findings,
    column_findings,
    database_findings,
    log_findings,
    oldest_scn,
    right_findings,
    transaction_findings,
    unlogged_finding,
)
from wrackline.producers.sources.oracle.check.grants import (
    ContainerNames,
    looking_rights,
    needed_rights,
    table_rights,
)
from wrackline.producers.sources.oracle.discover.facts import OracleColumnFacts, OracleType
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.tables.table import TableId


def banner(name: str, version: str) -> str:
    return f"Oracle Database {name} Enterprise Edition Release {version} - Production"


PLAIN, PDB = ContainerNames("SHOP"), ContainerNames("Shop1", "Shop1")
ROW = OracleDatabaseRow("ARCHIVELOG", "PRIMARY", "READ WRITE", "NO", "YES", 1, 77)
OWN = ROW._replace(cdb="YES", minimal="NO")
FACTS = OracleDatabaseFacts(banner("19c", "19.0.0.0.0"), ROW, ROW, threads=1, nodes=0, archived_only=False)
NOW = datetime.fromisoformat("2026-11-29T22:00:00")
TABLE = TableId("SHOP", "APP", "ORDERS")
_OF_HINTS = {"PDBS", "VERSION"}


def ids(findings: Iterable[Finding]) -> list[str]:
    return [one.id.removeprefix("oracle.") for one in findings]


def ago(**time: float) -> datetime:
    return NOW - timedelta(**time)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"banner": "Oracle Database 23ai Free Release 23.0.0.0.0 - Develop, Learn, and Run for Free"}, []),
        ({"banner": banner("18c", "18.0.0.0.0")}, ["version_old"]),
        ({"banner": ""}, []),
        ({"root": ROW._replace(role="PHYSICAL STANDBY")}, ["not_primary"]),
        ({"root": ROW._replace(log_mode="NOARCHIVELOG")}, ["archive_off"]),
        ({"root": ROW._replace(minimal="NO"), "own": ROW._replace(minimal="NO")}, ["supplemental_off"]),
        ({"root": ROW._replace(minimal="IMPLICIT"), "own": None}, []),
        ({"root": ROW._replace(minimal="NO"), "own": None}, ["supplemental_off"]),
        ({"root": ROW._replace(open_mode="READ ONLY WITH APPLY")}, ["unwritable"]),
        ({"own": ROW._replace(open_mode="READ ONLY")}, ["unwritable"]),
        ({"own": ROW._replace(open_mode="READ ONLY"), "archived_only": True}, ["archived_only"]),
        ({"own": ROW._replace(cdb="YES")}, ["container_unnamed"]),
        ({"root": None, "own": None}, []),  # a right that is missing is a finding of its own
        ({"threads": 2}, ["nodes_unnamed"]),
        ({"threads": 2, "nodes": 2}, []),
        ({"threads": 2, "archived_only": True}, ["nodes_unnamed", "archived_only"]),
    ],
)
def test_what_a_database_lacks(change: dict[str, object], found: list[str]) -> None:
    assert ids(database_findings(replace(FACTS, **change), PLAIN)) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),  # the pluggable database needs no minimal logging of its own
        ({"root": ROW._replace(minimal="NO"), "own": OWN._replace(minimal="YES")}, []),
        ({"own": OWN._replace(open_mode="MOUNTED")}, ["database_closed"]),
        ({"root": OWN._replace(container="Shop1", minimal="YES")}, ["root_unnamed"]),
    ],
)
def test_what_a_pluggable_database_lacks(change: dict[str, object], found: list[str]) -> None:
    facts = replace(FACTS, **{"root": ROW._replace(cdb="YES"), "own": OWN} | change)  # type: ignore[arg-type]
    assert ids(database_findings(facts, PDB)) == found


def test_a_statement_says_in_which_container_it_is_run() -> None:
    off = replace(FACTS, root=ROW._replace(minimal="NO"), own=OWN)
    [finding] = database_findings(off, PDB)
    assert finding.suggestion.startswith("as SYSDBA, in CDB$ROOT: ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;")
    [finding] = database_findings(replace(off, own=ROW._replace(minimal="NO")), PLAIN)
    assert finding.suggestion.startswith("as SYSDBA: ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;")


def archived(sequence: int, ended: datetime, *, kept: bool = True, hours: float = 2) -> ArchivedRecord:
    return ArchivedRecord(1, sequence, 100 * sequence, ended - timedelta(hours=hours), ended, kept)


ONLINE = [OnlineRecord(1, 9, 900, 200 << 20), OnlineRecord(1, 10, 1000, 100 << 20)]


@pytest.mark.parametrize(
    ("logs", "found"),
    [
        ([], []),
        ([archived(1, ago(hours=3))], []),
        ([archived(1, ago(hours=25), kept=False), archived(2, ago(hours=3))], []),
        ([archived(1, ago(hours=23), kept=False), archived(2, ago(hours=3))], ["retention_short"]),
        ([archived(1, ago(hours=24), kept=False), archived(2, ago(hours=3))], []),
        ([archived(n, ago(hours=31 - 8 * n), kept=False) for n in (0, 1)], ["retention_short"]),
        ([archived(n, ago(minutes=54), hours=0.1) for n in range(13)], []),  # an hour ago
        # one of two copies is deleted
        ([archived(1, ago(hours=23), kept=False), archived(1, ago(hours=23))], []),
        ([archived(n, ago(minutes=4 * n), hours=0.1) for n in range(12)], []),
        ([archived(n, ago(minutes=4 * n), hours=0.1) for n in range(13)], ["logs_small"]),
        ([archived(7, ago(minutes=4 * n), hours=0.1) for n in range(13)], []),  # copies of one log
    ],
)
def test_what_the_log_lacks(logs: list[ArchivedRecord], found: list[str]) -> None:
    assert ids(log_findings(logs, ONLINE, NOW, PLAIN)) == found


def test_a_log_should_last_a_quarter_of_an_hour() -> None:
    logs = [archived(n, ago(minutes=3 * n), hours=0.1) for n in range(16)]
    [finding] = log_findings(logs, ONLINE, NOW, PDB)
    assert "16 logs within the last hour; its smallest has 100 MiB" in finding.description
    assert "as SYSDBA, in CDB$ROOT: ALTER DATABASE ADD LOGFILE THREAD 1 SIZE 400M;" in finding.suggestion


def test_the_oldest_log_that_is_kept() -> None:
    assert oldest_scn([], []) is None
    assert oldest_scn([], ONLINE) == 900
    assert oldest_scn([archived(2, NOW, kept=False), archived(3, NOW), archived(4, NOW)], ONLINE) == 300


@pytest.mark.parametrize(
    ("oldest", "kept_from", "found"),
    [
        (None, 50, []),
        (OldestTransaction(60, ago(minutes=59), "7,9", "APP", "sqlplus"), 50, []),
        (OldestTransaction(60, ago(minutes=60), "7,9", "APP", "sqlplus"), 50, ["transaction_old"]),
        (OldestTransaction(60, ago(minutes=60), "7,9", "APP", "sqlplus"), None, ["transaction_old"]),
        (OldestTransaction(50, ago(minutes=60), "7,9", "APP", "sqlplus"), 50, ["transaction_old"]),
        (OldestTransaction(49, ago(minutes=60), "7,9", "APP", "sqlplus"), 50, ["transaction_unreached"]),
    ],
)
def test_a_transaction_that_is_open_for_long(
    oldest: OldestTransaction | None, kept_from: int | None, found: list[str]
) -> None:
    made = list(transaction_findings(oldest, kept_from, NOW, PDB))
    assert ids(made) == found
    for finding in made:
        assert finding.suggestion.endswith("as SYSDBA, in Shop1: ALTER SYSTEM KILL SESSION '7,9' IMMEDIATE;")
        assert "7,9 (SID, SERIAL#) of user APP, program sqlplus" in finding.description


@pytest.mark.parametrize(
    ("area", "found"),
    [
        (None, []),
        (RecoveryArea(0, 0, 0), []),  # there is none
        (RecoveryArea(10 << 30, 85 << 30 >> 4, 0), []),
        (RecoveryArea(100, 85, 0), []),
        (RecoveryArea(100, 86, 0), ["recovery_area_full"]),
        (RecoveryArea(100, 99, 20), []),
    ],
)
def test_a_recovery_area_that_is_nearly_full(area: RecoveryArea | None, found: list[str]) -> None:
    assert ids(area_findings(area, PLAIN)) == found


def test_a_larger_recovery_area_is_larger() -> None:
    [finding] = area_findings(RecoveryArea(10 << 30, 9 << 30, 0), PLAIN)
    assert "DB_RECOVERY_FILE_DEST_SIZE = 15G" in finding.suggestion
    assert finding.fixes[0]["undo"].endswith("DB_RECOVERY_FILE_DEST_SIZE = 10G SCOPE = BOTH;")


def test_each_right_is_granted_by_a_statement_in_its_container() -> None:
    statements = [right.statement for right in needed_rights("C##W", PDB, creates_in="users")]
    root, own = "ALTER SESSION SET CONTAINER = CDB$ROOT; ", 'ALTER SESSION SET CONTAINER = "Shop1"; '
    assert statements == [
        f'{root}GRANT LOGMINING TO "C##W";',
        f'{root}GRANT EXECUTE ON SYS.DBMS_LOGMNR TO "C##W";',
        *(f'{root}GRANT SELECT ON SYS.V_${view} TO "C##W";' for view in grants.MINED_VIEWS),
        *(f'{own}GRANT SELECT ON SYS.V_${view} TO "C##W";' for view in grants.OWN_VIEWS),
        f'{own}GRANT CREATE TABLE TO "C##W";',
        f'{own}ALTER USER "C##W" QUOTA 10M ON "users";',
    ]
    plain = [right.statement for right in needed_rights("W", PLAIN, creates_in=None)]
    assert len(plain) == 2 + len({*grants.MINED_VIEWS, *grants.OWN_VIEWS})
    assert not any("CONTAINER" in statement or "CREATE" in statement for statement in plain)
    some = [right.statement for right in needed_rights("W", PLAIN, creates_in=None, destinations=True)]
    assert set(some) - set(plain) == {'GRANT SELECT ON SYS.V_$ARCHIVE_DEST_STATUS TO "W";'}


def granted(block: str) -> set[tuple[str, str]]:
    """The rights that a block of the page gives, each with the container where it does."""
    found, container = set[tuple[str, str]](), "root"
    for line in block.splitlines():
        if line.startswith("ALTER SESSION"):
            container = "root" if "CDB$ROOT" in line else "own"
        if line.startswith("GRANT"):
            rights, _, who = line.removeprefix("GRANT ").replace("SYS.", "").partition(" TO ")
            names = [rights] if " ON " in rights else rights.split(", ")
            places = ["root", "own"] if "CONTAINER = ALL" in who else [container]
            found |= {(where, name) for where in places for name in names}
    return found


@pytest.mark.parametrize(("block", "place"), [(0, PLAIN), (1, PDB)])
def test_the_page_grants_what_is_asked_for_and_no_more(block: int, place: ContainerNames) -> None:
    page = (Path(__file__).parents[4] / "docs/oracle.md").read_text().split("## User and grants")[1]
    given = granted(re.findall(r"```sql\n(.*?)```", page, re.DOTALL)[block])
    asked = {
        ("root" if right.in_root or place is PLAIN else "own", found[1])
        for right in needed_rights("W", place, creates_in="users")
        if (found := re.search("GRANT (.*) TO", right.statement.replace("SYS.", "")))
    }
    to_log_in = {"CREATE SESSION", "SET CONTAINER"}
    of_tables = "SELECT, FLASHBACK ON shop.orders"
    assert {one for one in given if one[1] not in {*to_log_in, of_tables}} == asked
    assert of_tables in {name for _, name in given}


def test_a_right_that_was_not_proved_is_found() -> None:
    needed, looking = list(needed_rights("W", PLAIN, creates_in=None)), list(looking_rights("W", PLAIN))
    tables = list(table_rights("W", PLAIN, [TABLE], 7))
    proved = dict.fromkeys([*needed, *looking, *tables], True)
    assert list(right_findings(proved)) == []
    found = list(right_findings(proved | {needed[0]: False, looking[0]: False, tables[0]: False}))
    assert ids(found) == ["right_lacks", "unseen", "table_right_lacks"]
    assert [one.severity for one in found] == [Severity.ERROR, Severity.INFO, Severity.ERROR]
    assert found[0].suggestion == 'as SYSDBA: GRANT LOGMINING TO "W";'
    assert found[1].fixes[0]["sql"] == 'GRANT SELECT ON SYS.V_$SESSION TO "W";'
    assert found[2].table == TABLE
    assert found[2].suggestion.endswith('GRANT SELECT, FLASHBACK ON "APP"."ORDERS" TO "W";')
    assert tables[0].trial == 'SELECT 1 FROM "APP"."ORDERS" AS OF SCN 7 WHERE 1 = 0'


def test_each_view_that_the_source_reads_has_its_grant() -> None:
    """No statement of the source reads a view that the preflight does not ask for."""
    folder = Path(oracle_source).parent
    read = {
        name
        for file in folder.rglob("*.py")
        if file.parent.name != "check" and file.name != "server_errors.py"  # whose hints name others
        for line in file.read_text().splitlines()
        for name in re.findall(r"(?:FROM|JOIN) V\$([A-Z_]+)", line)
    }
    wanted = {*grants.MINED_VIEWS, *grants.OWN_VIEWS, grants.DESTINATIONS}
    assert read - _OF_HINTS <= {*wanted, *grants.LOOKED_AT_ROOT}  # a trial looks, and does without
    looked = {
        name
        for file in (folder / "check").glob("*.py")
        for name in re.findall(r"(?:FROM|JOIN) V\$([A-Z_]+)", file.read_text())
        if name not in _OF_HINTS
    }
    assert looked <= {*wanted, *grants.LOOKED_AT, *grants.LOOKED_AT_ROOT}


def test_a_log_without_all_columns_is_repaired_in_the_table_s_container() -> None:
    finding = unlogged_finding(TABLE, PDB)
    assert (finding.id, finding.severity) == ("oracle.columns_unlogged", Severity.ERROR)
    enter = 'ALTER SESSION SET CONTAINER = "Shop1"; '
    added = 'ALTER TABLE "APP"."ORDERS" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;'
    assert finding.fixes[0]["sql"] == enter + added
    assert added in finding.suggestion


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("NUMBER", {}, []),
        ("NUMBER", {"virtual": True}, ["virtual_left_out"]),
        ("CLOB", {}, ["read_again"]),
        ("BINARY_DOUBLE", {}, ["read_again"]),
        ("CLOB", {"keyed": False}, ["key_needed"]),
        ("VARCHAR2", {"length": 4000}, []),
        ("VARCHAR2", {"length": 4001}, ["read_again"]),
        ("TIMESTAMP(9)", {}, ["place_cut"]),
        ("TIMESTAMP(9)", {"as_text": True}, []),
        ("TIMESTAMP(6)", {}, []),
    ],
)
def test_what_is_not_copied_of_a_column(name: str, change: dict[str, int], found: list[str]) -> None:
    kind = OracleType(name, change.get("length"))
    column = OracleColumnFacts("C", 1, kind, nullable=True, virtual=bool(change.get("virtual")))
    as_text, keyed = bool(change.get("as_text")), bool(change.get("keyed", True))
    assert ids(column_findings(TABLE, column, as_text=as_text, keyed=keyed)) == found


def test_all_places_of_a_time_can_be_had_as_text() -> None:
    column = OracleColumnFacts("AT", 1, OracleType("TIMESTAMP(9)"), nullable=True)
    [finding] = column_findings(TABLE, column, as_text=False, keyed=True)
    assert finding.suggestion.endswith("column.as.text = 'SHOP.APP.ORDERS.AT'")
