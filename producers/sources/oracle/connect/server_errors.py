"""What an error of the server or the driver means, and which side acts on it.  Pure."""

from wrackline.schemas.errors import Transient, WracklineError, define

SERVER_LOST = define(
    "oracle.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is retried automatically, on a new connection; see the server's alert log",
)


def explain(error: Exception, doing: str) -> WracklineError:
    """Return what an error of the driver means to us; `doing` continues "the server did not"."""
    found = error.args[0] if error.args else None
    return SERVER_LOST(doing=doing, reason=getattr(found, "full_code", "") or "the connection failed")
