"""The command: `./run asan [--seconds N]`: the compiled modules under gcc's checks of memory and arithmetic.

It copies the sources into `build/asan`, compiles them there with AddressSanitizer and UBSan (the normal build
stays as it is), then runs the tests of the decoders and the fuzz targets on that build.  Python takes its
memory from malloc, so that the end of every bytes object is known.  A report ends the process that it is
about, and with it the command by an exit code that is not 0.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "asan"
FOLDERS = ("schemas", "producers", "consumers", "control", "tests", "bench", "deploy", "typings", "docs")
FILES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")
FLAGS = (
    "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
    " -fno-sanitize=alignment,shift-base"  # gcc defines both: numbers at any place, signed ones shifted out
)
TESTS = (
    "tests/unit/corpus/test_log_bytes.py",
    "tests/unit/corpus/test_mysql_cells.py",
    "tests/unit/corpus/test_postgres_cells.py",
    "tests/unit/producers/mysql",
    "tests/unit/producers/oracle",
    "tests/unit/producers/test_bounds.py",
    "tests/unit/producers/test_garbage.py",
    "tests/unit/producers/test_odd_cells.py",
    "tests/unit/schemas",
    "tests/unit/test_fuzz_corpus.py",
    "tests/unit/test_hidden_values.py",
    "tests/unit/test_pg_copying.py",
    "tests/unit/test_pg_slicing.py",
    "tests/unit/test_pgoutput_broken.py",
    "tests/unit/test_pgoutput_rows.py",
    "tests/property/test_oracle_redo.py",
    "tests/property/test_row_codec.py",
    "tests/property/test_splice.py",
    "tests/property/test_sqlserver_packed_rows.py",
    "tests/property/test_sqlserver_token_reader.py",
    "tests/property/test_stretch.py",
)


def copied() -> None:
    """Bring the copy up to date; a file that is the same keeps its time, so that it is not compiled again."""
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and file.suffix not in {".so", ".pyc"}:
                bring(file, BUILD / file.relative_to(ROOT))
    for name in FILES:
        bring(ROOT / name, BUILD / name)
    flags = BUILD / "build" / "flags"
    if not flags.exists() or flags.read_text() != FLAGS:
        for built in BUILD.rglob("*.so"):
            built.unlink()
        flags.parent.mkdir(exist_ok=True)
        flags.write_text(FLAGS)


def bring(file: Path, to: Path) -> None:
    """Copy one file where it differs."""
    if not to.exists() or to.read_bytes() != file.read_bytes():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


def library(name: str) -> str:
    """Return where gcc keeps a library of its checks."""
    asked = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    place = asked.stdout.strip()
    if not Path(place).is_absolute():
        raise SystemExit(f"gcc has no {name}; on Debian and Ubuntu: apt-get install gcc")
    return place


def run(words: list[str], environ: dict[str, str]) -> None:
    """Run Python in the copy; end with its exit code where that is not 0."""
    ended = subprocess.run([sys.executable, *words], cwd=BUILD, env={**os.environ, **environ}, check=False)
    if ended.returncode:
        raise SystemExit(f"asan: exit code {ended.returncode} of: python {' '.join(words)}")


def main() -> None:
    """Build, then test, then fuzz."""
    parser = argparse.ArgumentParser(prog="./run asan")
    parser.add_argument("--seconds", type=int, default=20, help="so long for each fuzz target")
    asked = parser.parse_args()
    if shutil.which("gcc") is None:
        raise SystemExit("asan: gcc is missing; on Debian and Ubuntu: apt-get install gcc libc6-dev")
    copied()
    run(["setup.py", "-q", "build_ext", "--inplace"], {"CC": "gcc", "CFLAGS": FLAGS, "LDFLAGS": FLAGS})
    checked = {
        "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=6000",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(BUILD / "build" / "links"),  # `wrackline` is the copy here
    }
    own = (
        "import wrackline.producers.rows.python_rows as c;"
        " assert c.__file__.endswith('.so') and 'asan' in c.__file__, c"
    )
    run(["-c", own], checked)
    run(["-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-s", *TESTS], checked)
    for name in TARGETS:
        run(["-m", "tests.fuzz", name, "--seconds", str(asked.seconds)], checked)


if __name__ == "__main__":
    main()
