"""What pyproject.toml cannot say: where the packages are, and which modules are compiled."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup

TOP = ["schemas", "producers", "consumers", "control"]
COMPILED = [
    "schemas/writer.py",
    "schemas/frame.py",
    "schemas/codec.py",
    "producers/sources/postgres/cells.py",
    "producers/sources/postgres/rows.py",
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
    # optional: without a compiler the same file runs as plain Python
    Extension("wrackline." + path.removesuffix(".py").replace("/", "."), [str(links / path)], optional=True)
    for path in COMPILED
]

setup(
    packages=list(packages),
    package_dir=packages,
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
