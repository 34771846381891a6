"""BigQuery's texts as they are reviewed, and what its documentation refuses, asked of each of them.

To write the file again: WRACKLINE_WRITE_GOLDEN=1 .venv/bin/pytest tests/unit/consumers/bigquery
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from sqlglot import exp, parse, parse_one
from sqlglot.expressions import Command

from wrackline.consumers.contract.identifiers import target_name
from wrackline.consumers.contract.plan import (
    Applied,
    Deletes,
    KeyColumnRange,
    MergePlan,
    TableMode,
    plan_merge,
)
from wrackline.consumers.staged.merge import StagedMerge, staged_columns
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.service import StageTable
from wrackline.consumers.staged.shape import (
    StagedShape,
    drop_column,
    empty_column,
    first_shape,
    reshape_columns,
)
from wrackline.consumers.staged.state import StagedState, first_state, state_move, state_query
from wrackline.consumers.staged.view import create_view, pairs, settle
from wrackline.consumers.targets.bigquery import limits
from wrackline.consumers.targets.bigquery.dialect import DIALECT, script
from wrackline.consumers.targets.bigquery.partitions import (
    KeyPartitions,
    clusters,
    create_stage,
    create_table,
)
from wrackline.consumers.targets.bigquery.types import COLUMNS as NAMES
from wrackline.consumers.targets.bigquery.types import RELATIONS, converted, image, physical, restored
from wrackline.schemas.tables import evolution
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import HERE, seq

GOLDEN = Path(__file__).parents[3] / "golden/bigquery/statements.sql"
LAYOUT = StagedLayout("{schema}", "wrackline", RELATIONS)
MOST_COLUMNS = 10_000  # of a table
COLUMNS = (
    Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
    Column("day", 2, ColumnType(Kind.DATE, "date"), nullable=False),
    Column("price", 3, ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)),
    Column("la`bel\\", 4, ColumnType(Kind.STRING, "text")),
    Column("weight", 5, ColumnType(Kind.FLOAT64, "float8")),
    Column("at", 6, ColumnType(Kind.TIMESTAMP_MICROS, "timestamp")),
    Column("seen", 7, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")),
    Column("clock", 8, ColumnType(Kind.TIME_MICROS, "time")),
    Column("big", 9, ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10)),
)
ORDERS = TableSchema(TableId("db", "public", "orders"), COLUMNS, ("id", "day"), KeyKind.PRIMARY)
PLACE = LAYOUT.place(ORDERS.id)
STAGED = PLACE.stage("__0123456789abcdef0123456789abcdef")
TABLE, STAGE = DIALECT.path(PLACE.table), DIALECT.path(STAGED)
VIEW, STATE = DIALECT.path(PLACE.view), DIALECT.path(PLACE.state)
WITHIN = {
    "id": KeyColumnRange(41_000, 43_999),
    "day": KeyColumnRange(date(2026, 1, 1), date(2026, 1, 31)),
}
BY_KEY = KeyPartitions(1_000_000)


def planned(mode: TableMode = TableMode.UPSERT, table: TableSchema = ORDERS, **more: object) -> MergePlan:
    plan = plan_merge(table, DIALECT.identifiers, Applied({HERE: 9}), mode=mode)
    return replace(plan, **more)  # type: ignore[arg-type]  # the names are the plan's


def merge(plan: MergePlan, floor: str | None = None) -> StagedMerge:
    return StagedMerge(plan, first_shape(plan, DIALECT), DIALECT, TABLE, STAGE, floor)


def keyed(*key: str, columns: tuple[Column, ...] = COLUMNS) -> StagedShape:
    kind = KeyKind.PRIMARY if key else KeyKind.NONE
    return first_shape(planned(table=replace(ORDERS, columns=columns, key=key, key_kind=kind)), DIALECT)


def texts() -> dict[str, str]:
    """Every kind of statement, by what it is."""
    whole = planned(lacking=frozenset(), within=WITHIN)
    partial = planned(lacking=frozenset({"price", "la_bel_"}), deletes=Deletes.HARD, within=WITHIN)
    late = planned(lacking=frozenset({"price"}), told_late=True, lacking_is_null=True, within=WITHIN)
    append, bag = planned(TableMode.APPEND), keyed()
    load = merge(replace(whole, loads=True))
    shape = first_shape(whole, DIALECT)
    state = StagedState(ORDERS.id, shape)
    after = state.then(applied=Applied({HERE: 9}, seq(3)))
    changed = replace(
        ORDERS,
        columns=(
            *COLUMNS[:2],
            replace(COLUMNS[2], type=ColumnType(Kind.DECIMAL, "numeric(20,2)", 20, 2)),
            replace(COLUMNS[3], name="title"),
            *COLUMNS[4:8],
            Column("new", 10, ColumnType(Kind.STRING, "text")),
        ),
    )
    asked = AddColumn | DropColumn | RenameColumn | ChangeType
    changes = [one for one in evolution.changes(ORDERS, changed) if isinstance(one, asked)]
    reshaping = reshape_columns(shape, planned(table=changed), changes, DIALECT, 7)
    move = state_move(state, after, STATE, DIALECT)
    newer = merge(whole, seq(3))
    (question,) = filter(None, [load.asks_for_rows()])
    return {
        "table by ranges": create_table(PLACE.table, shape, BY_KEY),
        "table by months": create_table(PLACE.table, keyed("day", "weight"), BY_KEY),
        "table that is not cut": create_table(PLACE.table, shape, KeyPartitions(None)),
        "table of events": create_table(PLACE.table, first_shape(append, DIALECT), BY_KEY),
        "stage": create_stage(StageTable(STAGED, staged_columns(late))),
        "state, created": first_state(state, STATE, DIALECT),
        "state, read": state_query(STATE),
        "transaction of a batch": script(move, [newer.void(), *newer.steps(all_new=False)]),
        "transaction without rows": script(move, []),
        "transaction of partial changes": script(move, merge(partial).steps(all_new=False)),
        "transaction of late changes": script(move, merge(late).steps(all_new=False)),
        "transaction of a load": script(move, load.steps(all_new=True)),
        "transaction of events": script(move, merge(append).steps(all_new=False)),
        "transaction of a second place": script(move, reshaping.fillings(TABLE, DIALECT)),
        "question of a load": question,
        "view of rows": create_view(VIEW, TABLE, shape, DIALECT),
        "view of events": create_view(VIEW, TABLE, first_shape(append, DIALECT), DIALECT),
        "view of a bag": create_view(VIEW, TABLE, bag, DIALECT),
        "view after a change": create_view(VIEW, TABLE, reshaping.shape, DIALECT),
        "pairs": f"SELECT COUNT(*) FROM ({pairs(TABLE, bag, DIALECT, 1000)}) AS pairs",
        "pairs, deleted": settle(TABLE, bag, DIALECT, 1000),
        **{f"added {at}": text for at, text in enumerate(reshaping.additions(TABLE, DIALECT))},
        "emptied": empty_column(TABLE, "id", DIALECT),
        **{f"dropped {name}": drop_column(TABLE, name, DIALECT) for name in reshaping.shape.leaving},
    }


def statements(text: str) -> list[str]:
    """The statements of a script, each without the words of the script around it."""
    if not text.startswith("BEGIN"):
        return [text]
    begin, inside = text.split(" THEN\n", 1)
    words = begin.removeprefix("BEGIN TRANSACTION;\nIF ")
    return [f"SELECT {words}", *(part.strip() for part in inside.split("COMMIT TRANSACTION")[0].split(";\n"))]


def trees(text: str) -> list[exp.Expr]:
    return [parse_one(one, read="bigquery") for one in statements(text) if one]


def test_the_texts_are_as_they_were_reviewed() -> None:
    found = "\n\n".join(f"-- {name}\n{text};" for name, text in texts().items()) + "\n"
    if "WRACKLINE_WRITE_GOLDEN" in os.environ:
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


@pytest.mark.parametrize("name", texts())
def test_a_text_is_bigquerys(name: str) -> None:
    """A parser of its dialect reads each statement, and reads the same in what it writes of it."""
    for tree in trees(texts()[name]):
        assert not isinstance(tree, Command), "it gave up"
        assert parse_one(tree.sql("bigquery"), read="bigquery") == tree


def _in_transactions(text: str) -> bool:
    kinds = (exp.Select, exp.Insert, exp.Update, exp.Delete, exp.Merge)
    return not text.startswith("BEGIN") or all(isinstance(tree, kinds) for tree in trees(text))


def _window_keys(text: str) -> bool:
    windows = [window for tree in trees(text) for window in tree.find_all(exp.Window)]
    floats = {"weight", "v5", "w5"}  # as it is stored, and as a history derives it
    keys = [key for window in windows for key in window.args.get("partition_by") or ()]
    return not any(isinstance(key, exp.Column) and key.name in floats for key in keys)


def _pruned(text: str) -> bool:
    """Each merge says by literals which partitions it means, and compares them with nothing else."""
    merges = [tree for tree in trees(text) if isinstance(tree, exp.Merge)]
    if any(tree.args["on"].find(exp.Between) is None for tree in merges):
        return False
    found = [one for tree in trees(text) for one in tree.find_all(exp.Between)]
    ends = [one.args[end] for one in found for end in ("low", "high")]
    return all(isinstance(end, exp.Literal | exp.Cast) and not end.find(exp.Column) for end in ends)


def _merges_once(text: str) -> bool:
    """A merge has no clause without condition before another of its kind."""
    for tree in trees(text):
        if isinstance(tree, exp.Merge):
            whens = [
                (one.args["matched"], one.args.get("condition")) for one in tree.args["whens"].expressions
            ]
            for at, (matched, condition) in enumerate(whens):
                if condition is None and any(later == matched for later, _ in whens[at + 1 :]):
                    return False
    return True


def _names(text: str) -> bool:
    reserved = re.compile(r"_TABLE_|_FILE_|_PARTITION|_ROW_TIMESTAMP|__ROOT__|_COLIDENTIFIER", re.IGNORECASE)
    columns = [one for tree in trees(text) for one in tree.find_all(exp.ColumnDef)]
    return len(columns) <= MOST_COLUMNS and not any(reserved.match(one.name) for one in columns)


DOCUMENTED: Mapping[str, Callable[[str], bool]] = {
    "a text is at most 1 MB": lambda text: len(text.encode()) <= limits.MOST_TEXT,
    "a transaction has queries and DML alone": _in_transactions,
    "no window is partitioned by a float": _window_keys,
    "partitions are skipped by literals": _pruned,
    "a clause of MERGE without condition hides those behind it": _merges_once,
    "columns do not begin as BigQuery's own": _names,
    "a transaction is begun and ended once": lambda text: (
        text.count("BEGIN TRANSACTION") <= 1 and text.count("COMMIT TRANSACTION") <= 1
    ),
    "nothing is bound": lambda text: "@" not in re.sub(r"'[^']*'|`[^`]*`", "", text),
}


@pytest.mark.parametrize("rule", DOCUMENTED)
def test_no_text_is_what_the_documentation_refuses(rule: str) -> None:
    assert [name for name, text in texts().items() if not DOCUMENTED[rule](text)] == []


REFUSED = {
    "a transaction has queries and DML alone": "BEGIN TRANSACTION;\nIF TRUE THEN\n  DROP TABLE a;",
    "no window is partitioned by a float": "SELECT SUM(1) OVER (PARTITION BY weight) FROM a",
    "partitions are skipped by literals": "SELECT 1 FROM a, b WHERE a.id BETWEEN b.c AND 9",
    "a clause of MERGE without condition hides those behind it": "MERGE INTO a USING b ON a.c = b.c"
    " WHEN MATCHED THEN DELETE WHEN MATCHED AND b.d THEN DELETE",
    "columns do not begin as BigQuery's own": "CREATE TABLE a (`_partition_x` INT64)",
    "a transaction is begun and ended once": "BEGIN TRANSACTION; BEGIN TRANSACTION;",
    "nothing is bound": "SELECT @number",
    "a text is at most 1 MB": "x" * (1024 * 1024 + 1),
}


def test_a_merge_that_reads_the_whole_table_is_found() -> None:
    (merges,) = (text for name, text in texts().items() if name == "transaction of partial changes")
    assert _pruned(merges)
    assert not _pruned(re.sub(r" AND t\.`\w+` BETWEEN (DATE )?\S+ AND (DATE )?\S+", "", merges))
    assert not _pruned("MERGE INTO a USING b ON a.c = b.c WHEN MATCHED AND b.d THEN DELETE")


@pytest.mark.parametrize("rule", DOCUMENTED)
def test_each_rule_finds_what_it_is_for(rule: str) -> None:
    assert not DOCUMENTED[rule](REFUSED[rule])


def test_a_script_is_one_transaction_whose_end_is_a_row() -> None:
    text = texts()["transaction without rows"]
    assert isinstance(parse(text, read="bigquery")[0], exp.Transaction)
    before, after = text.split("ELSE")
    assert before.index("UPDATE") < before.index("COMMIT") < before.index("'done'")
    assert "ROLLBACK" in after
    assert "UPDATE" not in after
    assert "'moved'" in after


@pytest.mark.parametrize(
    ("key", "cut", "sorted_by"),
    [
        (("id", "day"), "RANGE_BUCKET(`id`, GENERATE_ARRAY(0, 3998000000, 1000000))", ["id", "day"]),
        (("day", "price"), "DATE_TRUNC(`day`, MONTH)", ["day", "price"]),
        (("day", "id"), "RANGE_BUCKET(`id`, GENERATE_ARRAY(0, 3998000000, 1000000))", ["day", "id"]),
        (("weight",), None, ["_wl_key"]),
        (("clock", "seen"), None, ["seen"]),
        ((), None, ["_wl_key"]),
        (("price", "at", "seen", "big", "id"), "RANGE_BUCKET(`id`", ["price", "at", "seen", "big"]),
    ],
)
def test_a_table_is_cut_and_sorted_by_its_key(key: tuple[str, ...], cut: str, sorted_by: list[str]) -> None:
    """DataflowTemplates#167, pipelinewise-target-bigquery#88."""
    shape = keyed(*key)
    assert (BY_KEY.clause(shape) or "").startswith(cut or "")
    assert (BY_KEY.clause(shape) is None) == (cut is None)
    assert list(clusters(shape)) == sorted_by
    assert KeyPartitions(None).clause(shape) is None


