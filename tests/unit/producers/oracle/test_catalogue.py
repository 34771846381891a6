"""The catalogue: which tables there are, what each is, and how often the server is asked."""

from collections.abc import Callable

import pytest

from tests.unit.producers.oracle.dictionary_views import NOW, OLD, DictionaryViews
from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.sources.oracle.discover import catalogue_sql
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.facts import (
    OracleColumnFacts,
    OracleTableFacts,
    OracleType,
)
from wrackline.producers.sources.oracle.discover.shapes import (
    OracleShapes,
    column_identities,
    filled_columns,
)
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Plain
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import KeyKind, TableId

ORDERS = TableId("DB", "SHOP", "ORDERS")
NEVER_NULL = {"NULLABLE": "N"}
TEXT = {"DATA_TYPE": "VARCHAR2", "CHAR_LENGTH": 20, "DATA_LENGTH": 80}


def shapes(**settings: str) -> OracleShapes:
    return OracleShapes(ColumnRules.of({name.replace("_", "."): value for name, value in settings.items()}))


def catalogue(views: DictionaryViews, **settings: str) -> OracleCatalogue:
    return OracleCatalogue(views.session, "DB", shapes(**settings))


def every(_: TableId) -> bool:
    return True


def named(*names: str) -> Callable[[TableId], bool]:
    return lambda table: table.name in names


@pytest.fixture
def views() -> DictionaryViews:
    made = DictionaryViews()
    made.table("ORDERS", 70, ID=NEVER_NULL, NAME=TEXT)
    made.key("ORDERS", "ID")
    return made


def test_a_table_has_its_columns_its_key_and_its_version(views: DictionaryViews) -> None:
    views.put("ALL_LOG_GROUPS", TABLE_NAME="ORDERS", LOG_GROUP_TYPE="ALL COLUMN LOGGING")
    assert catalogue(views).facts(ORDERS) == OracleTableFacts(
        ORDERS,
        70,
        (
            OracleColumnFacts("ID", 1, OracleType("NUMBER"), nullable=False),
            OracleColumnFacts("NAME", 2, OracleType("VARCHAR2", 20), nullable=True),
        ),
        ("ID",),
        logs_all=True,
        version=OLD,
    )


def test_types_have_what_distinguishes_them(views: DictionaryViews) -> None:
    views.table(
        "T",
        71,
        N={"DATA_PRECISION": 10, "DATA_SCALE": 2},
        R={"DATA_TYPE": "RAW", "DATA_LENGTH": 16},
        X={"DATA_TYPE": "XMLTYPE", "DATA_TYPE_OWNER": "SYS", "VIRTUAL_COLUMN": "YES"},
        M={"DATA_TYPE": "TIMESTAMP(9)", "DATA_SCALE": 9, "DEFAULT_LENGTH": 12},
    )
    columns = catalogue(views).facts(TableId("DB", "SHOP", "T")).columns
    assert [column.type for column in columns] == [
        OracleType("NUMBER", None, 10, 2),
        OracleType("RAW", 16),
        OracleType("XMLTYPE", owner="SYS"),
        OracleType("TIMESTAMP(9)", None, None, 9),
    ]
    assert [column.virtual for column in columns] == [False] * 4, "a type of objects is stored"
    assert [column.default for column in columns] == [False, False, False, True]


def test_parts_of_others_and_the_servers_own_tables_are_not_listed(views: DictionaryViews) -> None:
    for place, (name, facts) in enumerate(
        {
            "BIN$abc==$0": {},
            "MLOG$_ORDERS": {},
            "RUPD$_ORDERS": {"TEMPORARY": "Y"},
            "NESTED": {"NESTED": "YES"},
            "SYS_IOT_OVER_70": {"IOT_NAME": "ORDERS"},
            "DR$I": {"SECONDARY": "Y"},
            "OBJ$": {"OWNER": "SYS"},
        }.items()
    ):
        views.put("ALL_TABLES", TABLE_NAME=name, **facts)
        views.put("ALL_OBJECTS", OBJECT_NAME=name, OBJECT_ID=100 + place, OWNER=facts.get("OWNER", "SHOP"))
    views.put("ALL_OBJECTS", OBJECT_NAME="ORDERS", OBJECT_ID=99, OBJECT_TYPE="MATERIALIZED VIEW")
    assert catalogue(views).tables() == [ORDERS]
    assert catalogue(views).look(every).names == {70: ORDERS}


