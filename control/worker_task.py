"""A worker's child: one pipeline's source half, which ends when its worker does.

In: a pipeline's file, and the number of its end of the lifeline.  Out: the lines of `wrackline run`, the
task's states and the reason of its end through the lifeline, and the exit code of that reason's kind.
"""

import sys
from pathlib import Path

from wrackline.control.exits import exit_of
from wrackline.control.logs.lines import log_through
from wrackline.control.pipeline_file import good_pipeline
from wrackline.control.run import run
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.producers.connect.supervision import State
from wrackline.producers.lanes import Health
from wrackline.schemas.errors import WracklineError

_STATES = {
    Health.STARTING: State.STARTING,
    Health.RUNNING: State.RUNNING,
    Health.RECOVERING: State.RECOVERING,
    Health.COMPLETED: State.COMPLETED,
}


def main() -> None:
    """Run the pipeline of the named file."""
    file, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    lifeline = Lifeline(descriptor)
    lifeline.hold()
    log = log_through(lambda line: lifeline.tell({"line": line}))

    def tell(health: Health, error: Exception | None) -> None:
        del error  # what it recovers from, it says
        lifeline.tell({"state": _STATES[health].value})

    try:
        run(good_pipeline(file, log), log, tell=tell)
    except WracklineError as error:
        lifeline.tell({"error": error.document()})
        log.error(  # noqa: TRY400 - no traceback: the error says it all
            "failed", line=f"error {error}", error=error.document()
        )
        sys.exit(exit_of(error))


if __name__ == "__main__":
    main()
