"""Whatever happens to a table, its change table read in the clustered order makes the same table again."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.sqlserver_standin.shop import Shop, shop
from wrackline.control.local.sqlserver_standin.model.capture import AFTER, BEFORE, DELETE, INSERT, CapturedRow
from wrackline.control.local.sqlserver_standin.model.tables import Cells
from wrackline.control.local.sqlserver_standin.model.transactions import ModelTransaction
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

IDS = st.integers(0, 5)
STATEMENTS = st.one_of(
    st.tuples(st.just("insert"), IDS, st.integers(0, 3)),
    st.tuples(st.just("change"), IDS, st.integers(0, 3)),
    st.tuples(st.just("move"), IDS, IDS),
    st.tuples(st.just("shift"), st.integers(1, 3), st.just(0)),
    st.tuples(st.just("delete"), IDS, st.just(0)),
    st.tuples(st.just("save"), st.just(0), st.just(0)),
    st.tuples(st.just("back"), st.just(0), st.just(0)),
)
TRANSACTIONS = st.lists(st.tuples(st.lists(STATEMENTS, max_size=6), st.booleans(), st.booleans()), max_size=8)


def run(write: ModelTransaction, statement: tuple[str, int, int]) -> None:
    what, one, other = statement
    match what:
        case "insert":
            write.insert("orders", {"id": one, "v": other})
        case "change":
            write.update("orders", {"v": other}, {"id": one})
        case "move":
            write.update("orders", {"id": other}, {"id": one})
        case "shift":
            write.update("orders", lambda row: {"id": int(str(row["id"])) + one})
        case "delete":
            write.delete("orders", {"id": one})
        case "save":
            write.save("s")
        case "back":
            write.back_to("s")


def folded(rows: Sequence[CapturedRow]) -> dict[object, Cells]:
    """Apply changes one by one; each must find what it says that it changes."""
    table: dict[object, Cells] = {}
    for row in rows:
        key = row.cells[0]
        if row.operation in {DELETE, BEFORE}:
            assert table.pop(key) == row.cells
        else:
            assert row.operation in {INSERT, AFTER}
            assert key not in table
            table[key] = row.cells
    return table


def committed(one: Shop) -> dict[object, Cells]:
    table = one.database.table("orders")
    return {row[0]: row for _, row in one.database.begin().own_rows(table)}


@settings(max_examples=60)
@given(history=TRANSACTIONS, defers=st.booleans(), behind=st.integers(0, 2))
def test_a_change_table_makes_its_table_again(
    history: list[tuple[list[tuple[str, int, int]], bool, bool]],
    defers: bool,  # noqa: FBT001
    behind: int,
) -> None:
    one = shop({"id": "int", "v": "int"}, defers=defers)
    one.database.job().behind = behind
    for statements, commits, scans in history:
        write = one.database.begin()
        for statement in statements:
            try:
                run(write, statement)
            except ServerError as error:
                if error.number not in {2627, 6401}:  # a key that is there already, a savepoint that is not
                    raise
        write.commit() if commits else write.rollback()
        if scans:
            one.database.scan()
    one.database.job().behind = 0
    one.database.scan()
    rows = one.instance.rows
    assert rows == sorted(rows, key=lambda row: row[:4]), "they lie in the order of the clustered index"
    assert len({row[:4] for row in rows}) == len(rows)
    assert folded(rows) == committed(one)
    assert [row.start_lsn for row in one.database.job().mapping] == sorted({row.start_lsn for row in rows})
