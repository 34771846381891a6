"""What a group's workers say of themselves and of their tasks: the records of `<group>-status`.  Pure.

    worker-<id>         {"slots", "since"}                                which it owns
    status-<name>-0     {"state", "reason", "worker", "claim", "cut"}     how a task is

Each is written by the worker itself.  One that was frozen, and does not know yet that its tasks are
another's, may write too: `claim` grows with every worker that takes a task, and a lower one than was heard
counts for nothing.  A state of another cut than the connector's is one of a configuration that has passed:
a connector that was deleted and made again counts its claims anew, and its forerunner's count for nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import orjson

from wrackline.control.group.records import TASK
from wrackline.producers.connect.supervision import State

_STATUS: Final = f"-{TASK}"


@dataclass(frozen=True, slots=True)
class Report:
    """How a task is, by the worker that has it."""

    state: State
    worker: str
    claim: int
    cut: int
    reason: str | None = None


class Heard:
    """The fold of the records."""

    def __init__(self) -> None:
        self.tasks: dict[str, Report] = {}
        self.owners: dict[int, str] = {}
        self.since: dict[str, int] = {}  # when each worker began, as it said last

    def apply(self, key: bytes, value: bytes | None) -> str | None:
        """Take the next record; return the task that one has spoken of who has it no longer.

        ValueError, KeyError or TypeError: nothing is known of such a record.
        """
        kind, _, name = key.decode().partition("-")
        document = None if value is None else orjson.loads(value)
        if kind == "worker":
            slots = [] if document is None else [int(slot) for slot in document["slots"]]
            kept = {slot: worker for slot, worker in self.owners.items() if worker != name}
            self.owners = kept | dict.fromkeys(slots, name)
            self.since[name] = 0 if document is None else int(document["since"])
            return None
        if kind != "status":
            raise ValueError(kind)
        task = name.removesuffix(_STATUS)
        if document is None:
            self.tasks.pop(task, None)
            return None
        known, told = self.tasks.get(task), _report(document)
        if known is not None and (told.cut, told.claim) < (known.cut, known.claim):
            return task
        self.tasks[task] = told
        return None

    def next_claim(self, task: str) -> int:
        """The number that a worker takes the task with."""
        known = self.tasks.get(task)
        return 1 if known is None else known.claim + 1


def of_worker(worker: str, slots: Iterable[int], since: int) -> tuple[bytes, bytes]:
    """Say which slots it owns, and when it began: two of one name are told apart by that."""
    return f"worker-{worker}".encode(), orjson.dumps({"slots": sorted(slots), "since": since})


def gone(worker: str) -> tuple[bytes, None]:
    """Say that it leaves."""
    return f"worker-{worker}".encode(), None


def of_task(name: str, report: Report) -> tuple[bytes, bytes]:
    """Say how a task is."""
    told = {"state": report.state.value, "worker": report.worker, "claim": report.claim, "cut": report.cut}
    more = {} if report.reason is None else {"reason": report.reason}
    return f"status-{name}{_STATUS}".encode(), orjson.dumps(told | more)


def forget(name: str) -> tuple[bytes, None]:
    """Forget a task that is there no longer."""
    return f"status-{name}{_STATUS}".encode(), None


def _report(read: dict[str, object]) -> Report:
    reason = read.get("reason")
    return Report(
        State(read["state"]),
        str(read["worker"]),
        int(str(read["claim"])),
        int(str(read["cut"])),
        None if reason is None else str(reason),
    )
