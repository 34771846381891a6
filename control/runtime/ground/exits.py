"""The exit codes of every command; scripts may rely on them."""

from collections.abc import Iterable
from enum import IntEnum

from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError


class Exit(IntEnum):
    """The meaning of a command's exit code."""

    OK = 0  # done; findings, if any, are warnings
    FINDINGS = 1  # a finding of severity error: what was checked would not run
    USAGE = 2  # the command line itself is wrong
    WARNINGS = 2  # of `assess` alone: a warning that nobody has accepted, so the gate is closed as well
    TRANSIENT = 3  # the same command may succeed later
    OPERATOR = 4  # do what the hint says first
    DEFINITE = 5  # the same command can never succeed
    FAULT = 70  # a fault of Wrackline's own
    LEFT = 130  # Ctrl-C, or a question was answered with no


_BY_KIND: tuple[tuple[type[WracklineError], Exit], ...] = (
    (Transient, Exit.TRANSIENT),
    (OperatorNeeded, Exit.OPERATOR),
    (Definite, Exit.DEFINITE),
)


def exit_of(error: WracklineError) -> Exit:
    """Return the exit code that an error ends a command with."""
    return next((code for kind, code in _BY_KIND if isinstance(error, kind)), Exit.FAULT)


def exit_of_all(errors: Iterable[WracklineError]) -> Exit:
    """Return the code of the error that is hardest to repair."""
    return max(map(exit_of, errors), default=Exit.OK)
