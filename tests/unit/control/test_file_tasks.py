"""The tasks of a worker's files: a restart of a connector deals its databases as its file says by then."""

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
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.control.runtime.worker.file_tasks import SAME_NAME, FileTasks
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import WracklineError

RUN, PAUSE, RESTART = DesiredState.RUN, DesiredState.PAUSE, DesiredState.RESTART
HAD = {0: TaskPlace(0, 2, 5), 1: TaskPlace(1, 2, 5)}


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
        del given["database.dbname"]
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
        (lambda files: files.write("b,a,c", 2), {n: TaskPlace(n, 2, 9) for n in range(2)}, []),
        (lambda files: files.write("a,b,c", 3), {n: TaskPlace(n, 3, 9) for n in range(3)}, []),
        (lambda files: files.write("a,b,c", 1), {0: TaskPlace(0, 1, 9)}, ["shop:1"]),
        (lambda files: files.write("d", 2), {0: TaskPlace(0, 1, 9)}, ["shop:1"]),
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
