"""What pyproject.toml cannot say: where the packages are, and which modules are compiled."""

import os
import subprocess
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError

TOP = ["schemas", "producers", "consumers", "control", "testing"]
NOT_INSTALLED = ["local", "local.*"]  # servers of this machine and the demo run from the clone
COMPILED = [
    "schemas/events/avro_writer.py",
    "schemas/events/frame.py",
    "producers/rows/python_rows.py",
    "producers/rows/row_events.py",
    "producers/rows/row_records.py",
    "producers/rows/slices.py",
    "producers/rows/zoned_text.py",
    "producers/sources/mysql/rows/cells.py",
    "producers/sources/mysql/rows/images.py",
    "producers/sources/mysql/rows/json_text.py",
    "producers/sources/mysql/rows/temporal.py",
    "producers/sources/mysql/rows/result_cells.py",
    "producers/sources/mysql/rows/rows.py",
    "producers/sources/mysql/chunks/slicing.py",
    "producers/sources/sqlserver/wire/message_bytes.py",
    "producers/sources/sqlserver/wire/token_reader.py",
    "producers/sources/sqlserver/log/changes.py",
    "producers/sources/sqlserver/rows/cells.py",
    "producers/sources/sqlserver/rows/packed_row.py",
    "producers/sources/sqlserver/rows/rows.py",
    "producers/sources/sqlserver/chunks/slicing.py",
    "producers/sources/oracle/chunks/slicing.py",
    "producers/sources/oracle/redo/cells.py",
    "producers/sources/oracle/redo/statement.py",
    "producers/sources/oracle/rows/cells.py",
    "producers/sources/oracle/rows/moments.py",
    "producers/sources/oracle/rows/rows.py",
    "producers/sources/postgres/rows/cells.py",
    "producers/sources/postgres/rows/copy_text.py",
    "producers/sources/postgres/rows/rows.py",
    "producers/sources/postgres/chunks/slicing.py",
    "producers/sources/postgres/rows/row_run.py",
    "producers/sources/postgres/rows/column_masking.py",
    "consumers/newest/arrow_parts.py",
    "consumers/newest/fetched_records.py",
    "consumers/newest/newest_records.py",
]

# The folders under their installed names. A clone has these links, so that editors and type checkers find
# `wrackline.…` before anything is built; a source archive has none.
links = Path("wrackline")
links.mkdir(exist_ok=True)
for top in TOP:
    if not (links / top).is_symlink():
        (links / top).symlink_to(Path("..") / top)

packages: dict[str, str] = {}
for top in TOP:
    for package in [top, *(f"{top}.{below}" for below in find_packages(top, exclude=NOT_INSTALLED))]:
        packages[f"wrackline.{package}"] = package.replace(".", "/")

extensions = [
    Extension("wrackline." + path.removesuffix(".py").replace("/", "."), [str(links / path)])
    for path in COMPILED
]


class WithCommit(build_py):
    """Puts the commit into the package, where it can be known, so that a program can name it."""

    def run(self) -> None:
        """Copy the modules, then write the commit beside those of the contract."""
        super().run()
        folder = Path(self.build_lib) / "wrackline" / "schemas"
        commit = os.environ.get("WRACKLINE_COMMIT") or _head()
        if commit and not self.editable_mode:
            (folder / "COMMIT").write_text(f"{commit}\n")


def _head() -> str:
    """Return the clone's commit; nothing outside of one, even where a folder above is another clone."""
    if not Path(".git").exists():
        return ""
    try:
        asked = ["git", "rev-parse", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


class AllOrNone(build_ext):
    """Compiles every module or none: a plain one can't call a compiled one's C functions."""

    def run(self) -> None:
        """Where a compiler is missing or fails, leave the plain modules to run."""
        try:
            super().run()
        except (BaseError, CCompilerError) as exc:
            print(f"not compiled, the codec runs as plain Python: {exc}")  # noqa: T201 - a build has no other voice
            self.extensions = []
            for path in COMPILED:
                for built in Path(path).parent.glob(f"{Path(path).stem}.*.so"):
                    built.unlink()


setup(
    packages=list(packages),
    package_dir=packages,
    cmdclass={"build_ext": AllOrNone, "build_py": WithCommit},
    ext_modules=cythonize(
        extensions,
        include_path=["."],
        build_dir="build/cython",
        compiler_directives={
            "language_level": "3",
            "boundscheck": False,
            "wraparound": False,
            "initializedcheck": False,
            "cdivision": True,
        },
    ),
)
