"""Log-ins that failed: a user that fails too often is not tried for a while.

In: the name and the address of a log-in.  Out: whether it is to be tried.  Failures are counted by address
and name together, so that nobody can lock a user out from another address.  A password that was right a
moment ago, or a token, is let in before this is checked.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

FAILURES: Final = 10  # within this many seconds
SECONDS: Final = 60.0
_MOST: Final = 1000  # pairs; the one that failed longest ago is forgotten

Who = tuple[str, str]  # address and name


class FailedLogins:
    """Failed log-ins of the last minute; only one thread calls it."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Take a clock."""
        self._now = now
        self._failed: OrderedDict[Who, list[float]] = OrderedDict()

    def tired(self, who: Who) -> bool:
        """Whether this address and name failed so often recently that they are not tried."""
        times = self._failed.get(who, [])
        return len(times) == FAILURES and self._now() < times[0] + SECONDS

    def failed(self, who: Who) -> None:
        """Count a failure."""
        times = self._failed.pop(who, [])
        self._failed[who] = [*times, self._now()][-FAILURES:]
        if len(self._failed) > _MOST:
            self._failed.popitem(last=False)
