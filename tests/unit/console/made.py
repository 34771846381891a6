"""Boards made by hand, and a console over them: busy, broken, empty, and with names that mean harm."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fakes.drafts import MadeAnswers, made_access
from tests.unit.console import made_errors, made_events, made_letters, made_lines, made_shapes
from tests.unit.console.made_maps import learn
from wrackline.control.console.errors.errors_past import Counts
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.routing import console_routes
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.runtime.board.board_summary import PipelineHistory, PipelineSummary, summarise
from wrackline.control.runtime.events.event_looks import EventLook, EventQuestion
from wrackline.control.runtime.events.shape_looks import ShapeLook
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.lineage.column_paths import MapsOfTable, maps_of
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, NOT_STOPPED, GroupMember
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, settings_in_force
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.rest.routes.event_routes import PATIENCE_S
from wrackline.control.runtime.rest.routes.table_routes import NO_TABLE
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint, open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.services.offsets import NOT_KEPT, PastPosition, PlannedMove
from wrackline.control.runtime.worker.pipeline_views import BoardView, Followed, ViewVersion
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard
from wrackline.schemas.kafka.receipts import Receipt, RequestKind, RequestState, ScanStatus, TableProgress
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.versions import OURS

SLOT_LOST = define(
    "test.slot_lost",
    OperatorNeeded,
    "replication slot {slot} is lost: the server has removed log that is still needed",
    hint="read all rows again: wrackline offsets reset <pipeline.toml>, then start it",
)
HOSTILE = "<img src=x onerror=alert(1)>\"'&"
RUNS = ConnectorState(TaskState.RUNNING, worker="db-host-1:8083")
_STEP_MS = 2_000
RANGES = [
    {"percent": percent, "reading": reading, "held": held}
    for percent, reading, held in [
        (100, 0, 0), (100, 0, 0), (88, 1, 0), (61, 1, 30_000), (None, 0, 20_000), (4, 1, 0),
        (0, 0, 0), (0, 0, 0),
    ]
]  # fmt: skip


PAST_MS = (now_ms() // 1000 - 90 * 60) * 1000


def past(place: str = "6F/") -> Sequence[PastPosition]:
    """Return positions of an hour and a half, one a minute."""
    return [
        PastPosition(
            datetime.fromtimestamp(PAST_MS // 1000 + minute * 60, UTC).isoformat(timespec="milliseconds"),
            "shop", {"lsn": minute}, f"{place}{0x19000000 + minute * 4_096:X} (epoch 2)", 7,
        )
        for minute in range(90)
    ]  # fmt: skip


class MadeCrew:
    """Connectors that run nowhere."""

    worker = "db-host-1:8083"

    def __init__(self, standings: Mapping[str, ConnectorState]) -> None:
        self.standings = dict(standings)
        self.group = [GroupMember(self.worker, None, now_ms() - 7_200_000, OURS)]
        self.wished: list[tuple[str, DesiredState]] = []
        self.answers: MadeAnswers | None = None  # what servers say, once it is served
        self.tasks: list[int | None] = []  # of each wish
        self.past: Sequence[PastPosition] = past()
        self.rewound: list[tuple[str, datetime, bool]] = []
        self.given = {"connector.class": "postgres", "kafka.bootstrap.servers": "broker1:9092"}

    def names(self) -> Sequence[str]:
        return list(self.standings)

    def config(self, name: str) -> Mapping[str, str]:
        return {"name": name, "database.password": "***", "topic.prefix": HOSTILE}

    def known_config(self, name: str) -> Mapping[str, str] | None:
        return self.config(name)

    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        given = {**self.config(name), "database.password": "${env:WRACKLINE_DB}", **self.given}
        checked = check(given, Installed(), Resolver(Allowed(), {"WRACKLINE_DB": "made"}))
        return settings_in_force(checked, given.keys() - {"kafka.bootstrap.servers"})

    def standing(self, name: str) -> ConnectorState:
        if name not in self.standings:
            raise NO_CONNECTOR(name=name)
        return self.standings[name]

    def wish(self, name: str, wish: DesiredState, task: int | None = None) -> None:
        self.wished.append((name, wish))
        self.tasks.append(task)

    def members(self) -> Sequence[GroupMember]:
        return self.group

    def topics(self, name: str) -> Sequence[str]:
        return [name]

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        return [({"server": name}, {})]

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        del name
        return self.past

    def rewind(self, name: str, to: datetime, *, as_new: bool, dry_run: bool) -> Sequence[PlannedMove]:
        if to.timestamp() * 1000 < PAST_MS:
            raise NOT_KEPT(pipeline=name, time=to.isoformat())
        if not dry_run:
            if self.standing(name).state is not TaskState.STOPPED:
                raise NOT_STOPPED(name=name)
            self.rewound.append((name, to, as_new))
        return [PlannedMove("shop", "6F/1A2B3C4D (epoch 2)", "6F/19000000 (epoch 2)", {"lsn": 1})]


class MadeViews:
    """Boards by name; wishes are noted."""

    def __init__(self, boards: Mapping[str, BoardView]) -> None:
        self.boards = dict(boards)
        self.wished: list[tuple[str, str, str, str]] = []
        self.quick = AnswerCache(PATIENCE_S, longest=0)
        self.asked: list[EventQuestion] = []
        self.look: Callable[[], EventLook] = made_events.some
        self.asked_shapes: list[tuple[str, str]] = []
        self.shape_look: Callable[[], ShapeLook] = made_shapes.several
        self.letters = made_letters.MadeDesk()
        self.log: list[tuple[int, bytes]] | None = made_lines.some()
        self.past = made_errors.past_counts()
        self.requests: dict[str, Sequence[Receipt]] = {}
        self.sent: list[tuple[str, bytes]] = []
        self.still: ViewVersion | None = None  # None: each look finds another board
        self._looks = count(1)

    def brokers(self, name: str) -> str:
        if name not in self.boards:
            raise NO_CONNECTOR(name=name)
        return "broker1:9092"

    def events(self, name: str, question: EventQuestion) -> EventLook:
        del name
        self.asked.append(question)
        return self.look()

    def shapes(self, name: str, table: str) -> ShapeLook:
        self.asked_shapes.append((name, table))
        return self.shape_look()

    def names(self) -> Sequence[str]:
        return list(self.boards)

    def column_maps(self, name: str, column: str = "", table: str = "") -> Mapping[str, MapsOfTable]:
        with self.board(name) as board:
            return maps_of({half: one.maps for half, one in board.halves.items()}, column, table)

    def errors(self, name: str) -> Counts:
        self.brokers(name)
        return self.past

    def lines(self, name: str) -> Sequence[bytes] | None:
        del name
        return [b'{"ts_ms":1,"level":"info","event":"running","line":"running"}']

    def numbered_lines(self, name: str) -> Sequence[tuple[int, bytes]] | None:
        self.brokers(name)
        return self.log

    def wish_table(self, name: str, table: str, wish: TableWish, by: str) -> None:
        if name not in self.boards:
            raise NO_CONNECTOR(name=name)
        if table not in self.boards[name].halves[Half.TARGET].tables:
            raise NO_TABLE(name=name, table=table)
        self.wished.append((name, table, wish.value, by))

    def receipts(self, name: str) -> Sequence[Receipt]:
        return self.requests.get(name, ())

    def request_rows(self, name: str, body: bytes) -> None:
        if name not in self.boards:
            raise NO_CONNECTOR(name=name)
        self.sent.append((name, body))

    def version(self, name: str) -> ViewVersion:
        if name not in self.boards:
            raise NO_CONNECTOR(name=name)
        return self.still or ViewVersion(next(self._looks), 0)

    @contextmanager
    def board(self, name: str) -> Iterator[BoardView]:
        if name not in self.boards:
            raise NO_CONNECTOR(name=name)
        for half in self.boards[name].halves.values():
            half.states = next(self._looks)
        yield self.boards[name]


def source_table(name: str, *, state: str = "streaming", events: int = 0, **more: object) -> Document:
    """Return what a source half reports of a table."""
    return {
        "table": name, "state": state, "requests": [], "rows": 0, "expected": None, "percent": None,
        "seconds_left": None, "letters": {}, "nulls": {}, "reason": None, "events": {"u": events},
        "ranges": [], "waits_since_ms": None, "at_ms": now_ms(), **more,
    }  # fmt: skip


def target_table(*, events: int = 0, behind: int = 0, late_ms: int = 900, **more: object) -> Document:
    """Return what a target half reports of a table."""
    now = now_ms()
    return {
        "standing": "going", "error": None, "offsets": {"0": events}, "behind": behind,
        "behind_s": 1.2 if behind else 0, "held": 0, "held_s": 0, "seq": "0a", "merged_ms": now - 800,
        "lag_ms": {"publish": 12, "wait": 300, "merge": late_ms - 312, "whole": late_ms},
        "events": {"u": events}, "schema_changes": {}, "batches": 40, "dead_letters": 0,
        "seconds": {"read": 1.5, "apply": 4.0},
        "departure": None,
        "upkeep": {"done": 1, "failed": 0, "seconds": 2.0, "error": None, "removed": {}}, "incomplete": 0,
        "at_ms": now, **more,
    }  # fmt: skip


def half(state: str = "running", *, heard_ms: int | None = None, **more: object) -> HalfBoard:
    """Return a half that reports this."""
    now = now_ms()
    report = {
        "state": state, "since_ms": now - 3_600_000, "error": None, "host": "db-host-1", "pid": 4711,
        "began_ms": now - 3_600_000, "events": 0, "databases": {}, **more,
    }  # fmt: skip
    return HalfBoard(report, now if heard_ms is None else heard_ms)


def database(behind: int = 18_000, lost_in_s: int | None = None, **more: object) -> Document:
    """Return what a source half reports of a database's log."""
    rate = 2_400_000
    return {
        "log": "replication slot wrackline_shop", "status": "reserved", "end_bytes": 7_000_000_000_000,
        "bytes_a_second": rate, "kept_s": None, "expires_s": None,
        "behind_bytes": behind, "retained_bytes": behind * 4, "lost_in_s": lost_in_s,
        "spare_bytes": None if lost_in_s is None else rate * lost_in_s,
        "lag_ms": 14, "last_ms": now_ms(), "through_ms": now_ms(), "bytes": 0, "transactions": 0,
        "left_out": {}, "position": "6F/1A2B3C4D (epoch 2)", **more,
    }  # fmt: skip


