"""What pyproject.toml cannot say: where the packages are, and which modules are compiled."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

TOP = ["schemas", "producers", "consumers", "control"]
COMPILED = [
    "schemas/writer.py",
    "schemas/frame.py",
    "schemas/codec.py",
    "producers/row_events.py",
    "producers/row_records.py",
    "producers/slicing.py",
    "producers/sources/mysql/cells.py",
    "producers/sources/mysql/images.py",
    "producers/sources/mysql/json_text.py",
    "producers/sources/mysql/moments.py",
    "producers/sources/mysql/result_cells.py",
    "producers/sources/mysql/rows.py",
    "producers/sources/mysql/slicing.py",
    "producers/sources/postgres/cells.py",
    "producers/sources/postgres/copy_text.py",
    "producers/sources/postgres/rows.py",
    "producers/sources/postgres/slicing.py",
    "producers/sources/postgres/stretch.py",
    "producers/sources/postgres/veil.py",
]

# The folders under their installed names, for Cython's and mypy's look-ups.
links = Path("build/links/wrackline")
links.mkdir(parents=True, exist_ok=True)
for top in TOP:
    if not (links / top).is_symlink():
        (links / top).symlink_to(Path("../../..") / top)

packages: dict[str, str] = {}
for top in TOP:
    for package in [top, *(f"{top}.{below}" for below in find_packages(top))]:
        packages[f"wrackline.{package}"] = package.replace(".", "/")

extensions = [
    Extension("wrackline." + path.removesuffix(".py").replace("/", "."), [str(links / path)])
    for path in COMPILED
]


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
    cmdclass={"build_ext": AllOrNone},
    ext_modules=cythonize(
        extensions,
        include_path=["build/links"],
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
