"""The command line: `wrackline`, and `python -m wrackline.control`.

In: arguments.  Out: text or JSON on standard output, and an exit code.

    command_line   the application: every verb, and the verbs that have no file of their own
    commands/      one file for a verb or a group of verbs
    assess/        `wrackline assess`
    init/          `wrackline init`
    tail/          `wrackline tail`
    remote/        verbs that a worker elsewhere carries out, by REST
    terminal/      how commands print and how they end
    submit/        the application that spark-submit takes
"""

from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with one of `Exit`."""
    # here, because the rooms below are imported without the verbs
    from wrackline.control.cli.command_line import main as run  # noqa: PLC0415

    run(arguments)