def busy(tables: int = 24, *, lost_in_s: int | None = None) -> BoardView:
    """Return a pipeline at work, with a quarter of an hour of history."""
    log = database(lost_in_s=lost_in_s, bytes=1_920_000_000, transactions=90_000)
    source = half(events=90_000, databases={"shop": log})
    target = half(target="iceberg", pid=4712)
    for number in range(tables):
        name = f"shop.public.{'orders' if number == 0 else f'items_{number:03}'}"
        source.tables[name] = source_table(name, events=1_000 * (number % 7))
        target.tables[name] = target_table(events=900 * (number % 7), behind=number % 5 * 40)
    learn(source.maps, target.maps)
    if tables > 3:
        source.tables["shop.public.items_002"] = source_table(
            "shop.public.items_002", state="snapshotting", requests=["initial"], rows=4_200_000,
            expected=10_000_000, percent=42, seconds_left=130, ranges=RANGES,
            waits_since_ms=now_ms() - 120,
        )  # fmt: skip
        source.tables["shop.public.items_003"] = source_table(
            "shop.public.items_003", state="queued", requests=["initial"],
        )  # fmt: skip
    return BoardView(
        Followed(1, "postgres", "iceberg"),
        both(source, target),
        history(source, target, f"busy {tables} {lost_in_s}"),
    )


