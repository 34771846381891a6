"""How tables are laid out: those that need attention first, and kept until a state changes."""

from tests.unit.console.made import both, source_table, target_table
from wrackline.control.console.table_layout import TableChoice, TableLayouts, table_layout
from wrackline.schemas.kafka.board_records import Half, HalfBoard

REASON = {"code": "c", "sentence": "", "hint": ""}


def halves() -> dict[Half, HalfBoard]:
    source, target = HalfBoard(), HalfBoard()
    for name in ("a", "b", "c", "d"):
        source.tables[name], target.tables[name] = source_table(name), target_table()
    source.tables["c"] = source_table("c", state="snapshotting")
    target.tables["d"] = target_table(error=REASON, standing="stopped")
    return dict(both(source, target))


def test_tables_that_need_attention_are_first() -> None:
    found = table_layout(halves(), TableChoice(), 0)
    assert (list(found.listed), list(found.wrong)) == (["d", "c", "a", "b"], ["d"])
    assert dict(found.counts) == {"bad": 1, "busy": 1, "good": 2}
    assert list(table_layout(halves(), TableChoice(tone="good"), 0).listed) == ["a", "b"]
    assert list(table_layout(halves(), TableChoice(text="D"), 0).listed) == ["d"]


def test_a_table_whose_target_is_paused_rests() -> None:
    board = halves()
    board[Half.TARGET].tables["a"] = target_table(standing="paused")
    assert table_layout(board, TableChoice(), 0).tones["a"] == "idle"


def test_a_layout_is_made_again_once_a_state_has_changed() -> None:
    board, layouts = halves(), TableLayouts()
    first = layouts.of("shop", board, TableChoice(), 0)
    assert layouts.of("shop", board, TableChoice(page=2), 0) is first
    assert layouts.of("other", board, TableChoice(), 0) is not first
    assert layouts.of("shop", board, TableChoice(text="d"), 0).listed == ["d"]
    figures = TableChoice(figure="late")
    assert layouts.of("shop", board, figures, 0) is not layouts.of("shop", board, figures, 0)
    board[Half.SOURCE].tables["a"] = source_table("a", reason=REASON)
    board[Half.SOURCE].states += 1
    assert layouts.of("shop", board, TableChoice(), 0).wrong == ["a", "d"]
