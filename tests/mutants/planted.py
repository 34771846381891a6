"""The process that tries a module's mutants: tests are collected once, each mutant runs in a fork of it.

In the child the code of one function is replaced in place (modules that imported it get it too), then the
tests that call the function run, the quickest first, until one fails.  Right because a first run without a
fault must pass, and records which test calls what; a fixture's calls count for all tests of its file.
"""

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutants import shared
from tests.mutants.mutations import Mutant

Place = tuple[str, int]  # a function's qualified name and first line
Runs = dict[str, tuple[float, set[Place]]]  # by test: its seconds, what it calls
EVERYWHERE: Place = ("", 0)  # as a call: of tests that call everything, and would take long to watch
FIRST_RUN = 600.0  # seconds for all tests twice
PATIENCE = 20.0  # seconds for a test that waits for what never comes
_SETTINGS = "_hypothesis_internal_use_settings"  # where a property's function has its own
NOT_PLANTED = 3  # the exit code of a child that found no function for its fault
EXAMPLES = 60  # of a property


def code_of(tree: object, file: str) -> dict[Place, CodeType]:
    """Compile a module and return the code of its functions."""
    found: dict[Place, CodeType] = {}
    waiting = [compile(tree, file, "exec")]  # type: ignore[call-overload]  # a tree or a text
    while waiting:
        for part in waiting.pop().co_consts:
            if isinstance(part, CodeType):
                found.setdefault((part.co_qualname, part.co_firstlineno), part)
                waiting.append(part)
    return found


class Trial:
    """A pytest plug-in: instead of the tests' loop, the first run and then each mutant."""

    def __init__(self, file: Path, chosen: list[Mutant], out: Path) -> None:
        self._file, self._chosen, self._out = str(file), chosen, out
        self._failed = False
        self._called: set[Place] = set()

    @staticmethod
    def pytest_configure() -> None:
        from hypothesis import Phase, settings  # noqa: PLC0415 - pytest wants to be its first importer

        settings.register_profile(
            "mutants", deadline=None, database=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
        )
        settings.load_profile("mutants")

    @staticmethod
    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        from hypothesis import settings  # noqa: PLC0415 - as above

        for function in {getattr(item, "function", None) for item in items}:
            if (own := getattr(function, _SETTINGS, None)) is not None:
                setattr(function, _SETTINGS, settings(own, max_examples=min(own.max_examples, EXAMPLES)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        shared.start(session)
        with self._out.open("w") as out:
            first = self._first_run(session)
            if first is None:
                out.write(json.dumps({"broken": "a test fails without any fault"}) + "\n")
                return True
            for mutant in self._chosen:
                answer = self._try(session, mutant, first)
                out.write(json.dumps({"name": mutant.name, "line": mutant.line, "answer": answer}) + "\n")
                out.flush()
        return True

    def _first_run(self, session: pytest.Session) -> Runs | None:
        path = self._out.with_suffix(".first")

        def run() -> bool:
            took: dict[str, float] = {}
            for item, following in pairs(session, session.items):
                started = time.monotonic()
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                took[item.nodeid] = time.monotonic() - started
            forget_answers(self._file)
            threading.setprofile(self._note)
            of_file: dict[Path, set[Place]] = {}
            noted: dict[str, tuple[float, list[Place]]] = {}
            for item, following in pairs(session, session.items):
                if item.path.parent == Path(__file__).parent:
                    noted[item.nodeid] = took[item.nodeid], [EVERYWHERE]
                    continue
                self._called = set()
                sys.setprofile(self._note)  # again, because some tests lose it
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                shared = of_file.setdefault(item.path, set(self._called))  # fixtures are among the first's
                noted[item.nodeid] = took[item.nodeid], sorted(self._called | shared)
            path.write_text(json.dumps(noted))
            return self._failed

        if forked(run, FIRST_RUN) != "survived":
            return None
        noted = json.loads(path.read_text())
        return {test: (took, {(name, at) for name, at in calls}) for test, (took, calls) in noted.items()}

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == self._file:
            self._called.add((code.co_qualname.split(".<locals>")[0], code.co_firstlineno))

    def _try(self, session: pytest.Session, mutant: Mutant, first: Runs) -> str:
        place = (mutant.function, mutant.first_line)
        names = {test: took for test, (took, calls) in first.items() if {place, EVERYWHERE} & calls}
        tests = sorted(
            (item for item in session.items if item.nodeid in names), key=lambda i: names[i.nodeid]
        )
        if not tests:
            return "no test calls it"

        def run() -> bool:
            plant(code_of(mutant.tree(), self._file)[place], self._file)
            for item, following in pairs(session, tests):
                signal.setitimer(signal.ITIMER_PROF, 1 + 4 * names[item.nodeid])  # of the processor; it kills
                signal.setitimer(signal.ITIMER_REAL, PATIENCE + 20 * names[item.nodeid])  # it kills too
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    break
            return self._failed

        return forked(run, PATIENCE + 20 * sum(names.values()))


def plant(code: CodeType, file: str) -> None:
    """Replace the code of a function, wherever it was imported; raise if no object has it."""
    gc.unfreeze()  # what is frozen is not among the objects
    found = False
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == file:
            was = one.__code__
            if (was.co_qualname, was.co_firstlineno) == (code.co_qualname, code.co_firstlineno):
                one.__code__ = code
                found = True
    if not found:
        raise LookupError(code.co_qualname)


def forget_answers(file: str) -> None:
    """Empty the caches of a module's functions, so that the calls of them are counted."""
    gc.unfreeze()
    for one in gc.get_objects():
        function = one.__wrapped__ if isinstance(one, _lru_cache_wrapper) else None
        if isinstance(function, FunctionType) and function.__code__.co_filename == file:
            one.cache_clear()


def pairs(session: pytest.Session, items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, Any]]:
    """Give each test with what comes after it: in the end the session, whose fixtures stay."""
    return zip(items, [*items[1:], session], strict=True)


def forked(run: Callable[[], bool], patience: float) -> str:
    """Run in a child, silently; say what became of it."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            with shared.of_a_fork():
                os._exit(1 if run() else 0)
        except LookupError:
            os._exit(NOT_PLANTED)
        except BaseException:  # noqa: BLE001 - whatever it is, the fault was seen
            os._exit(1)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            answers = {0: "survived", NOT_PLANTED: "not planted"}
            return answers.get(os.waitstatus_to_exitcode(status), "killed")
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed"  # it never ends
