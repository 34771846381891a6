"""What the page of workers shows: members of the group with their slots, tasks and versions.  Pure."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.control.console.page_words import TASK_BADGES, Badge, count_or_dash
from wrackline.control.runtime.ground.number_text import duration_text
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import GroupMember

_MOST: Final = 50  # tasks of a worker that are named


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """A half of a pipeline, or a task of it, that a worker has."""

    pipeline: str
    half: str
    badge: Badge


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker."""

    name: str
    leads: bool
    here: bool  # whether it made this page
    slots: str
    version: str
    runs_for: str
    counts: Sequence[tuple[Badge, int]]
    tasks: Sequence[WorkerTask]
    more: int


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """The page."""

    grouped: bool
    workers: Sequence[WorkerRow]
    homeless: Sequence[WorkerTask]  # tasks that no worker has now
    versions: Sequence[str]  # if there are several


def workers_page(
    members: Sequence[GroupMember], standings: Mapping[str, ConnectorState], here: str, at_ms: int
) -> WorkersPage:
    """Make the page; `here` is the worker that makes it."""
    tasks: defaultdict[str, list[WorkerTask]] = defaultdict(list)
    grouped = any(one.slots is not None for one in members)
    for name, standing in sorted(standings.items()):
        sources = {f"source, task {number}": one for number, one in enumerate(standing.sources)}
        for half, one in {**(sources or {"source": standing}), "target": standing.target}.items():
            if one is not None:
                worker = one.worker or ("" if grouped else here)
                tasks[worker].append(WorkerTask(name, half, TASK_BADGES[one.state]))
    known = {one.name for one in members}
    versions = sorted({one.version for one in members if one.version})
    return WorkersPage(
        grouped,
        [_row(one, tasks[one.name], here, at_ms) for one in members],
        [task for worker, its in tasks.items() if worker not in known for task in its][:_MOST],
        versions if len(versions) > 1 else (),
    )


def _row(member: GroupMember, tasks: Sequence[WorkerTask], here: str, at_ms: int) -> WorkerRow:
    counts = Counter(task.badge for task in tasks)
    return WorkerRow(
        member.name,
        member.leads,
        member.name == here,
        count_or_dash(member.slots),
        member.version,
        duration_text(max(0, at_ms - member.began_ms)),
        counts.most_common(),
        tasks[:_MOST],
        max(0, len(tasks) - _MOST),
    )
