"""What the target half reports: states at once, and figures with the moment that they count for."""

from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.control.runtime.board.board_changes import LookScope
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.board.target_report import TargetReport
from wrackline.schemas.errors import OperatorNeeded, Transient, define

STOPPED = define("test.target_stopped", OperatorNeeded, "the table is another one", hint="look")
AWAY = define("test.target_away", Transient, "the target is away", hint="wait")
ORDERS, ITEMS = "s.shop.public.orders", "s.shop.public.items"


def test_a_look_at_states_is_at_few_tables_and_leaves_the_moment_of_the_half() -> None:
    figures = ConsumerFigures("s")
    report = TargetReport("iceberg", figures, HalfStanding(), SloFigures(None, figures))
    report.begins()

    def look(scope: LookScope) -> tuple[int | None, set[str]]:
        found = report.look(scope)
        return found.half["through_ms"], set(found.tables)

    figures.take_ends({ORDERS: {0: 1}, ITEMS: {0: 1}})
    figures.published(SourceProgress(1_000, frozenset(), frozenset()), {})
    assert look(LookScope.ALL) == (1_000, {"shop.public.orders", "shop.public.items"})

    figures.published(SourceProgress(2_000, frozenset(), frozenset()), {})
    figures.take_ends({ORDERS: {0: 9}, ITEMS: {0: 1}})
    assert look(LookScope.STATES) == (1_000, set()), "a later moment counts for all tables"
    failing = TableRetryState(AWAY(), 1)
    figures.stands(ORDERS, failing)
    found = report.look(LookScope.STATES)
    assert found.tables["shop.public.orders"]["standing"] == "waiting"  # type: ignore[index]
    assert (found.half["through_ms"], set(found.tables)) == (1_000, {"shop.public.orders"})
    figures.stands(ORDERS, TableRetryState(AWAY(), 2))
    assert look(LookScope.STATES) == (1_000, set()), "one more try is no other state"
    figures.stands(ORDERS, TableRetryState(STOPPED(), 3, stopped=True))
    assert look(LookScope.STATES) == (1_000, {"shop.public.orders"})
    figures.pause(frozenset({"shop.public.items"}))
    assert look(LookScope.STATES) == (1_000, {"shop.public.items"})
    figures.went(AWAY())
    assert report.look(LookScope.STATES).half["state"] == "recovering"
    assert look(LookScope.FIGURES) == (2_000, {"shop.public.orders", "shop.public.items"})
