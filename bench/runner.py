"""Runs contenders in turn, each in its own process, and returns their outcomes.

    round 1: ours peer ...    round 2: peer ... ours    round 3: ...

One runs at a time, so none shares the machine; the first of a round moves on by one, so none always
has a warmer cache.  A turn is a fresh process: its memory and CPU are its own.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple, Protocol

from bench.cost import metered
from bench.score import Outcome, Turn
from wrackline.producers.task import memory_tuning
from wrackline.schemas.errors import Definite, define

TURN_LIMIT_S = 1800.0
STOP_LIMIT_S = 20.0

TURN_FAILED = define(
    "bench.turn_failed",
    Definite,
    "contender {contender} failed: {reason}",
    hint="its traceback stands above; run the bench again with --quick to see it sooner",
)


class Size(NamedTuple):
    """How much a bench does: rows of its workload, and rounds."""

    rows: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Contender:
    """A name and a function of a module, with arguments that can be sent to another process."""

    name: str
    run: Callable[..., Outcome]
    args: tuple[object, ...] = ()
    ours: bool = False


class Bench(Protocol):
    """What a file in bench/benches holds; the first line of its docstring is its line in the list."""

    UNITS: Mapping[str, str]  # metric -> unit, in the order of the report
    FULL: Size
    QUICK: Size

    def contenders(self, rows: int) -> AbstractContextManager[Sequence[Contender]]:
        """Start what all contenders share, hand them out, stop it."""


def alternate(
    contenders: Sequence[Contender], rounds: int, tell: Callable[[str], None]
) -> list[dict[str, Turn]]:
    """Run every contender once a round; the result's rounds keep the contenders' own order."""
    done = []
    for number in range(rounds):
        first = number % len(contenders)
        turns = {}
        for contender in [*contenders[first:], *contenders[:first]]:
            tell(f"round {number + 1} of {rounds}: {contender.name}")
            turns[contender.name] = _turn(contender)
        done.append({contender.name: turns[contender.name] for contender in contenders})
    return done


def _turn(contender: Contender) -> Turn:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, contender), name=contender.name)
    process.start()
    theirs.close()
    try:
        answer = ours.recv() if ours.poll(TURN_LIMIT_S) else f"no answer within {TURN_LIMIT_S:.0f} s"
    except EOFError:
        answer = "its process ended without an answer"
    finally:
        ours.close()
        _stop(process)
    if not isinstance(answer, Turn):
        raise TURN_FAILED(contender=contender.name, reason=answer)
    return answer


def _stop(process: multiprocessing.process.BaseProcess) -> None:
    """Let it end by itself, then ask it, then end it."""
    process.join(STOP_LIMIT_S)
    for push in (process.terminate, process.kill):
        if process.exitcode is not None:
            return
        push()
        process.join(STOP_LIMIT_S)


def _child(answer: Connection, contender: Contender) -> None:
    memory_tuning.use_one_heap()  # as our own worker does, so it is no advantage over a peer in Python
    # being asked to end must run the blocks that stop what this turn has started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with metered() as meter:
            outcome = contender.run(*contender.args)
        answer.send(Turn(dict(outcome.values), outcome.cost or meter.cost))
    except Exception as exc:  # noqa: BLE001 - the process's rim: whatever went wrong is the answer
        traceback.print_exc()
        answer.send(str(exc) or type(exc).__name__)


def _end_with_parent() -> None:
    """Ask this process to end when the process that runs the bench is gone, be it by `kill -9`."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
