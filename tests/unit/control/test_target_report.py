"""What the target half reports: states at once, and figures with the moment that they count for."""

from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.observe.figures import ConsumerFigures, EarlierTable
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.consumers.observe.status import table_documents
from wrackline.control.runtime.board.board_changes import BoardChanges, LookScope
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.board.target_report import TargetReport
from wrackline.control.runtime.slo.slo_report import slo_report
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka.board_records import Board, BoardKey, Half, HalfBoard, HalfState, encode
from wrackline.schemas.minutes.minute_counts import MinuteCounts
from wrackline.schemas.minutes.minute_records import MINUTE_MS, HalfDay
from wrackline.schemas.minutes.slo_terms import SloTerms

STOPPED = define("test.target_stopped", OperatorNeeded, "the table is another one", hint="look")
AWAY = define("test.target_away", Transient, "the target is away", hint="wait")
ORDERS, ITEMS = "s.shop.public.orders", "s.shop.public.items"
MERGED = BatchReport(BatchRange(ORDERS, {0: 0}, {0: 1}), Applied(), BatchCounts({}, None), {}, 0, 0)


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


def restarted(board: Board, moments: list[SourceProgress | None]) -> ConsumerFigures:
    """Run one more process, which gets these moments of the source half, and write what it reports."""
    figures = ConsumerFigures("s", lambda: 0.0, lambda: 9_000)
    report = TargetReport("iceberg", figures, HalfStanding(), SloFigures(None, figures))
    report.earlier(board.half("shop", Half.TARGET))
    changes, key = BoardChanges("shop", Half.TARGET), BoardKey("shop", Half.TARGET)
    changes.reported_before([key._replace(table=table) for table in board.half("shop", Half.TARGET).tables])

    def writes(scope: LookScope) -> None:
        look = report.look(scope)
        for record, value in changes.due(look, 0.0, 9_000, whole=scope is LookScope.ALL):
            board.apply(record, value, 9_000)

    for at, progress in enumerate(moments):
        writes(LookScope.FIGURES if at else LookScope.ALL)
        figures.take_ends({ORDERS: {0: 1}})
        writes(LookScope.FIGURES)
        if progress is not None:
            figures.published(progress, {ORDERS: {0: 1}})
            figures.batch(MERGED)
            writes(LookScope.FIGURES)
    writes(LookScope.FIGURES if moments else LookScope.ALL)
    return figures


def test_a_half_that_starts_twice_before_it_hears_the_source_half_remembers_its_past() -> None:
    board, name = Board(), "shop.public.orders"
    whole, nothing = frozenset({name}), frozenset[str]()
    restarted(board, [SourceProgress(1_000, whole, nothing), SourceProgress(2_000, whole, nothing)])
    target = board.half("shop", Half.TARGET)
    assert (target.complete_ms(name), target.tables[name]["complete_since_ms"]) == (2_000, 1_000)

    restarted(board, [])
    assert target.complete_ms(name) == 2_000, "it has ended after its first look"
    restarted(board, [None])
    assert (target.complete_ms(name), target.tables[name]["complete_since_ms"]) == (2_000, 1_000)
    assert restarted(board, [None]).moments() == {name: (2_000, 1_000)}

    restarted(board, [SourceProgress(500, nothing, whole)])
    assert target.complete_ms(name) is None, "a clock was set back"
    assert restarted(board, [None]).moments() == {name: (None, 1_000)}


def test_a_moment_that_is_heard_before_the_earlier_process_is_known_keeps_its_past() -> None:
    figures, name = ConsumerFigures("s"), "shop.public.orders"
    figures.take_ends({ORDERS: {0: 1}})
    figures.published(SourceProgress(5_000, frozenset({name}), frozenset()), {ORDERS: {0: 1}})
    figures.batch(MERGED)
    figures.remember({name: EarlierTable(2_000, 1_000, lacks=True)})
    assert figures.moments() == {name: (5_000, 1_000)}
    assert table_documents(figures)[name]["lacks"] is False


def test_a_table_that_was_paused_is_paused_until_the_wishes_are_known() -> None:
    board, name = Board(), "shop.public.orders"
    figures = restarted(board, [None])
    figures.pause(frozenset({name}))
    key = BoardKey("shop", Half.TARGET, name)
    board.apply(key.encode(), encode(table_documents(figures)[name], 9_000), 9_000)
    assert restarted(board, []).paused == {name}

    figures = ConsumerFigures("s")
    figures.pause(frozenset())
    figures.was_paused(frozenset({name}))
    assert figures.paused == frozenset(), "the wishes are newer"


def test_a_half_that_was_killed_while_it_ended_as_wished_rests() -> None:
    figures = ConsumerFigures("s", lambda: 0.0, lambda: 20 * MINUTE_MS)
    slo = SloFigures(SloTerms(5, 99.0, 30), figures)
    report = TargetReport("iceberg", figures, HalfStanding(), slo)
    half = HalfBoard({"state": HalfState.RUNNING.value, "wished": True}, heard_ms=20 * MINUTE_MS)
    half.minutes.half[0] = HalfDay(looked=0b1)
    half.tables["orders"] = {"complete_since_ms": 0, "standing": "running"}
    report.earlier(half)
    slo.look(source_rests=False, whole=True)
    assert slo._book.log.half[0].planned == (1 << 20) - 2
    terms = SloTerms(5, 99.0, 30)
    whole = [slo_report(half, terms, minutes * MINUTE_MS).whole for minutes in (20, 30)]
    assert whole == [MinuteCounts(good=1, bad=17), MinuteCounts(good=1, paused=27)], "first it still ends"
