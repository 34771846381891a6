"""The pipelines of a worker's files, as REST and the console ask for them."""

from collections.abc import Callable
from contextlib import closing

import pytest
from fastapi import Request

from tests.unit.control.test_pipeline_views import begins
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.control.runtime.worker.pipeline_views import WorkerViews
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline


def _nothing_restarts(name: str, rests: Callable[[str], bool]) -> Pipeline:
    raise AssertionError(name, rests)


def test_a_name_that_there_is_not_is_refused_with_its_own_error() -> None:
    with pytest.raises(WracklineError) as refused:
        FileConnectors({}, print, _nothing_restarts).standing("nobody")
    assert refused.value.code == NO_CONNECTOR.code


def test_a_worker_by_files_is_the_only_member() -> None:
    crew = FileConnectors({}, print, _nothing_restarts)
    crew.worker = "here:8083"
    assert [(one.name, one.slots, one.leads) for one in crew.members()] == [("here:8083", None, False)]


def test_a_page_of_a_name_that_there_is_not_has_a_version() -> None:
    crew = FileConnectors({}, print, _nothing_restarts)
    with closing(BoardFollower()) as boards:
        views = WorkerViews(crew, boards, begins, begins, Notifier(lambda: False, lambda *_: None, str))
        scope = {"type": "http", "raw_path": b"/console/p/nobody", "query_string": b"", "headers": []}
        request = Request(scope)
        version = PageFrame(crew, views).version(request, "nobody")
    assert version[-2:] == ("nobody", str(NO_CONNECTOR(name="nobody")))