def test_tables_whose_rows_are_not_in_the_log_are_left_out_with_a_reason(views: DictionaryViews) -> None:
    for name, number in (("TEMPORARY", 71), ("EXTERNAL", 72), ("OTHER", 73)):
        views.table(name, number, ID=NEVER_NULL)
    views.change("ALL_TABLES", "TABLE_NAME = 'TEMPORARY'", TEMPORARY="Y")
    views.put("ALL_EXTERNAL_TABLES", TABLE_NAME="EXTERNAL")
    found = catalogue(views)
    assert [table.name for table in found.tables()] == ["ORDERS", "OTHER"]
    left_out = found.left_out(named("ORDERS", "TEMPORARY", "EXTERNAL"))
    assert {table.name: reason for table, reason in left_out.items()} == {
        "TEMPORARY": UncapturedReason.UNLOGGED,
        "EXTERNAL": UncapturedReason.UNLOGGED,
        "OTHER": UncapturedReason.FILTERS,
    }
    assert [facts.id.name for facts in found.look(every).tables.values()] == ["ORDERS", "OTHER"]


def test_the_number_of_statements_does_not_depend_on_that_of_tables(views: DictionaryViews) -> None:
    few = DictionaryViews()
    few.table("A", 1, ID=NEVER_NULL)
    catalogue(few).look(every)
    for number in range(100, 100 + 2 * catalogue_sql.SINGLY):
        views.table(f"T{number}", number, ID=NEVER_NULL)
    look = catalogue(views).look(every)
    assert len(look.tables) == 1 + 2 * catalogue_sql.SINGLY
    assert len(views.asked) == len(few.asked) == 6
    assert max(map(len, views.asked)) < 1500, "an owner of many tables is named alone"
    assert {facts.id.name: facts.primary for facts in look.tables.values()}["ORDERS"] == ("ID",)


def test_facts_are_asked_for_again_only_after_a_ddl(views: DictionaryViews) -> None:
    views.table("OTHER", 71, ID=NEVER_NULL)
    found = catalogue(views)
    first = found.look(every)
    views.asked.clear()
    assert found.look(every) == first
    assert found.facts(ORDERS) == first.tables[70]
    assert len(views.asked) == 2
    views.put("ALL_TAB_COLS", TABLE_NAME="ORDERS", COLUMN_NAME="ADDED", INTERNAL_COLUMN_ID=3)
    views.change("ALL_OBJECTS", "OBJECT_ID = 70", LAST_DDL_TIME="2026-02-01 00:00:00")
    assert [column.name for column in found.look(every).tables[70].columns] == ["ID", "NAME", "ADDED"]
    assert "OTHER" not in "".join(views.asked[3:]), "its version is what it was"


def test_facts_of_a_table_that_was_altered_just_now_are_not_kept(views: DictionaryViews) -> None:
    views.change("ALL_OBJECTS", "OBJECT_ID = 70", LAST_DDL_TIME=NOW)
    found = catalogue(views)
    found.look(every)
    views.put("ALL_TAB_COLS", TABLE_NAME="ORDERS", COLUMN_NAME="ADDED", INTERNAL_COLUMN_ID=3)
    assert [column.name for column in found.look(every).tables[70].columns] == ["ID", "NAME", "ADDED"]


def test_a_renamed_or_replaced_table_is_not_the_one_that_was_kept(views: DictionaryViews) -> None:
    found = catalogue(views)
    found.look(every)
    views.change("ALL_OBJECTS", "OBJECT_ID = 70", OBJECT_ID=80)
    assert list(found.look(every).tables) == [80]
    for view, column in (("ALL_TABLES", "TABLE_NAME"), ("ALL_OBJECTS", "OBJECT_NAME")):
        views.change(view, f"{column} = 'ORDERS'", **{column: "SALES"})
    views.change("ALL_TAB_COLS", "TABLE_NAME = 'ORDERS'", TABLE_NAME="SALES")
    assert found.look(every).tables[80].id.name == "SALES"


def test_a_table_that_goes_while_it_is_described_is_not_there(views: DictionaryViews) -> None:
    views.remove("ALL_TAB_COLS", "TABLE_NAME = 'ORDERS'")
    assert catalogue(views).look(every).tables == {}
    for table in (ORDERS, TableId("DB", "SHOP", "NEVER"), TableId("OTHER", "SHOP", "ORDERS")):
        with pytest.raises(OperatorNeeded) as caught:
            catalogue(views).facts(table)
        assert caught.value.code == "oracle.table_missing"


