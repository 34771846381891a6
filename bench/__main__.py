"""The command: `python -m bench [name] [--quick] [--json FILE]`; without a name, the list.

A bench is a file in bench/benches; there is no other list.
"""

import argparse
import ast
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from bench.report import as_json, as_table
from bench.runner import Bench, alternate
from bench.score import rows, spreads
from wrackline.schemas.errors import Definite, WracklineError, define

BENCHES = Path(__file__).parent / "benches"

UNKNOWN = define("bench.unknown", Definite, "there is no bench {name}{nearest}", hint="the list: ./run bench")


def listed() -> dict[str, str]:
    """Every bench's name and what it measures, in the words of its file's first line."""
    return {
        file.stem.replace("_", "-"): (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition(
            "\n"
        )[0]
        for file in sorted(BENCHES.glob("*.py"))
        if file.stem != "__init__"
    }


def load(name: str) -> Bench:
    """Import a bench by its name."""
    if name not in listed():
        near = get_close_matches(name, listed(), 1)
        raise UNKNOWN(name=name, nearest=f"; nearest: {near[0]}" if near else "")
    return cast("Bench", import_module(f"bench.benches.{name.replace('-', '_')}"))


def main(arguments: list[str]) -> int:
    """Run one bench or list them all; the exit code says only whether it ran."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.json and not asked.json.parent.is_dir():
        parser.error(f"--json: there is no folder {asked.json.parent}")
    if asked.name is None:
        for name, line in listed().items():
            print(f"{name:16} {line}")
        return 0
    try:
        bench = load(asked.name)
        size = bench.QUICK if asked.quick else bench.FULL
        with bench.contenders(asked.rows or size.rows) as every:
            contenders = [
                one for one in every if not asked.only or any(text in one.name for text in asked.only)
            ]
            if not contenders:
                parser.error(f"--only: its contenders are {', '.join(one.name for one in every)}")
            done = alternate(
                contenders, asked.rounds or size.rounds, lambda line: print(line, file=sys.stderr)
            )
    except WracklineError as exc:
        print(exc, file=sys.stderr)
        return 1
    ours = next((contender.name for contender in contenders if contender.ours), None)
    found = rows(done, bench.UNITS, ours)
    print(as_table(asked.name, spreads(done, bench.UNITS), found))
    if asked.json:
        asked.json.write_text(as_json(found), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run bench", description="Measure Wrackline and its peers side by side."
    )
    parser.add_argument("name", nargs="?", help="a bench; default: list all")
    parser.add_argument("--quick", action="store_true", help="a small workload that ends within a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--rows", type=_positive, metavar="N", help="the size of the workload")
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="only contenders whose name has this; may be repeated"
    )
    parser.add_argument("--rounds", type=_positive, metavar="N", help="the number of rounds")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
