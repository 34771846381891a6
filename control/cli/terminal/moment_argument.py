"""A moment that a user gives on the command line."""

from datetime import UTC, datetime

import typer


def parse_moment(text: str) -> datetime:
    """Read it as ISO writes it; without a zone it is UTC."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("a moment is written as 2026-05-01T12:00:00+02:00") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
