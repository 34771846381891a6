"""What the workers of a group have in common of the console's sessions.

In: nothing.  Out: the protocol `SharedSessions`; a worker by files has none.
"""

from typing import Protocol


class SharedSessions(Protocol):
    """What the workers of a group have in common; no call waits for Kafka."""

    def session_secret(self) -> bytes:
        """Return what the keys of sessions are made from; empty while it is not known."""
        ...

    def end_session(self, session: str, until_s: int) -> None:
        """Have all workers refuse a session, which ends by itself at that time."""
        ...

    def is_session_ended(self, session: str) -> bool:
        """Whether some worker has ended a session."""
        ...
