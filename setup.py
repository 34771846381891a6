"""What pyproject.toml cannot say: where the packages are, and which modules are compiled."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup

TOP = ["schemas", "producers", "consumers", "control"]
COMPILED = ["schemas/codec.py"]

packages: dict[str, str] = {}
for top in TOP:
    for package in [top, *(f"{top}.{below}" for below in find_packages(top))]:
        packages[f"wrackline.{package}"] = package.replace(".", "/")

extensions = [
    # optional: without a compiler the same file runs as plain Python
    Extension("wrackline." + path.removesuffix(".py").replace("/", "."), [path], optional=True)
    for path in COMPILED
    if Path(path).exists()
]

setup(
    packages=list(packages),
    package_dir=packages,
    ext_modules=cythonize(
        extensions,
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
