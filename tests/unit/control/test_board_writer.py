"""What a half's writer looks at: figures when they are due, states in between."""

from tests.unit.control.test_lineage import values
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope
from wrackline.control.runtime.board.board_writer import _Writer
from wrackline.schemas.kafka.board_records import Half, parse_key

MOMENT = {"state": "running", "through_ms": 1}


def test_after_a_loss_no_moment_is_written_before_the_tables_that_it_counts_on() -> None:
    looks: list[LookScope] = []

    def look(scope: LookScope) -> HalfLook:
        looks.append(scope)
        return HalfLook(MOMENT, {} if scope is LookScope.STATES else {"orders": {"state": "failed"}})

    writer = _Writer(values(), Half.SOURCE, look, print, lambda _: None)

    def tables(*, ended: bool = False) -> list[str | None]:
        return [parse_key(key).table for key, _ in writer._look_now(ended=ended)]

    assert tables() == ["orders", None]
    assert tables() == []
    assert looks == [LookScope.ALL, LookScope.STATES]
    writer._lost()
    assert tables() == [], "the half alone would say that all before its moment is known"
    assert tables(ended=True) == ["orders", None]
    assert looks[2:] == [LookScope.ALL]
