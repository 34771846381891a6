"""The tasks of a worker's files: a restart of a connector deals its databases as its file says by then."""

import socket
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.corpus.worker import GOOD
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.routes.connector_routes import restart_connector
from wrackline.control.runtime.worker import task_process
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.control.runtime.worker.file_tasks import SAME_NAME, FileTasks
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.deal import Deal, TaskShare
from wrackline.schemas.pipelines.pipeline import Pipeline

RUN, PAUSE, RESTART = DesiredState.RUN, DesiredState.PAUSE, DesiredState.RESTART


def place(number: int, sources: int, deal: int, *names: str) -> TaskPlace:
    """A task of a deal of these databases."""
    return TaskPlace(number, sources, deal, (("database.names", names), ("database.dbname", None)))


HAD = {number: place(number, 2, 5, "a", "b", "c") for number in range(2)}


class Files:
    """A worker with one file, whose processes are only counted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 5
        monkeypatch.setattr("wrackline.control.runtime.worker.file_tasks.now_ms", lambda: self.now)
        self.file = folder / "shop.toml"
        self.write("a,b,c", 2)
        self.tasks = FileTasks({self.file: good_pipeline(self.file)}, self._way)
        self.given: list[tuple[str, TaskPlace, DesiredState]] = []
        self.gone: list[str] = []
        self.wished: list[tuple[str, DesiredState]] = []
        supervisor = cast(
            "Supervisor", SimpleNamespace(give=self._give, let_go=self._let_go, wish=self._wished)
        )
        self.crew = FileConnectors(
            self.tasks.named, supervisor.wish, lambda name, rests: self.tasks.restart(supervisor, name, rests)
        )

    def write(self, names: str, most: int, word: str = "first", name: str = "shop", more: str = "") -> None:
        given = {**GOOD, "name": name, "database.names": names, "database.password": word}
        del given["database.dbname" if names else "database.names"]
        lines = [f'"{key}" = "{value}"' for key, value in given.items()]
        self.file.write_text("\n".join([*lines, f"tasks.max = {most}", more]))

    def _way(self, file: Path, place: TaskPlace) -> Any:
        assert file == self.file
        return place

    def _give(self, key: str, begin: Any, wish: DesiredState) -> None:
        self.given.append((key, begin, wish))

    def _let_go(self, key: str) -> Event:
        self.gone.append(key)
        return Event()

    def _wished(self, key: str, wish: DesiredState) -> None:
        self.wished.append((key, wish))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    return Files(tmp_path, monkeypatch)


def test_all_tasks_begin_with_the_deal_of_the_worker_s_start(files: Files) -> None:
    assert dict[str, Any](files.tasks.begins()) == {"shop": HAD[0], "shop:1": HAD[1]}


@pytest.mark.parametrize(
    ("change", "places", "gone"),
    [
        (lambda files: files.write("a,b,c", 2, "second"), HAD, []),
        (lambda files: files.write("b,a,c", 2), {n: place(n, 2, 9, "b", "a", "c") for n in range(2)}, []),
        (lambda files: files.write("a,b,c", 3), {n: place(n, 3, 9, "a", "b", "c") for n in range(3)}, []),
        (lambda files: files.write("a,b,c", 1), {0: place(0, 1, 9, "a", "b", "c")}, ["shop:1"]),
        (lambda files: files.write("d", 2), {0: place(0, 1, 9, "d")}, ["shop:1"]),
    ],
)  # fmt: skip
def test_a_restart_deals_as_the_file_says(
    files: Files, change: Callable[[Files], None], places: dict[int, TaskPlace], gone: list[str]
) -> None:
    files.now = 9
    change(files)
    files.crew.wish("shop", RESTART)
    keys = ("shop", "shop:1", "shop:2")
    assert files.given == [(keys[number], place, RUN) for number, place in places.items()]
    assert (files.gone, files.wished) == (gone, [])
    assert dict[str, Any](files.tasks.begins()) == {keys[number]: place for number, place in places.items()}


def test_a_clock_that_was_set_back_makes_no_older_deal(files: Files) -> None:
    files.now = 3
    files.write("b,a,c", 2)
    files.crew.wish("shop", RESTART)
    assert [place.deal for _, place, _ in files.given] == [6, 6]


@pytest.mark.parametrize(
    "change",
    [
        lambda files: files.write("b,a", 1, more="tasks.max = nonsense"),
        lambda files: files.write("b,a", 1, more='"no.such.setting" = "x"'),
        lambda files: files.write("b,a", 1, name="other"),
        lambda files: files.file.unlink(),
    ],
)  # fmt: skip
def test_a_file_that_is_of_no_use_changes_nothing_here(files: Files, change: Callable[[Files], None]) -> None:
    before, files.now = files.crew.pipeline("shop"), 9
    change(files)
    files.crew.wish("shop", RESTART)
    assert files.given == [("shop", HAD[0], RUN), ("shop:1", HAD[1], RUN)], "each reports its fault by itself"
    assert files.crew.pipeline("shop") is before


def test_what_rests_is_dealt_too_and_stays_so(files: Files) -> None:
    files.now = 9
    for key, state in (("shop", TaskState.RUNNING), ("shop:1", TaskState.PAUSED)):
        files.crew.stands(key, ConnectorState(state))
    files.write("b,a,c", 2)
    assert restart_connector(files.crew, "shop")
    assert [(key, wish) for key, _, wish in files.given] == [("shop", RUN), ("shop:1", PAUSE)]


def test_one_task_begins_again_as_it_was_dealt(files: Files) -> None:
    files.write("b,a,c", 2)
    files.crew.wish("shop", RESTART, 1)
    assert (files.wished, files.given) == ([("shop:1", RESTART)], [])


@pytest.mark.parametrize(
    "change",
    [
        lambda files: files.write("b,a,c", 2, "second"),
        lambda files: files.write("a,b,c", 3, "second"),
        lambda files: files.write("a", 1, "second"),
        lambda files: files.write("d,e,f,g", 9, "second"),
        lambda files: files.write("", 1, "second"),
    ],
)  # fmt: skip
def test_a_task_that_begins_again_alone_keeps_the_databases_of_the_deal(
    files: Files, change: Callable[[Files], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With those of the file it would find another deal under its number, and fail."""
    taken: list[tuple[TaskShare, tuple[str, ...], object, str]] = []

    def run(pipeline: Pipeline, _: object, share: TaskShare, **__: object) -> None:
        values = pipeline.good()
        word = values.secret("database.password").reveal()
        taken.append((share, values.listed("database.names"), values["database.dbname"], word))

    monkeypatch.setattr(task_process, "run", run)
    monkeypatch.setattr(Lifeline, "hold", lambda _: None)  # which would end this process
    change(files)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for begin in files.tasks.begins().values():
            task_process.run_file(files.file, cast("TaskPlace", begin), theirs)
    deal, names = Deal(5, (("a", "c"), ("b",))), ("a", "b", "c")
    assert taken == [(TaskShare(deal, number), names, None, "second") for number in range(2)]


