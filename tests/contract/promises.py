"""Run a suite's promises against something, and say which of them failed."""

from collections.abc import Callable, Iterable

import pytest


def promises(suite: type) -> list[str]:
    """Name all promises of a suite."""
    return [name for name in dir(suite) if name.startswith("test_")]


def broken(suite: type, names: Iterable[str], make_world: Callable[[], object]) -> set[str]:
    """Run these promises, each on a world of its own; return the names of those that failed."""
    failed = set()
    for name in names:
        try:
            getattr(suite(), name)(make_world())
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever a broken promise raises, it was noticed
            failed.add(name)
    return failed