def broken() -> BoardView:
    """Return a pipeline that needs an operator at both ends."""
    error = SLOT_LOST(slot="wrackline_billing").document()
    source = half("failed", error=error, databases={"billing": database(9_000_000_000, 1_900)})
    target = half(target="delta", pid=99)
    reason = {
        "code": "pg.value_unfit",
        "sentence": "a value of column amount is not a number",
        "hint": "see it",
    }
    source.tables["billing.public.invoices"] = source_table(
        "billing.public.invoices", state="failed", reason=reason
    )
    stopped = {**reason, "code": "target.other_mode", "sentence": "the table is kept in another mode"}
    target.tables["billing.public.invoices"] = target_table(standing="stopped", error=stopped)
    return BoardView(Followed(1, "mysql", "delta"), both(source, target), history(source, target, "broken"))


def hostile() -> BoardView:
    """Return a pipeline whose names and texts are markup."""
    error = {"code": HOSTILE, "kind": "Definite", "sentence": HOSTILE, "hint": HOSTILE}
    source = half(error=error, databases={HOSTILE: database()}, host=HOSTILE)
    target = half(target=HOSTILE)
    source.tables[HOSTILE] = source_table(HOSTILE, reason=error, letters={HOSTILE: 3})
    target.tables[HOSTILE] = target_table(error=error, standing="stopped")
    learn(source.maps, target.maps, HOSTILE, HOSTILE)
    return BoardView(Followed(1, "postgres", HOSTILE), both(source, target), PipelineHistory())


def empty() -> BoardView:
    """Return a pipeline that has never run."""
    return BoardView(Followed(1, "postgres", "iceberg"), both(HalfBoard(), HalfBoard()), PipelineHistory())


def both(source: HalfBoard, target: HalfBoard) -> Mapping[Half, HalfBoard]:
    """Return the halves by what they are."""
    return {Half.SOURCE: source, Half.TARGET: target}


_PASTS: dict[str, tuple[int, list[PipelineSummary]]] = {}  # by what has it: when it was made


