"""The preflight over sessions of the model: nothing to say of a good database, and each fault by its name."""

from collections.abc import Callable, Sequence

import pytest

from tests.fixtures.oracle_model import READER, ModelOracle
from tests.unit.producers.oracle.model_settings import LOOKING, NEEDED, connector, model, settings
from wrackline.producers.sources.oracle.check import facts_sql
from wrackline.producers.sources.oracle.check.check import check, support
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.schemas.language.findings import Finding, Support
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("SHOP1", "SHOP", "ORDERS")
PLAIN = {"database__pdb__name": ""}


def findings(made: ModelOracle, *tables: TableId, **given: str) -> Sequence[Finding]:
    values = settings(**given)
    return check(connector(made, values), values, OracleShapes(ColumnRules.of(values)), tables)


def ids(found: Sequence[Finding]) -> list[str]:
    return [one.id.removeprefix("oracle.") for one in found]


@pytest.mark.parametrize("pdb", ["SHOP1", None])
def test_of_a_good_database_nothing_is_said_and_nothing_is_written(pdb: str | None) -> None:
    made = model(pdb=pdb)
    made.run("INSERT INTO ORDERS VALUES (1, 'a')")
    assert ids(findings(made, **({} if pdb else PLAIN))) == []
    assert made.driver.connections == 0
    asked = {statement for statement in made.statements if not statement.startswith("SELECT ")}
    assert {statement.split(" SET ")[0] for statement in asked} == {"ALTER SESSION", facts_sql.END_MINING}


@pytest.mark.parametrize("right", [*NEEDED, *LOOKING, "SELECT ON SHOP.ORDERS", "FLASHBACK ON SHOP.ORDERS"])
def test_a_right_that_is_missing_is_named_by_the_statement_that_gives_it(right: str) -> None:
    made = model()
    made.revoke("C##W", right)
    found = findings(made, ORDERS)
    if right == "CREATE SESSION":
        assert ids(found) == ["login_refused"]
    elif right == "SET CONTAINER":
        assert ids(found) == ["right_missing"]
    elif right == "SELECT ON SHOP.ORDERS":  # then the table can't be seen
        assert ids(found) == ["no_tables", "table_missing", "filter.matches_nothing"]
    else:
        expected = "unseen" if right in LOOKING else "table_right_lacks" if "SHOP" in right else "right_lacks"
        assert set(ids(found)) == {expected}
        named = right.replace("FLASHBACK ON SHOP.ORDERS", 'SELECT, FLASHBACK ON "SHOP"."ORDERS"')
        named = named.replace("EXECUTE ON ", "EXECUTE ON SYS.").replace("SELECT ON V_$", "SELECT ON SYS.V_$")
        assert f'GRANT {named} TO "C##W";' in found[0].suggestion
        assert len(found) <= 2, "a view in two containers, or one that needs LOGMINING too"


def test_a_statement_that_was_printed_repairs_what_it_was_printed_for() -> None:
    made = model()
    for right in (*NEEDED[2:], *LOOKING, "FLASHBACK ON SHOP.ORDERS"):
        made.revoke("C##W", right)
    found = findings(made, ORDERS)
    assert len(found) > 8
    for one in found:
        for right in one.fixes[0]["sql"].split("GRANT ")[1:]:
            name = right.split(" TO ")[0].replace("SYS.", "").replace('"', "")
            made.grant("C##W", name.replace("SELECT, FLASHBACK", "FLASHBACK"))
    assert [one.id for one in findings(made, ORDERS)] in ([], ["oracle.table_right_lacks"])


def no_archive(made: ModelOracle) -> None:
    made.database.log_mode = "NOARCHIVELOG"


def no_minimal(made: ModelOracle) -> None:
    made.database.minimal_logging = "NO"


def standby(made: ModelOracle) -> None:
    made.database.role = "PHYSICAL STANDBY"


def only_reads(made: ModelOracle) -> None:
    made.database.open_mode = "READ ONLY"


def second_node(made: ModelOracle) -> None:
    made.add_thread()


