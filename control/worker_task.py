"""A worker's child: one pipeline's source half, which ends when its worker does.

In: a pipeline's file, and the number of its end of the lifeline.  Out: what `wrackline run` prints, the
task's states and the reason of its end through the lifeline, and the exit code of that reason's kind.
"""

import sys
from pathlib import Path

from wrackline.control.exits import Exit, exit_of
from wrackline.control.pipeline_file import Unfit, good_pipeline, show_findings
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

    def tell(health: Health, error: Exception | None) -> None:
        del error  # what it recovers from, it prints
        lifeline.tell({"state": _STATES[health].value})

    try:
        run(good_pipeline(file), tell)
    except Unfit as unfit:
        show_findings(unfit.file, unfit.checked)
        sys.exit(Exit.FINDINGS)
    except WracklineError as error:
        reason = {"code": error.code, "kind": type(error).__name__, "sentence": error.sentence}
        lifeline.tell({"error": {**reason, "hint": error.hint}})
        sys.stdout.write(f"error {error}\n")
        sys.exit(exit_of(error))


if __name__ == "__main__":
    main()
