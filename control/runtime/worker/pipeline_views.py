"""Views of a worker's pipelines: what `view_routes.py` needs, from the boards that this worker follows."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple, Protocol

from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_summary import PipelineHistory, summarise
from wrackline.control.runtime.check.assessment import PATIENCE, PROBE_PATIENCE, assess
from wrackline.control.runtime.events.event_looks import EventLook, EventQuestion, look_at_events
from wrackline.control.runtime.events.shape_looks import ShapeLook, look_at_shapes
from wrackline.control.runtime.ground.times import SAMPLE_S, now_ms, until_step
from wrackline.control.runtime.letters.letter_desk import LetterDesk
from wrackline.control.runtime.letters.letter_work import LetterWork
from wrackline.control.runtime.lineage.column_paths import MapsOfTable, maps_of
from wrackline.control.runtime.logs.sent_lines import logs_topic
from wrackline.control.runtime.notices.notice_settings import NoticeSettings
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.rest.routes.event_routes import PATIENCE_S
from wrackline.control.runtime.rest.routes.table_routes import NO_TABLE, NO_TARGET
from wrackline.control.runtime.services.signalling import send_signal
from wrackline.control.runtime.services.status import PipelineStatus, pipeline_status
from wrackline.control.runtime.services.table_wishes import send_wish
from wrackline.control.runtime.slo.slo_report import SloReport, slo_report
from wrackline.producers.connect.child import Begin
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import Half, HalfBoard
from wrackline.schemas.kafka.past.error_days import ErrorCount, ErrorDay
from wrackline.schemas.kafka.receipts import Receipt
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.minutes.minute_records import MINUTE_MS
from wrackline.schemas.minutes.slo_terms import SloTerms
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Values

_EVERY_S: Final = 1.0  # between two looks for pipelines that are new, changed or gone
_LEAVE_S: Final = 5.0
_LOG: Final = logging.getLogger(__name__)


class KnownPipelines(Protocol):
    """Knows pipelines by their names."""

    def names(self) -> Sequence[str]:
        """Return their names."""
        ...

    def version(self, name: str) -> int:
        """Return a number that changes with the pipeline's settings."""
        ...

    def pipeline(self, name: str) -> Pipeline:
        """Return a pipeline, checked."""
        ...


class Followed(NamedTuple):
    """A pipeline whose board is followed."""

    version: int
    kind: str  # of the source
    target: str | None  # its kind
    server: str = ""  # what its topics begin with
    logs: str | None = None  # the topic of its lines
    notices: NoticeSettings | None = None
    slo: SloTerms | None = None
    brokers: str = ""  # the addresses of its Kafka


class BoardView(NamedTuple):
    """A pipeline's board."""

    followed: Followed
    halves: Mapping[Half, HalfBoard]
    history: PipelineHistory
    slo: SloReport | None = None  # as of the last minute


class ViewVersion(NamedTuple):
    """Of all that a page of a pipeline is made of."""

    board: int
    sampled_ms: int  # when its charts got their last sample