def unlogged(made: ModelOracle) -> None:
    made.table("SHOP.ORDERS").log_groups.clear()


def lost_logs(made: ModelOracle) -> None:
    for _ in range(4):  # then the first one is not online any more
        made.run("INSERT INTO ORDERS VALUES (1, 'a')", "DELETE FROM ORDERS WHERE ID = 1")
        made.switch_log(1)
    made.lose_log(1, made.database.threads[1].logs[0].sequence)


def old_transaction(made: ModelOracle) -> None:
    made.begin().run("INSERT INTO ORDERS VALUES (9, 'open')")
    made.advance(3_700)


def cut_transaction(made: ModelOracle) -> None:
    made.begin().run("INSERT INTO ORDERS VALUES (9, 'open')")
    lost_logs(made)
    made.advance(90_000)


def long_name(made: ModelOracle) -> None:
    made.run(f"ALTER TABLE ORDERS ADD ({'C' * 31} NUMBER(3))")


def no_key_type(made: ModelOracle) -> None:
    made.run("ALTER TABLE ORDERS ADD (BODY CLOB, PRECISE TIMESTAMP(9))")


def refused_type(made: ModelOracle) -> None:
    made.run("ALTER TABLE ORDERS ADD (DOCUMENT BFILE)")


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (no_archive, ["archive_off"]),
        (no_minimal, ["supplemental_off"]),
        (standby, ["not_primary"]),
        (only_reads, ["unwritable"]),
        (second_node, ["nodes_unnamed"]),
        (unlogged, ["columns_unlogged"]),
        (lost_logs, ["retention_short"]),
        (old_transaction, ["transaction_old"]),
        (cut_transaction, ["transaction_unreached"]),
        (long_name, ["name_too_long"]),
        (no_key_type, ["read_again", "place_cut"]),
        (refused_type, ["type_refused"]),
    ],
)
def test_each_fault_is_found_and_no_other(spoil: Callable[[ModelOracle], None], found: list[str]) -> None:
    made = model()
    spoil(made)
    assert ids(findings(made, ORDERS)) == found


def test_of_a_cluster_whose_nodes_are_not_named_one_address_is_known() -> None:
    made = model()
    second_node(made)
    [finding] = findings(made, ORDERS)
    assert "that are open: 2; instances whose address is known: 1;" in finding.description


def test_the_session_of_an_old_transaction_is_named() -> None:
    made = model()
    old_transaction(made)
    [finding] = findings(made)
    number = next(one.session_number for one in made.database.open_transactions if one.xid)
    assert f"its session is {number},1 (SID, SERIAL#) of user SHOP" in finding.description
    assert f"as SYSDBA, in SHOP1: ALTER SYSTEM KILL SESSION '{number},1' IMMEDIATE;" in finding.suggestion


def test_a_pluggable_database_has_to_be_named() -> None:
    made = model()
    assert "container_unnamed" in ids(findings(made, **PLAIN))


def test_a_table_that_is_not_there_is_named() -> None:
    gone = TableId("SHOP1", "SHOP", "GONE")
    [finding] = findings(model(), gone)
    assert (finding.id, finding.table) == ("oracle.table_missing", gone)


def test_a_signal_table_has_to_be_there() -> None:
    made, values = model(), settings()
    signals = TableId("SHOP1", "SHOP", "SIGNALS")

    def found() -> list[str]:
        shapes = OracleShapes(ColumnRules.of(values))
        return ids(check(connector(made, values), values, shapes, [ORDERS], signals))

    assert found() == ["table_missing"]
    made.create_table("SHOP.SIGNALS", {"ID": "VARCHAR2(80)"}, log_all=False)
    made.grant("C##W", "SELECT ON SHOP.SIGNALS")
    assert found() == [], "the log has each column of a row that is inserted"