def test_kept_tables_are_looked_up_together_and_stay_as_they_were(views: DictionaryViews) -> None:
    found = catalogue(views)
    found.keep([ORDERS])
    views.asked.clear()
    views.put("ALL_TAB_COLS", TABLE_NAME="ORDERS", COLUMN_NAME="ADDED", INTERNAL_COLUMN_ID=3)
    views.change("ALL_OBJECTS", "OBJECT_ID = 70", LAST_DDL_TIME=NOW)
    assert [column.name for column in found.describe(ORDERS).table.columns] == ["ID", "NAME"]
    assert found.described(ORDERS).version == OLD
    assert views.asked == []


def test_the_parts_of_captured_tables_are_known_by_their_numbers(views: DictionaryViews) -> None:
    views.table("OTHER", 71, ID=NEVER_NULL)
    views.change("ALL_TABLES", "TRUE", PARTITIONED="YES")
    for name, number, kind in (
        ("ORDERS", 700, "TABLE PARTITION"),
        ("ORDERS", 701, "TABLE SUBPARTITION"),
        ("ORDERS", 702, "INDEX PARTITION"),
        ("OTHER", 710, "TABLE PARTITION"),
    ):
        views.put("ALL_OBJECTS", OBJECT_NAME=name, OBJECT_ID=number, OBJECT_TYPE=kind)
    assert catalogue(views).look(named("ORDERS")).parts == {700: 70, 701: 70}


def test_sizes_are_those_of_the_statistics(views: DictionaryViews) -> None:
    views.table("NEW", 71, ID=NEVER_NULL)
    views.change("ALL_TABLES", "TABLE_NAME = 'ORDERS'", NUM_ROWS=1000, AVG_ROW_LEN=50)
    found = catalogue(views)
    assert found.sizes() == {
        ORDERS: TableSize(1000, 50_000),
        TableId("DB", "SHOP", "NEW"): TableSize(None, None),
    }
    assert found.rows(ORDERS) == 1000


def test_the_database_can_log_all_columns_of_every_table(views: DictionaryViews) -> None:
    views.change("V$DATABASE", "TRUE", SUPPLEMENTAL_LOG_DATA_ALL="NO")
    with pytest.raises(OperatorNeeded) as unlogged:
        catalogue(views).describe(ORDERS)
    assert unlogged.value.code == "oracle.columns_unlogged"
    views.put("ALL_LOG_GROUPS", TABLE_NAME="ORDERS", LOG_GROUP_TYPE="PRIMARY KEY LOGGING")
    assert not catalogue(views).facts(ORDERS).logs_all
    views.change("V$DATABASE", "TRUE", SUPPLEMENTAL_LOG_DATA_ALL="YES")
    assert catalogue(views).facts(ORDERS).logs_all


def key_of(views: DictionaryViews, **settings: str) -> tuple[tuple[str, ...], KeyKind]:
    shape = catalogue(views, **settings).describe(ORDERS).table
    return shape.key, shape.key_kind


def test_the_key_is_the_primary_key_or_a_unique_index_or_nothing(views: DictionaryViews) -> None:
    assert key_of(views) == (("ID",), KeyKind.PRIMARY)
    chosen = "SHOP.ORDERS:NAME"
    assert key_of(views, message_key_columns=chosen) == (("NAME",), KeyKind.CUSTOM)
    views.change("ALL_CONSTRAINTS", "TRUE", VALIDATED="NOT VALIDATED")
    assert key_of(views) == ((), KeyKind.NONE)
    views.unique("ORDERS", "A_MAY_BE_NULL", "NAME")
    views.unique("ORDERS", "B_EXPRESSION", "ID", "SYS_NC00003$")
    views.unique("ORDERS", "C_BROKEN", "ID", STATUS="UNUSABLE")
    views.unique("ORDERS", "D_NOT_UNIQUE", "ID", UNIQUENESS="NONUNIQUE")
    assert key_of(views) == ((), KeyKind.NONE)
    views.unique("ORDERS", "E_UNIQUE", "ID")
    assert key_of(views) == (("ID",), KeyKind.UNIQUE)


def test_columns_come_in_the_key_s_order(views: DictionaryViews) -> None:
    views.table("ORDER_LINES", 71, A=NEVER_NULL, B=NEVER_NULL)
    views.key("ORDER_LINES", "B", "A")
    assert catalogue(views).describe(TableId("DB", "SHOP", "ORDER_LINES")).table.key == ("B", "A")


HIDDEN = {"HIDDEN_COLUMN": "YES"}


