"""A moment that a user gives on the command line."""

from datetime import datetime
from typing import Final

import typer

from wrackline.control.runtime.ground import times

FORM: Final = "a moment is written as 2026-05-01T12:00:00+02:00"


def parse_moment(text: str) -> datetime:
    """Read it as ISO writes it; without a zone it is UTC."""
    try:
        return times.parse_moment(text)
    except ValueError:
        raise typer.BadParameter(FORM) from None
