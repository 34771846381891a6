"""Starts what takes seconds, a broker or Spark, once, before the first fork.

Right because a fork finds pytest's session fixtures ready, and leaves them to its parent: it ends its
tests as if another test of the same session followed.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import cast

import pytest

SLOW = ("stack", "kafka", "spark")  # fixtures of a session


def start(session: pytest.Session) -> None:
    """Set up one test for each of those that some test asks for."""
    for name in SLOW:
        item = next((one for one in session.items if name in getattr(one, "fixturenames", ())), None)
        if isinstance(item, pytest.Function):
            session._setupstate.setup(item)
            session._setupstate.teardown_exact(cast("pytest.Item", session))  # it needs the way to it alone
            item._initrequest()


@contextmanager
def of_a_fork() -> Iterator[None]:
    """Speak to Java over a connection of one's own: the parent's may hold an answer that nobody took."""
    gateway = None
    if (pyspark := sys.modules.get("pyspark")) is not None:
        gateway = pyspark.SparkContext._gateway
    if gateway is None:
        yield
        return
    client = gateway._gateway_client
    parents = client.thread_connection  # kept, because it would shut the parent's socket when it goes
    client.deque.clear()
    client.thread_connection = local()
    yield
    del parents
