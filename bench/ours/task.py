"""One task as a process: `python -m bench.ours.task`, its settings as JSON on standard input.

It writes a line once Python has loaded it, because the start of a peer's JVM is not metered either.  It ends
when standard input does, so it can't be left behind.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Sequence

from wrackline.control.runtime.ground.installed import Installed
from wrackline.producers.contract.source_plugin import load
from wrackline.producers.contract.steps import Fault
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.task import assembly, memory_tuning
from wrackline.producers.task.task_limits import Clocks
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import SourcePartition


class Silent:
    """Says only what goes wrong."""

    def health(self, health: Health, error: Exception | None) -> None:
        """An error is worth a line."""
        if error is not None:
            print(health, error, file=sys.stderr)

    def resumed(self, state: OffsetsState) -> None:
        """Nothing to say."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """A table at fault would make the figures wrong."""
        print(partition, fault.error, file=sys.stderr)

    def notice(self, error: WracklineError) -> None:
        """What else went wrong, and would keep rows back."""
        print(error, file=sys.stderr)

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Nothing to say."""


def main() -> None:
    """Run until standard input ends."""
    memory_tuning.use_one_heap()  # as `wrackline run` does
    print("loaded", flush=True)
    given = json.loads(sys.stdin.readline())
    pipeline = check(given, Installed(), Resolver(Allowed(), {}))
    if pipeline.source is None or pipeline.values is None:
        raise SystemExit(str(pipeline.problems))
    stopping = threading.Event()
    threading.Thread(target=_end_with_input, args=(stopping,), daemon=True).start()
    moments = Clocks(time.monotonic, lambda: time.time_ns() // 1_000_000, random.random)
    owner = assembly.TaskOwner("bench", 0, lambda: 1, replication=1)
    plugin = load(pipeline.source)
    with assembly.task(plugin, pipeline.values, owner, Silent(), moments, stopping) as task:
        task.run()


def _end_with_input(stopping: threading.Event) -> None:
    sys.stdin.read()
    stopping.set()


if __name__ == "__main__":
    main()