class WorkerViews:
    """Looks at these pipelines; any thread may ask."""

    def __init__(
        self,
        pipelines: KnownPipelines,
        boards: BoardFollower,
        assessing: Callable[[str, bool], Begin],
        working_on_letters: Callable[[str, LetterWork], Begin],
        notifier: Notifier,
    ) -> None:
        """Take also what starts processes that check a pipeline or work on its letters, and who is told."""
        self._notifier = notifier
        self._pipelines, self._boards, self._assessing = pipelines, boards, assessing
        self.letters = LetterDesk(working_on_letters)
        self._followed: dict[str, Followed] = {}
        self._histories: dict[str, PipelineHistory] = {}
        self._slos: dict[str, SloReport] = {}
        self._lock = Lock()
        self.quick = AnswerCache(PATIENCE_S, longest=0)  # rows' values must not stay in memory

    def names(self) -> Sequence[str]:
        """Return the pipelines' names."""
        return self._pipelines.names()

    def status(self, name: str) -> PipelineStatus:
        """Return what the board says now; if the settings are no longer good here, raise their fault."""
        has_target = self._follow(name).target is not None
        with self._boards.held(name) as halves:
            return pipeline_status(name, halves, now_ms(), has_target=has_target)

    def version(self, name: str) -> ViewVersion:
        """Return numbers that are others once a pipeline's board says something else."""
        self._follow(name)
        history = self._histories.get(name)
        return ViewVersion(self._boards.version(name).all, 0 if history is None else history.last_ms)

    @contextmanager
    def board(self, name: str) -> Iterator[BoardView]:
        """Yield a pipeline's board as it is now."""
        followed = self._follow(name)
        with self._boards.held(name) as halves:
            history = self._histories.setdefault(name, PipelineHistory())
            yield BoardView(followed, halves, history, self._slos.get(name))

    def receipts(self, name: str) -> Sequence[Receipt]:
        """Return a pipeline's newest requests, the newest first."""
        self._follow(name)
        return self._boards.receipts(name)

    def errors(self, name: str) -> Mapping[Half, Sequence[tuple[ErrorDay, ErrorCount]]]:
        """Return how often each half has logged each error on each day."""
        self._follow(name)
        return self._boards.errors(name)

    def lines(self, name: str) -> Sequence[bytes] | None:
        """Return the newest lines of both halves, oldest first; None: they are not sent."""
        topic = self._follow(name).logs
        return None if topic is None else self._boards.lines(topic)

    def numbered_lines(self, name: str) -> Sequence[tuple[int, bytes]] | None:
        """Return the same with their offsets."""
        topic = self._follow(name).logs
        return None if topic is None else self._boards.numbered_lines(topic)

    def column_maps(self, name: str, column: str = "", table: str = "") -> Mapping[str, MapsOfTable]:
        """Return a table's maps of columns, or those of the tables that may have a column."""
        self._follow(name)
        return maps_of(self._boards.maps(name), column, table)

    def slo(self, name: str) -> SloReport | None:
        """Return how a pipeline's promise went until now; None: it promises nothing."""
        terms = self._follow(name).slo
        if terms is None:
            return None
        with self._boards.held(name, past=True) as halves:
            return slo_report(halves[Half.TARGET], terms, now_ms())

    def wish_table(self, name: str, table: str, wish: TableWish, by: str) -> None:
        """Write a wish for a table that the board knows."""
        if name not in self._pipelines.names():
            raise NO_CONNECTOR(name=shown_name(name))
        pipeline = self._pipelines.pipeline(name)
        self._follow(name)
        with self._boards.held(name) as halves:
            known = table in halves[Half.SOURCE].tables or table in halves[Half.TARGET].tables
        if not known:
            raise NO_TABLE(name=name, table=shown_name(table))
        if pipeline.target is None:
            raise NO_TARGET(name=name, table=shown_name(table))
        send_wish(pipeline.good(), table, wish, by)

    def brokers(self, name: str) -> str:
        """Return the addresses of a pipeline's Kafka."""
        if name not in self._pipelines.names():
            raise NO_CONNECTOR(name=shown_name(name))
        return self._follow(name).brokers

    def events(self, name: str, question: EventQuestion) -> EventLook:
        """Read some of a table's events from Kafka."""
        return look_at_events(self._good(name), question)

    def shapes(self, name: str, table: str) -> ShapeLook:
        """Return the newest shapes of a table, from the schema registry."""
        return look_at_shapes(self._good(name), table)

    def request_rows(self, name: str, body: bytes) -> None:
        """Send a signal that was found good, and wait until Kafka has it."""
        send_signal(self._pipelines.pipeline(name).good(), body)

    def assess(self, name: str, *, probe: bool) -> Mapping[str, Any]:
        """Check it in a separate process; with `probe`, try its servers there."""
        patience = PROBE_PATIENCE if probe else PATIENCE
        found: Mapping[str, Any] = assess(name, self._assessing(name, probe), patience)
        return found

    def follow_all(self) -> None:
        """Follow the boards of all pipelines that exist, and of no others; forget old outcomes of letters."""
        self.letters.forget_old()
        known = set(self._followed)  # first: a page may open a pipeline that is made while this passes
        names = self._pipelines.names()
        for name in names:
            try:
                self._follow(name)
            except WracklineError:  # it is said to the caller that asks for this pipeline
                self._boards.leave(name)
            except Exception as error:  # noqa: BLE001 - else one pipeline would stop all others
                _LOG.warning("%s can't be followed now: %s", name, type(error).__name__)
        with self._lock:
            for name in known - set(names):
                self._leave_lines(self._followed.pop(name))
                self._histories.pop(name, None)
                self._slos.pop(name, None)
                self._notifier.forget(name)
                self._boards.leave(name)
            followed = list(self._followed)
        for name in filter(self._boards.is_read, followed):
            try:
                self._look(name, now_ms())
            except Exception as error:  # noqa: BLE001 - as above
                _LOG.warning("the board of %s can't be looked at now: %s", name, type(error).__name__)

    def _look(self, name: str, at_ms: int) -> None:
        """Add a summary to a pipeline's history if that is due, and send notices of what has changed."""
        history = self._histories.setdefault(name, PipelineHistory())
        if history.is_due(at_ms):
            self._judge(name, at_ms)
            with self._boards.held(name) as halves:
                history.add(summarise(halves, at_ms))
                if (settings := self._followed.get(name)) is not None:
                    self._notifier.look(name, settings.notices, halves, at_ms, self._slos.get(name))

    def _judge(self, name: str, at_ms: int) -> None:
        """Count the minutes again when there is one more: with many tables that takes a moment."""
        known, followed = self._slos.get(name), self._followed.get(name)
        if followed is None or followed.slo is None:
            self._slos.pop(name, None)
        elif known is None or known.at_ms // MINUTE_MS != at_ms // MINUTE_MS or known.terms != followed.slo:
            with self._boards.held(name, past=True) as halves:
                self._slos[name] = slo_report(halves[Half.TARGET], followed.slo, at_ms)

    def _good(self, name: str) -> Values:
        if name not in self._pipelines.names():
            raise NO_CONNECTOR(name=shown_name(name))
        return self._pipelines.pipeline(name).good()

    def _follow(self, name: str) -> Followed:
        version, known = self._pipelines.version(name), self._followed.get(name)
        if known is not None and known.version == version:
            return known
        pipeline = self._pipelines.pipeline(name)  # it may read a slow secret, so no other page waits for it
        with self._lock:
            known = self._followed.get(name)
            if known is None or known.version < version:
                values = pipeline.good()
                self._boards.follow(name, values)
                if known is not None:
                    self._leave_lines(known)
                server, lines = values.text("topic.prefix"), logs_topic(values)
                known = self._followed[name] = Followed(
                    version,
                    pipeline.source or "",
                    pipeline.target,
                    server,
                    lines,
                    NoticeSettings.of(values),
                    SloTerms.of(values),
                    values.text("kafka.bootstrap.servers"),
                )
                if lines is not None:
                    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
                    self._boards.follow_lines(lines, client)
        return known

    def _leave_lines(self, followed: Followed) -> None:
        if followed.logs is not None:
            self._boards.leave_lines(followed.logs)


@contextmanager
def following(views: WorkerViews) -> Iterator[None]:
    """Follow the boards of all pipelines until the block ends."""
    ending = Event()

    def follow() -> None:
        while not ending.is_set():
            try:
                views.follow_all()
            except Exception as error:  # noqa: BLE001 - else no pipeline would be followed from now on
                _LOG.warning("the boards can't be looked at now: %s", type(error).__name__)
            ending.wait(until_step(_EVERY_S, SAMPLE_S))

    thread = Thread(target=follow, name="boards", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(_LEAVE_S)
