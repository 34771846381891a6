"""Run a suite against something broken, and say which of its promises caught that."""

from collections.abc import Callable

import pytest


def broken_promises(suite: type, make_world: Callable[[], object]) -> set[str]:
    """Run every promise on a world of its own; return the names of those that failed."""
    failed = set()
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite(), name)(make_world())
            except pytest.skip.Exception:
                continue
            except Exception:  # noqa: BLE001 - whatever a broken promise raises, it was noticed
                failed.add(name)
    return failed
