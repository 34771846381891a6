"""One answer from a process of its own: for work whose memory, or whose patience, a worker can't spare.

In: how the process is started, and for how long it may take.  Out: the first report that it sends through its
lifeline.  It has ended when this returns.
"""

import selectors
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from wrackline.producers.connect.child import Begin, Child, ChildReport
from wrackline.schemas.errors import WracklineError

_LOOK: Final = 1.0


def ask_child(
    begin: Begin, patience: float, late: Callable[[], WracklineError], ended: Callable[[int], WracklineError]
) -> Mapping[str, Any]:
    """Return the report; raise what `late` or `ended` make, if the time or the process is over before."""
    until = time.monotonic() + patience
    child = Child(begin)
    try:
        with selectors.DefaultSelector() as selector:
            for descriptor in child.descriptors:
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                code = child.exit_code  # first, because all that it sent before its end is there then
                for heard in child.hear():
                    if isinstance(heard, ChildReport):
                        return heard.report
                if code is not None:
                    raise ended(code)
                if time.monotonic() > until:
                    raise late()
                selector.select(_LOOK)
    finally:
        child.close()
