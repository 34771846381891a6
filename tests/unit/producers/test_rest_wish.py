"""A child knows whether it ends because somebody wished that it rests, or because it is moved."""

import os
import socket
import sys
import time
from threading import Thread
from typing import Any

import pytest

from tests.unit.producers.test_connect import HELD, until, way
from wrackline.producers.connect import lifeline
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.producers.connect.supervisor import Supervisor

SAYS = """
def ends(*_):
    while {waits} and not line.rests():
        time.sleep(0.01)
    print("rests" if line.rests() else "ends", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, ends)
"""


class Listens:
    """What the children printed."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def changed(self, *_: object) -> None:
        pass

    def output(self, task: str, line: str) -> None:
        del task
        self.lines.append(line)

    def reported(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (lambda one: one.wish("shop", DesiredState.PAUSE), "rests"),
        (lambda one: one.wish("shop", DesiredState.STOP), "rests"),
        (lambda one: one.let_go("shop"), "ends"),
    ],
)
def test_only_a_wish_to_rest_is_told(end: Any, word: str) -> None:
    listens, stops = Listens(), [False]
    script = HELD.format(before=SAYS.format(waits=word == "rests"))
    supervisor = Supervisor(
        {"shop": way([sys.executable, "-c", script])},
        listens,
        for_somebody=lambda _: False,
        must_stop=lambda: stops[0],
        stays=True,
    )
    runs = Thread(target=supervisor.run)
    runs.start()
    try:
        until(lambda: "here" in listens.lines)
        end(supervisor)
        until(lambda: len(listens.lines) == 2)
    finally:
        stops[0] = True
        runs.join(60)
    assert listens.lines == ["here", word]


@pytest.mark.parametrize("wish", [DesiredState.PAUSE, DesiredState.STOP])
def test_a_wish_to_rest_is_told_to_a_process_that_ends_already(wish: DesiredState) -> None:
    listens, stops = Listens(), [False]
    script = HELD.format(before=SAYS.format(waits=True).replace("while", "print('ending'); \n    while"))
    supervisor = Supervisor(
        {"shop": way([sys.executable, "-u", "-c", script])},
        listens,
        for_somebody=lambda _: False,
        must_stop=lambda: stops[0],
        stays=True,
    )
    runs = Thread(target=supervisor.run)
    runs.start()
    try:
        until(lambda: "here" in listens.lines)
        supervisor.wish("shop", DesiredState.RESTART)
        until(lambda: "ending" in listens.lines)
        supervisor.wish("shop", wish)
        until(lambda: len(listens.lines) == 3)
    finally:
        stops[0] = True
        runs.join(60)
    assert listens.lines == ["here", "ending", "rests"]


def test_two_words_that_are_read_at_once_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    for module, name in ((os, "kill"), (os, "_exit"), (time, "sleep")):
        monkeypatch.setattr(module, name, lambda *_: None)
    with theirs:
        line = lifeline.Lifeline(theirs)
        ours.send(lifeline.REST + lifeline.REST)
        ours.close()
        line._hold()
    assert line.rests()
