"""The command: `./run mutate [--only MODULE] [--sample N --seed S]`; it is not part of the tests.

It puts one fault at a time into a function and runs the tests that `tests_of.py` names for its module; a
fault that no test finds must be in `survivors.toml` with a reason.  It fails if a survivor is not listed, or
if a listed one is found now or no longer exists.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.plain_build import prefer_source
from tests.mutants.mutations import Mutant, mutants
from tests.mutants.planted import Trial
from tests.mutants.tests_of import TESTS

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("survivors.toml")


def listed(module: str) -> dict[str, str]:
    """Read the survivors of a module that have a reason."""
    of_module = tomllib.loads(LISTED.read_text()).get(module, {})
    return {f"{module} {name}": why for name, why in of_module.items()}


def chosen(module: str, sample: int | None, seed: int) -> tuple[list[Mutant], bool]:
    """Make the mutants of a module that are tried, and say whether these are all."""
    every = mutants(module, (ROOT / module).read_text())
    if sample is None or sample >= len(every):
        return every, True
    return random.Random(f"{seed} {module}").sample(every, sample), False


def imported_from(module: str) -> Path:
    """Return the path that Python imports a module from; by it, code that runs is known."""
    found = find_spec(f"wrackline.{module.removesuffix('.py').replace('/', '.')}")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin)


def attempt(module: str, sample: int | None, seed: int, out: Path) -> int:
    """Try mutants of one module in this process, which imports what it tests as plain Python."""
    prefer_source()
    trial = Trial(imported_from(module), chosen(module, sample, seed)[0], out)
    alone = ["-q", "-n", "0", "-p", "no:cacheprovider", "--timeout=0"]
    return int(pytest.main([*alone, "--full", *TESTS[module]], plugins=[trial]))


def judge(module: str, answers: dict[str, str], *, whole: bool) -> list[str]:
    """Compare what became of the mutants with the list."""
    known = listed(module)
    alive = {name for name, answer in answers.items() if answer != "killed"}
    wrong = [f"not listed, {answers[name]}: {name}" for name in answers if name in alive - set(known)]
    wrong += [f"listed, but a test sees it now: {name}" for name in known if name in set(answers) - alive]
    if whole:
        wrong += [f"listed, but there is no such mutant: {name}" for name in known if name not in answers]
    return wrong


def of_module(module: str, sample: int | None, seed: int) -> list[str]:
    """Try a module's mutants in a process of its own; return what is wrong."""
    tried, whole = chosen(module, sample, seed)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers"
        command = [
            sys.executable,
            "-m",
            "tests.mutants",
            "--only",
            module,
            "--seed",
            str(seed),
            "--out",
            str(out),
        ]
        command += [] if sample is None else ["--sample", str(sample)]
        subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    answers = {line["name"]: line["answer"] for line in lines if "name" in line}
    if len(answers) != len(tried):
        return [f"{module}: its tests fail without any fault"]
    if set(answers.values()) == {"no test calls it"}:
        return [f"{module}: its tests call nothing of it"]
    killed = sum(answer == "killed" for answer in answers.values())
    alive = len(tried) - killed
    say(f"{module}: {len(tried)} mutants{'' if whole else ' by chance'}, {killed} seen, {alive} survive")
    return judge(module, answers, whole=whole)


def say(text: str) -> None:
    """Answer the caller."""
    print(text, flush=True)  # noqa: T201 - a command's answer


def main() -> int:
    """Try one module's mutants or all of them."""
    parser = argparse.ArgumentParser(
        prog="./run mutate", description="Find the small faults that no test finds."
    )
    parser.add_argument("--only", choices=[*TESTS], action="append", metavar="MODULE")
    parser.add_argument("--sample", type=int, help="this many random mutants of each module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.out is not None:
        return attempt(asked.only[0], asked.sample, asked.seed, asked.out)
    wrong = [line for module in asked.only or TESTS for line in of_module(module, asked.sample, asked.seed)]
    for line in wrong:
        say(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
