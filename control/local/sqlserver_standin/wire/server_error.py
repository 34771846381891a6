"""What the server answers instead of a result: a number, a sentence, a severity and a state."""


class ServerError(Exception):
    """An error as SQL Server numbers it."""

    def __init__(self, number: int, text: str, *, severity: int = 16, state: int = 1) -> None:
        super().__init__(f"{number}: {text}")
        self.number = number
        self.text = text
        self.severity = severity
        self.state = state


def protocol_error(detail: str) -> ServerError:
    """Say that a request's bytes are not TDS."""
    return ServerError(
        4002, f"The incoming tabular data stream (TDS) protocol stream is incorrect: {detail}."
    )


def unknown_statement(text: str, why: str) -> ServerError:
    """Refuse a statement that the stand-in does not know, and name it; a real server may well know it."""
    return ServerError(
        102,
        f"The stand-in for SQL Server does not know this statement ({why}): {text[:1500]}",
        severity=15,
    )