def test_hidden_columns_are_read_over_and_virtual_ones_are_not_in_the_log(views: DictionaryViews) -> None:
    views.table(
        "T",
        71,
        ID=NEVER_NULL,
        GUARD={**HIDDEN, "USER_GENERATED": "NO", "DATA_TYPE": "RAW", "DATA_LENGTH": 126},
        ORA_ARCHIVE_STATE={**HIDDEN, **TEXT},
        EXPRESSION={**HIDDEN, "USER_GENERATED": "NO", "VIRTUAL_COLUMN": "YES"},
        TOTAL={"VIRTUAL_COLUMN": "YES"},
        INVISIBLE=HIDDEN,
    )
    found = catalogue(views)
    shape = found.describe(TableId("DB", "SHOP", "T"))
    assert [column.name for column in shape.table.columns] == ["ID", "INVISIBLE"]
    names = [column.name for column in shape.source.columns]
    assert names == ["ID", "INVISIBLE", "GUARD", "ORA_ARCHIVE_STATE"], "the log shows them"
    assert shape.actions == (Plain.KEEP, Plain.KEEP, Plain.DROP, Plain.DROP)
    types = found.shapes.types(found.described(shape.table.id), shape)
    assert [one.name for one in types] == ["NUMBER", "NUMBER", "RAW", "VARCHAR2"]


def test_a_column_s_policy_for_values_that_do_not_fit_outlives_hidden_columns(views: DictionaryViews) -> None:
    views.table("T", 71, ID=NEVER_NULL, GUARD={**HIDDEN, "USER_GENERATED": "NO"})
    found = catalogue(views, value_unfit="letter")
    assert len(found.describe(TableId("DB", "SHOP", "T")).on_unfit) == 1


def test_a_column_that_is_left_out_may_have_any_type(views: DictionaryViews) -> None:
    views.table("T", 71, ID=NEVER_NULL, OLD={"DATA_TYPE": "LONG"})
    with pytest.raises(OperatorNeeded) as caught:
        catalogue(views).describe(TableId("DB", "SHOP", "T"))
    assert caught.value.code == "oracle.type_refused"
    rules = ColumnRules.of({"column.exclude.list": ("SHOP.T.OLD",)})
    shape = OracleCatalogue(views.session, "DB", OracleShapes(rules)).describe(TableId("DB", "SHOP", "T"))
    assert [column.name for column in shape.table.columns] == ["ID"]
    assert shape.actions == (Plain.KEEP, Plain.DROP)


def test_a_name_that_log_miner_does_not_know_is_refused(views: DictionaryViews) -> None:
    name = "É" * 15
    views.table(name, 71, **{name: NEVER_NULL})
    assert catalogue(views).describe(TableId("DB", "SHOP", name)).table.columns[0].name == name
    views.table("LONG", 72, **{f"{name}x": NEVER_NULL})
    views.table(f"{name}x", 73, ID=NEVER_NULL)
    for table in ("LONG", f"{name}x"):
        with pytest.raises(OperatorNeeded) as caught:
            catalogue(views).describe(TableId("DB", "SHOP", table))
        assert caught.value.code == "oracle.name_too_long"


def test_a_column_is_its_name_because_oracle_numbers_columns_again() -> None:
    before = column_identities(["A", "B", "C"])
    assert column_identities(["C", "A"]) == {name: before[name] for name in ("A", "C")}
    assert len({*before.values(), *column_identities(["a"]).values()}) == 4
    assert all(0 <= number < 1 << 31 for number in before.values())


def test_two_names_with_one_number_are_two_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "wrackline.producers.sources.oracle.discover.shapes._number", lambda text: text.count("\0")
    )
    assert column_identities(["B", "A"]) == {"A": 0, "B": 1}


def table_of(*names: str, default: str = "") -> OracleTableFacts:
    number = OracleType("NUMBER")
    return OracleTableFacts(
        ORDERS,
        70,
        tuple(
            OracleColumnFacts(name, place, number, nullable=True, default=name == default)
            for place, name in enumerate(names, 1)
        ),
    )


def test_a_column_that_came_may_be_one_that_was_renamed() -> None:
    numbers = column_identities(["A", "B", "C"])
    assert filled_columns(table_of("A", "B"), table_of("A")) == frozenset()
    assert filled_columns(table_of("A", "B", default="B"), table_of("A")) == {numbers["B"]}
    assert filled_columns(table_of("A", "C"), table_of("A", "B")) == {numbers["A"], numbers["C"]}
    assert filled_columns(table_of("A", "C"), None) == {numbers["A"], numbers["C"]}