def history(source: HalfBoard, target: HalfBoard, of: str) -> PipelineHistory:
    """Return what such a pipeline looked like before; the same wave is made once and moved to now."""
    now = now_ms()
    if of not in _PASTS:
        _PASTS[of] = now, list(_wave(source, target, now))
    then, past = _PASTS[of]
    made = PipelineHistory()
    for one in past:
        made.add(replace(one, at_ms=one.at_ms + now - then))
    last = made.samples()[-1]
    made.add(replace(summarise(both(source, target), now), published=last.published, merged=last.merged))
    return made


def _wave(source: HalfBoard, target: HalfBoard, now: int, steps: int = 400) -> Iterator[PipelineSummary]:
    """A day's wave, with a pause."""
    events = 0
    for step in range(steps):
        rate = 0 if 200 < step < 215 else 1_500 + 900 * math.sin(step / 30) + step % 7 * 60
        events += int(rate * _STEP_MS / 1000)
        logs = {
            name: {**log, "end_bytes": log["end_bytes"] - (steps - step) * 4_800_000,
                   "behind_bytes": log["behind_bytes"] + (0 if step < 200 or step > 230 else step * 90_000),
                   "retained_bytes": log["retained_bytes"] * (300 + step) // 700}
            for name, log in source.report["databases"].items()
        }  # fmt: skip
        past = HalfBoard({**source.report, "events": events, "databases": logs}, source.heard_ms)
        late = 900 + 400 * math.sin(step / 25) + (9_000 if 214 < step < 225 else 0)
        some = list(target.tables)[:3]
        tables = {name: target_table(events=events // len(some), late_ms=int(late)) for name in some}
        at = now - (steps - step) * _STEP_MS
        shown: dict[str, Document] = {
            name: {**table, "merged_ms": at, "at_ms": at} for name, table in tables.items()
        }
        yield summarise(both(past, HalfBoard(target.report, target.heard_ms, shown)), at)


def requests() -> Sequence[Receipt]:
    """Return receipts in every state."""
    now = now_ms()

    def read(
        name: str, *tables: TableProgress, of: RequestState = RequestState.SUCCEEDED, **more: Any
    ) -> Receipt:
        return Receipt(name, of, SnapshotKind.INCREMENTAL, now - 60_000 * len(name), tables=tables, **more)

    return [
        read("initial", TableProgress("shop.public.items_002", 4_200_000, expected=10_000_000, percent=42,
                                      seconds_left=130), of=RequestState.RUNNING),
        read("ana-0f3c12ab77d1", TableProgress("shop.public.orders", 1_200, scan=ScanStatus.SUCCEEDED)),
        read("console-77d10f3c12ab", of=RequestState.FAILED, code="snapshot.no_such_table",
             sentence="no captured table is named public.ordres"),
        replace(read("ana-pause-1"), what=RequestKind.PAUSE),
        read("ana-5", TableProgress("shop.public.orders"), of=RequestState.ACCEPTED),
    ]  # fmt: skip


def crowd() -> tuple[MadeCrew, MadeViews]:
    """Return several pipelines in several states."""
    boards = {
        "shop": busy(), "warehouse": busy(3), "billing": broken(), "archive": busy(60, lost_in_s=7_200),
        "new-one": empty(),
    }  # fmt: skip
    silent = busy(5)
    silent.halves[Half.TARGET].heard_ms = now_ms() - 90_000
    boards["stock"] = silent._replace(history=PipelineHistory())
    standings = {name: ConnectorState(RUNS.state, worker=RUNS.worker, target=RUNS) for name in boards}
    standings["billing"] = ConnectorState(TaskState.FAILED, "[test.slot_lost] lost", RUNS.worker, target=RUNS)
    paused = ConnectorState(TaskState.PAUSED, worker=RUNS.worker)
    standings["warehouse"] = ConnectorState(TaskState.PAUSED, worker=RUNS.worker, target=paused)
    starting = ConnectorState(TaskState.STARTING, worker=RUNS.worker)
    standings["new-one"] = ConnectorState(TaskState.STARTING, worker=RUNS.worker, target=starting)
    views = MadeViews(boards)
    views.requests["shop"] = requests()
    return MadeCrew(standings), views


@contextmanager
def served(
    crew: MadeCrew, views: MadeViews, settings: RestSettings | None = None, **more: Any
) -> Iterator[RestEndpoint]:
    """Serve a console over them."""
    checking = partial(check, plugins=Installed(), resolve=Resolver(Allowed(), {"WRACKLINE_DB": "made"}))
    with TemporaryDirectory() as folder:
        access, crew.answers = made_access(Path(folder) / "drafts", crew.names, checking)
        pages = PageFrame(crew, views)  # type: ignore[arg-type]  # all it uses
        routes = [console_routes.routes(pages, DraftService(access))]
        with open_endpoint(
            settings or RestSettings(0), routes, print, no_page=pages.no_page, **more
        ) as endpoint:
            yield endpoint