def test_a_deal_of_one_database_is_kept_too(files: Files) -> None:
    files.write("", 1)
    files.crew.wish("shop", RESTART)
    files.write("a,b", 2)
    kept = cast("TaskPlace", files.tasks.begins()["shop"])
    pipeline = kept.dealt(good_pipeline(files.file))
    assert kept.share(pipeline) == TaskShare(Deal(6, (("",),)), 0)
    values = pipeline.good()
    assert (values["database.names"], values["database.dbname"]) == (None, "shop")


def test_settings_that_a_source_lacks_are_not_given_to_it(files: Files) -> None:
    given = {**GOOD, "name": "shop", "connector.class": "mysql", "database.server.id": "7"}
    del given["database.dbname"], given["database.sslmode"]
    lines = [f'"{key}" = "{value}"' for key, value in given.items()]
    files.file.write_text("\n".join(lines))
    pipeline = good_pipeline(files.file)
    assert HAD[0].dealt(pipeline) is pipeline
    files.crew.wish("shop", RESTART)
    assert dict[str, Any](files.tasks.begins()) == {"shop": TaskPlace(0, 1, 6)}


def test_what_is_shown_is_what_was_read_last(files: Files) -> None:
    assert files.crew.known_config("shop") is None
    assert (files.crew.config("shop")["database.names"], files.crew.version("shop")) == ("a,b,c", 0)
    files.write("a,b,c,d", 2)
    assert files.crew.config("shop")["database.names"] == "a,b,c"
    files.crew.wish("shop", RESTART)
    assert files.crew.known_config("shop") is None
    assert (files.crew.config("shop")["database.names"], files.crew.version("shop")) == ("a,b,c,d", 1)
    assert files.crew.known_config("shop") == files.crew.config("shop")
    assert len(files.crew.standing("shop").sources) == 2


def test_secrets_of_both_readings_are_removed(files: Files) -> None:
    files.write("a,b,c", 2, "the-second-word")
    assert files.tasks.clean("the-second-word") == "the-second-word"
    files.crew.wish("shop", RESTART)
    assert files.tasks.clean("first the-second-word") == "*** ***"
    files.write("a,b,c", 2, "the-third-word")
    files.crew.wish("shop", RESTART)
    assert files.tasks.clean("first the-second-word the-third-word") == "first *** ***"


def test_two_files_of_one_name_are_refused(files: Files) -> None:
    other = files.file.with_name("other.toml")
    other.write_text(files.file.read_text())
    with pytest.raises(WracklineError) as told:
        FileTasks({one: good_pipeline(one) for one in (files.file, other)}, lambda *_: cast("Any", None))
    assert told.value.code == SAME_NAME.code
