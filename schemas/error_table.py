"""What a server's error means: from its number or SQLSTATE to one of our errors.  Pure.

    1045, "08006", "22" (a class of SQLSTATEs)  ->  ErrorTable  ->  a code, whose kind says who acts

A server's message can quote its input, a bound or a cell.  So its words are shown only if the table says that
the message names only objects.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from wrackline.schemas.errors import ErrorCode, WracklineError

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """One server's errors; a SQLSTATE is looked up before its class, whatever their order here."""

    codes: Mapping[ErrorCode, Collection[str | int]]
    otherwise: ErrorCode
    shown: Collection[str | int] = ()  # whose words are shown; those of a lost connection (0, "") always are
    named: str = "SQLSTATE {}"  # instead of words

    def code_of(self, state: str | int) -> ErrorCode:
        """Return what a number or a SQLSTATE means."""
        for known in _keys_of(state):
            for code, states in self.codes.items():
                if known in states:
                    return code
        return self.otherwise

    def explain(self, state: str | int, words: str | None, **names: object) -> WracklineError:
        """Make the error: from these names, the state, and a reason that shows no value."""
        showing = not state or any(known in self.shown for known in _keys_of(state))
        unsaid = self.named.format(state) if state else "the connection was lost"
        return self.code_of(state).fill(
            {**names, "state": state, "number": state, "reason": (showing and words) or unsaid}
        )


def first_match(table: Mapping[str, V], text: str) -> V | None:
    """Return what belongs to the first words of the table that a text holds."""
    return next((found for words, found in table.items() if words in text), None)


def _keys_of(state: str | int) -> tuple[str | int, ...]:
    """Return a state and, of a SQLSTATE, its class."""
    return (state, state[:2]) if isinstance(state, str) else (state,)
