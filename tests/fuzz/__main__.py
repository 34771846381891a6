"""The command: `./run fuzz [name] [--seconds N]`; without a name every target in turn.

With atheris (`pip install -e .[fuzz]`) coverage of the plain build guides the inputs; those that added some
are in `build/fuzz`.  Without atheris the kept inputs are changed by chance, against the compiled build.  An
input that breaks a target is left in the working folder; put it into the corpus once the fault is corrected.
"""

import argparse
import gc
import os
import random
import resource
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

from bench.plain_build import prefer_source

GUIDED = find_spec("atheris") is not None
if GUIDED:
    prefer_source()  # before anything of ours is imported: compiled modules report no coverage

from tests.fuzz.targets import CORPUS, TARGETS, hold, kept  # noqa: E402

_OURS = ("wrackline.producers", "wrackline.schemas", "wrackline.control")
FOUND = Path(__file__).parents[2] / "build" / "fuzz"
_MOST_MEMORY = 4 << 30
_WORDS = (b"\0" * 4, b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xfc\xff\xff", b"\xfe" + b"\xff" * 8)


def changed(chance: random.Random, data: bytes) -> bytes:
    """Change an input a little."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(5):
            case 0:
                made[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                made[at:at] = chance.randbytes(chance.choice((1, 2, 4, 30)))
            case 2:
                del made[at : at + chance.choice((1, 2, 8))]
            case 3:
                word = chance.choice(_WORDS)
                made[at : at + len(word)] = word
            case _:
                made[at:at] = made[at : at + 16] * chance.choice((1, 5, 50))
    return bytes(made)


def by_chance(name: str, seconds: float, seed: int) -> int:
    """Run changed inputs for so long; return how many."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which has its own limit
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    chance, inputs, count = random.Random(seed), kept(name), 0
    until = time.monotonic() + seconds
    broken = Path(f"broken-{name}")
    while time.monotonic() < until:
        data = changed(chance, chance.choice(inputs))
        broken.write_bytes(data)  # first, so that it is there after a crash too
        hold(name, data)
        count += 1
    broken.unlink(missing_ok=True)
    return count


def guided(name: str, seconds: int) -> None:
    """Let atheris look for inputs; it ends the process."""
    atheris = import_module("atheris")  # an extra
    for one in gc.get_objects():  # all functions of every library would take minutes
        if isinstance(one, FunctionType) and str(one.__module__).startswith(_OURS):
            atheris.instrument_func(one)
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    places = [f"-max_total_time={seconds}", "-rss_limit_mb=4096", f"-artifact_prefix=broken-{name}-"]
    atheris.Setup([sys.argv[0], *places, str(found), str(CORPUS / name)], lambda data: hold(name, data))
    atheris.Fuzz()


def main() -> int:
    """Fuzz one target here, or each in a process of its own."""
    parser = argparse.ArgumentParser(prog="./run fuzz")
    parser.add_argument("name", nargs="?", choices=[*TARGETS])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.name is None:
        limits = ["--seconds", str(asked.seconds), "--seed", str(asked.seed)]
        codes = [subprocess.call([sys.executable, "-m", "tests.fuzz", name, *limits]) for name in TARGETS]
        return max(map(abs, codes))
    if GUIDED:
        guided(asked.name, asked.seconds)
    count = by_chance(asked.name, asked.seconds, asked.seed)
    print(f"{asked.name}: {count} inputs held")  # noqa: T201 - a command's answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
