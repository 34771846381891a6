"""A worker's views of its pipelines: one whose settings are slow to check keeps no other page waiting."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.corpus.worker import GOOD
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.letters import letter_desk
from wrackline.control.runtime.letters.letter_desk import LetterState
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.worker.pipeline_views import WorkerViews
from wrackline.producers.connect.child import Begin
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import BoardKey, Half, HalfBoard
from wrackline.schemas.kafka.column_maps import ColumnMap, ColumnStep
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver


class Boards:
    """Follows nothing, and notes what it was asked to follow."""

    def __init__(self) -> None:
        self.followed: list[str] = []

    def follow(self, name: str, values: object) -> None:
        del values
        self.followed.append(name)

    def leave(self, name: str) -> None:
        self.followed.remove(name)

    def is_read(self, name: str) -> bool:
        return name in self.followed

    @contextmanager
    def held(self, name: str) -> Iterator[Mapping[Half, HalfBoard]]:
        assert name in self.followed
        yield {half: HalfBoard() for half in Half}


class Pipelines:
    """Two pipelines; the settings of one are read from a place that does not answer."""

    def __init__(self) -> None:
        self.asked, self.answers = Event(), Event()
        self.checked: list[str] = []
        self.versions = {"slow": 1, "fast": 1}

    def names(self) -> Sequence[str]:
        return list(self.versions)

    def version(self, name: str) -> int:
        return self.versions[name]

    def pipeline(self, name: str) -> Pipeline:
        if name == "slow":
            self.asked.set()
            assert self.answers.wait(60)
        self.checked.append(name)
        given = {**GOOD, "name": name, "logs.topic": "off"}
        return check(given, Installed(), Resolver(Allowed(), {}))


def begins(name: str, what: object) -> Begin:
    raise AssertionError(name, what)


def test_a_slow_read_of_one_pipelines_settings_keeps_no_page_of_another_waiting() -> None:
    pipelines, boards = Pipelines(), Boards()
    notifier = Notifier(lambda: False, lambda *_: None, str)
    views = WorkerViews(pipelines, cast("BoardFollower", boards), begins, begins, notifier)
    following = Thread(target=views.follow_all)
    following.start()
    try:
        assert pipelines.asked.wait(60)
        seen: list[Any] = []

        def look() -> None:
            with views.board("fast") as board:
                seen.append(board.followed.kind)

        page = Thread(target=look)
        page.start()
        page.join(60)
        assert seen == ["postgres"]
        assert following.is_alive(), "the other one is still waited for"
    finally:
        pipelines.answers.set()
        following.join(60)
    assert boards.followed == ["fast", "slow"]
    pipelines.versions["fast"] = 2
    views.follow_all()
    assert boards.followed == ["fast", "slow", "fast"], "new settings may lead to another Kafka"


def test_a_pipeline_that_is_made_and_opened_during_a_pass_stays_followed() -> None:
    pipelines, boards = Pipelines(), Boards()
    del pipelines.versions["fast"]
    views = WorkerViews(
        pipelines,
        cast("BoardFollower", boards),
        begins,
        begins,
        Notifier(lambda: False, lambda *_: None, str),
    )
    following = Thread(target=views.follow_all)
    following.start()
    try:
        assert pipelines.asked.wait(60)
        pipelines.versions["fast"] = 1
        with views.board("fast"):
            pass
    finally:
        pipelines.answers.set()
        following.join(60)
    assert boards.followed == ["fast", "slow"]
    del pipelines.versions["fast"]
    views.follow_all()
    assert boards.followed == ["slow"], "it is gone"


def test_the_address_of_a_pipelines_kafka_is_known_without_another_check_of_its_settings() -> None:
    pipelines = Pipelines()
    notifier = Notifier(lambda: False, lambda *_: None, str)
    views = WorkerViews(pipelines, cast("BoardFollower", Boards()), begins, begins, notifier)
    assert [views.brokers("fast") for _ in range(3)] == ["broker1:9092"] * 3
    assert pipelines.checked == ["fast"]
    with pytest.raises(WracklineError, match=r"rest\.no_connector"):
        views.brokers("nobody")


def test_an_old_outcome_of_letters_is_forgotten_though_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    pipelines = Pipelines()
    pipelines.versions.clear()
    notifier = Notifier(lambda: False, lambda *_: None, str)
    views = WorkerViews(pipelines, cast("BoardFollower", Boards()), begins, begins, notifier)
    views.letters._states["shop"] = LetterState(at_ms=now_ms(), outcome={})
    views.follow_all()
    assert views.letters._states, "a few minutes are not over"
    monkeypatch.setattr(letter_desk, "_KEPT_S", -1)
    views.follow_all()
    assert not views.letters._states


def test_the_maps_of_columns_that_a_half_has_written_are_seen() -> None:
    steps = (ColumnStep("id", "id", "int64", "bigint"),)
    with closing(BoardFollower()) as boards:
        views = WorkerViews(
            Pipelines(), boards, begins, begins, Notifier(lambda: False, lambda *_: None, str)
        )
        assert views.column_maps("fast") == {}
        record = SimpleNamespace(
            key=lambda: BoardKey("fast", Half.SOURCE, "d.s.t", 10).encode(),
            value=lambda: ColumnMap("d.s.t", steps).encode(),
            topic=lambda: "wrackline-fast-status",
        )
        boards.take(boards._followed["fast"][1], cast("Any", record), 10)
        [(name, (source, target))] = views.column_maps("fast", column="s.t.id").items()
        assert (name, [one.since_ms for one in source], list(target)) == ("d.s.t", [10], [])


def test_a_fault_of_one_pipeline_leaves_the_others_as_they_are() -> None:
    pipelines, boards = Pipelines(), Boards()
    del pipelines.versions["slow"]
    pipelines.versions |= {"first": 1, "fast": 1}
    looks: list[str] = []
    views = WorkerViews(pipelines, cast("BoardFollower", boards), begins, begins, Noting(looks))
    read = pipelines.pipeline

    def pipeline(name: str) -> Pipeline:
        if name == "first":
            raise KeyError(name)
        return read(name)

    pipelines.pipeline = pipeline  # type: ignore[method-assign]
    views.follow_all()
    assert looks == ["fast"], "its settings can't be read"
    pipelines.pipeline = read  # type: ignore[method-assign]
    pipelines.versions["last"] = 1
    views._histories.clear()
    views.follow_all()
    assert looks == ["fast", "fast", "last"], "its notices can't be looked at"


class Noting(Notifier):
    """Fails at one pipeline, and notes the others."""

    def __init__(self, looks: list[str]) -> None:
        super().__init__(lambda: False, lambda *_: None, str)
        self._looks = looks

    def look(self, name: str, *_: Any) -> None:
        if name == "first":
            raise KeyError(name)
        self._looks.append(name)
