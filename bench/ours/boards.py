"""A worker's console and REST over many boards, while Kafka, the databases and the targets are away.

python -m bench.ours.boards PORT PIPELINES TABLES CHANGED    prints its address once it answers

What is measured is a worker's own: it checks the settings, follows the boards and answers.  Only Kafka is
missing, so the records that it would have read are handed to it here, the halves' signs of life among them.
One table of CHANGED has changed since the last report; 0: none has.  The charts of each pipeline are full.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.routing import console_routes
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_summary import summarise
from wrackline.control.runtime.files.file_drafts import FileDrafts
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.times import FIGURES_S, now_ms, until_step
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.drafts import DraftAccess
from wrackline.control.runtime.rest.server.app import MoreRoutes
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.control.runtime.worker.pipeline_views import WorkerViews, following
from wrackline.control.runtime.worker.worker import serve_rest
from wrackline.control.runtime.worker.worker_log import RestReports
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import BoardKey, Document, Half, encode
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

_STEPS: Final = 450  # of a chart that is full
_NOBODY: Final = "127.0.0.1:1"


def main(port: int, pipelines: int, tables: int, changed: int) -> None:
    """Serve until the process is ended."""
    named = {name: pipeline(name) for name in (f"p{number:03}" for number in range(pipelines))}
    boards = HandedBoards()
    with served(named, boards, port) as (door, views):
        for name in named:
            for key, document in _documents(name, range(tables)):
                boards.hand(key, document)
            _fill(views, name)
        print(door, flush=True)
        for round_ in range(1 << 62):
            time.sleep(until_step(FIGURES_S))
            some = range(round_ % changed, tables, changed) if changed else ()
            for name in named:
                for key, document in _documents(name, some, round_ + 1):
                    boards.hand(key, document)


@contextmanager
def served(
    named: Mapping[str, Pipeline], boards: BoardFollower, port: int
) -> Iterator[tuple[str, WorkerViews]]:
    """Serve the console and REST over these boards, as a worker does; yield the address, and the views."""
    connectors = FileConnectors(named, lambda _task, _wish: None, lambda name, _rests: named[name])
    views = WorkerViews(
        connectors, boards, _nobody_begins, _nobody_begins, Notifier(lambda: False, _say, str)
    )
    for name, one in named.items():
        boards.follow(name, one.good())
        for key in (name, f"{name}:target"):
            connectors.stands(key, ConnectorState(TaskState.RUNNING))
    pages = PageFrame(connectors, views)
    more = MoreRoutes([console_routes.routes(pages, _no_drafts(connectors))], pages.no_page)
    reports = RestReports(_say, _say, tuple)
    with (
        serve_rest(connectors, {}, views, RestSettings(port), reports, more=more) as door,
        following(views),
    ):
        connectors.worker = door.worker
        yield door.url, views


def _fill(views: WorkerViews, name: str) -> None:
    """Fill a pipeline's charts with lines that go up and down."""
    with views.board(name) as board:
        now = now_ms()
        summary = summarise(board.halves, now)
        for step in range(_STEPS, 0, -1):
            noise = step * step * 7_919 % 1_009
            board.history.add(
                replace(
                    summary,
                    at_ms=now - int(step * FIGURES_S * 1000),
                    published=summary.published - 3_000 * step + noise,
                    merged=summary.merged - 3_000 * step + noise // 2,
                    late_ms=2_000 + noise,
                )
            )


def _no_drafts(connectors: FileConnectors) -> DraftService:
    drafts = FileDrafts(Path("/nowhere"), _check)
    return DraftService(DraftAccess(drafts, connectors.names, _check, _nobody_begins))


def _check(given: Mapping[str, str]) -> Pipeline:
    return check(given, Installed(), Resolver(Allowed.from_environment({}), {}))


def _say(*told: object) -> None:
    print(*told, file=sys.stderr)


def _nobody_begins(name: str, what: object) -> Begin:
    raise AssertionError(name, what)


def pipeline(name: str, bootstrap: str = _NOBODY) -> Pipeline:
    """Return a pipeline that was found good."""
    given = {
        "name": name, "topic.prefix": name, "connector.class": "postgres", "target.kind": "iceberg",
        "database.hostname": "127.0.0.1", "database.port": "1", "database.user": "u",
        "database.dbname": "shop",
        "kafka.bootstrap.servers": bootstrap, "schema.registry.url": f"http://{_NOBODY}",
        "target.warehouse": "/nowhere",
    }  # fmt: skip
    return _check(given)


class HandedBoards(BoardFollower):
    """Boards whose records are handed over, as the follower's own thread would take them."""

    def hand(self, key: BoardKey, document: Document) -> None:
        """Take a record."""
        with self._lock:
            self._board.apply(key.encode(), encode(document, now_ms()), now_ms())

    def is_read(self, pipeline: str) -> bool:
        """Return that all has been read, so that the worker remembers what was."""
        return pipeline in self.pipelines


def _documents(name: str, tables: Iterable[int], round_: int = 0) -> Iterator[tuple[BoardKey, Document]]:
    now = now_ms()
    process = {"host": "db-host-1", "pid": 4711, "since_ms": now - 3_600_000, "began_ms": now - 3_600_000}
    process |= {"error": None}
    log = {"behind_bytes": 18_000, "retained_bytes": 72_000, "lag_ms": 14, "last_ms": now, "through_ms": now}
    for half in Half:
        for number in tables:
            table = f"shop.public.table_{number:05}"
            key = BoardKey(name, half, table)
            yield key, _source_table(table, round_) if half is Half.SOURCE else _target_table(round_, now)
    source = {"state": "running", "events": 1_000 * round_, "databases": {"shop": log}, **process}
    yield BoardKey(name, Half.SOURCE), source
    yield BoardKey(name, Half.TARGET), {"state": "running", "through_ms": now - 2_000, **process}


def _source_table(table: str, round_: int) -> Document:
    return {"table": table, "state": "streaming", "events": {"c": 70 + round_, "u": 30}}


def _target_table(round_: int, now: int) -> Document:
    lag = {"publish": 12, "wait": 300, "merge": 600, "whole": 912}
    return {
        "standing": "going", "offsets": {"0": 900 + round_}, "ends": {"0": 900 + round_}, "behind": 0,
        "seq": "0a", "merged_ms": now - 800, "lag_ms": lag, "events": {"c": 70 + round_, "u": 30},
        "batches": 40 + round_, "seconds": {"read": 1.5, "apply": 4.0}, "current": True,
    }  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