def test_no_table_has_more_partitions_than_a_job_may_change() -> None:
    (last, width) = map(int, re.findall(r"ARRAY\(0, (\d+), (\d+)\)", BY_KEY.clause(keyed("id")) or "")[0])
    assert last // width + 2 == limits.MOST_PARTITIONS


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("Größe & Co. %", "Größe & Co_ %"),
        ("_PARTITIONTIME", "__ARTITIONTIME"),
        ("_table_x", "__able_x"),
        ("__root__", "___oot__"),
        ("_change_type", "__hange_type"),
        ("_changes", "_changes"),
        ("a_TABLE_", "a_TABLE_"),
        ("a`b\\c\n", "a_b_c_"),
        ("x" * 301, "x" * 291 + "_"),
    ],
)
def test_a_column_s_name_is_one_that_bigquery_takes(name: str, legal: str) -> None:
    found = target_name(name, NAMES)
    assert found.startswith(legal)
    assert len(found) == len(legal) or len(found) == 300


def test_a_dataset_s_name_is_one_that_bigquery_takes() -> None:
    assert LAYOUT.place(TableId("db", "my-schema", "größe x")).view == ("my_schema", "gr__e_x")


@pytest.mark.parametrize(
    ("digits", "of"),
    [
        ((12, 2), "NUMERIC(12, 2)"),
        ((38, 9), "NUMERIC(38, 9)"),
        ((29, 0), "NUMERIC(29, 0)"),
        ((30, 0), "BIGNUMERIC(30, 0)"),
        ((38, 10), "BIGNUMERIC(38, 10)"),
        ((38, 38), "BIGNUMERIC(38, 38)"),
    ],
)
def test_a_decimal_is_the_narrowest_type_that_holds_it(digits: tuple[int, int], of: str) -> None:
    type_ = ColumnType(Kind.DECIMAL, "numeric", *digits)
    assert physical(type_) == of
    assert restored("x", type_) == f"PARSE_{of.split('(', maxsplit=1)[0]}(x)"


def test_every_kind_has_a_type_and_a_value() -> None:
    made = {
        kind: (physical(ColumnType(kind, "", 5, 1)), restored("x", ColumnType(kind, "", 5, 1)))
        for kind in Kind
    }
    texts_of = {kind for kind, found in made.items() if found == ("STRING", "x")}
    assert DIALECT.native == frozenset(Kind) - texts_of
    assert converted("x", COLUMNS[2].type, COLUMNS[8].type) == "x"
    assert image("x", COLUMNS[2].type) == "x"
    assert "IEEE_DIVIDE(1, x) < 0" in image("x", COLUMNS[4].type)


def test_a_literal_ends_where_it_should() -> None:
    assert DIALECT.literal("a'b\\c\nd`") == "'a\\'b\\\\c\\nd\\`'"
    assert (
        parse_one(f"SELECT {DIALECT.literal(chr(39) + chr(92))}", read="bigquery").expressions[0].this
        == "'\\"
    )
    assert DIALECT.quoted("a`b\\") == "`a\\`b\\\\`"