def test_a_table_for_flushes_of_another_owner_has_to_be_there_and_to_be_written_to() -> None:
    made, named = model(), {"log__mining__flush__table__name": "OPS.FLUSH"}
    made.create_user("OPS", "geheim", "RESOURCE")
    made.revoke("C##W", "CREATE TABLE")
    found = findings(made, ORDERS, **named)
    assert ids(found) == ["right_lacks", "right_lacks"]
    create = 'CREATE TABLE "OPS"."FLUSH" (LAST_SCN NUMBER(19));'
    assert [create in one.suggestion for one in found] == [True, False]
    made.create_table("OPS.FLUSH", {"LAST_SCN": "NUMBER(19)"}, log_all=False)
    made.grant("C##W", "SELECT ON OPS.FLUSH", "INSERT ON OPS.FLUSH")
    [one] = findings(made, ORDERS, **named)
    assert one.suggestion.endswith('GRANT SELECT, DELETE ON "OPS"."FLUSH" TO "C##W";')
    made.grant("C##W", "DELETE ON OPS.FLUSH")
    assert ids(findings(made, ORDERS, **named)) == []
    archived = ids(findings(made, ORDERS, **named, log__mining__archive__log__only__mode="true"))
    assert archived == ["archived_only"]


@pytest.mark.parametrize("more", [{}, PLAIN])
def test_the_service_of_a_pluggable_database_is_not_that_of_the_root(more: dict[str, str]) -> None:
    [finding] = findings(model(), ORDERS, database__dbname="shop1", **more)
    assert finding.id == "oracle.root_unnamed"
    assert "into the pluggable database SHOP1" in finding.description
    assert "database.pdb.name = 'SHOP1'" in finding.suggestion


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("log_archive_dest_1", []),
        ("LOG_ARCHIVE_DEST_2,LOG_ARCHIVE_DEST_1", []),  # the other one is in use behind a failover
        ("LOG_ARCHIVE_DEST_2", ["destinations_unused"]),
        ("LOG_ARCHIVE_DEST_77", ["destinations_unused"]),
    ],
)
def test_logs_are_archived_to_a_destination_that_is_named(named: str, found: list[str]) -> None:
    made = model()
    made.grant("C##W", "SELECT ON V_$ARCHIVE_DEST_STATUS")
    seen = findings(made, ORDERS, archive__destination__name=named)
    assert ids(seen) == found
    assert all("in use are: LOG_ARCHIVE_DEST_1" in one.description for one in seen)
    made.revoke("C##W", "SELECT ON V_$ARCHIVE_DEST_STATUS")
    assert ids(findings(made, ORDERS, archive__destination__name=named)) == ["right_lacks"]


def test_archived_logs_alone_need_no_table() -> None:
    made = model()
    made.revoke("C##W", "CREATE TABLE")
    only_reads(made)
    assert ids(findings(made, log__mining__archive__log__only__mode="true")) == ["archived_only"]


def test_a_table_for_flushes_that_is_there_needs_no_right_to_create_one() -> None:
    made = model()
    values = settings()
    session = connector(made, values).connect()
    session.execute("CREATE TABLE LOG_MINING_FLUSH (LAST_SCN NUMBER(19))", "make a table")
    made.revoke("C##W", "CREATE TABLE")
    assert ids(findings(made)) == []


def test_a_server_that_is_not_there_is_a_finding() -> None:
    made = model()
    made.fail("CONNECT", 12541, times=99)
    assert ids(findings(made)) == ["unreachable"]


def test_how_far_each_column_is_carried() -> None:
    made = model()
    refused_type(made)
    values = settings()
    one = connector(made, values)
    shapes = OracleShapes(ColumnRules.of(values))
    found = support(OracleCatalogue(one.connect(), one.database, shapes).facts(ORDERS), shapes)
    assert [(column.column, column.support) for column in found] == [
        ("ID", Support.YES),
        ("NAME", Support.YES),
        ("DOCUMENT", Support.NO),
    ]


def test_a_user_with_the_rights_of_debezium_s_page_has_what_a_pipeline_needs() -> None:
    made = ModelOracle(pdb="SHOP1")
    made.create_user("C##W", "geheim", *(right for right in READER if right != "SELECT ANY DICTIONARY"))
    made.create_table("SHOP.ORDERS", {"ID": "NUMBER(10)"}, key=("ID",))
    assert ids(findings(made, ORDERS)) == []
