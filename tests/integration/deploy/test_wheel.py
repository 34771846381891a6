"""A wheel and a source distribution are built here, and the wheel runs in a fresh environment elsewhere."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

# A build that begins with nothing compiles every module.
pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


COMMIT = "c0ffee" * 6 + "c0ff"


def done(command: Sequence[str | Path], cwd: Path, **more: str) -> str:
    environ = {**os.environ, **more}
    ran = subprocess.run(
        command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=800, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps"]
    done([*pip, "-w", folder, "."], ROOT, WRACKLINE_COMMIT=COMMIT)
    [built] = folder.iterdir()
    return built


def compiled() -> set[str]:
    text = (ROOT / "setup.py").read_text()
    listed = text[text.index("COMPILED = [") :].partition("]")[0]
    return {line.strip().strip('",') for line in listed.splitlines()[1:] if line.strip()}


def test_a_wheel_holds_the_program_with_its_compiled_modules_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    wanted = {f"wrackline/{module.removesuffix('.py')}{suffix}" for module in compiled()}
    assert wanted <= set(names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"wrackline", f"wrackline-{VERSION}.dist-info"}
    assert {name.split("/")[1] for name in names if name.startswith("wrackline/")} == {
        "schemas",
        "producers",
        "consumers",
        "control",
        "testing",
    }


def test_a_wheel_runs_in_a_fresh_environment_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "fresh", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(home)
    python = home / "bin" / "python"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-index",
        "--no-deps",
    ]
    done([*pip, wheel], elsewhere)
    [site] = home.glob("lib/python*/site-packages")
    ours = Path(sysconfig.get_path("purelib"))  # what it depends on is there already
    (site / "others.pth").write_text(f"{ours}\n")
    said = done([home / "bin" / "wrackline", "--version"], elsewhere)
    assert said.startswith(f"wrackline {VERSION} (commit {COMMIT})")
    where = done(
        [python, "-c", "from wrackline.producers.rows import python_rows; print(python_rows.__file__)"],
        elsewhere,
    )
    assert Path(where.strip()).is_relative_to(site)
    assert where.strip().endswith(".so")
    assert "run" in done([home / "bin" / "wrackline", "--help"], elsewhere)


def test_a_source_distribution_holds_all_that_a_build_needs(tmp_path: Path) -> None:
    done([sys.executable, "setup.py", "-q", "sdist", "-d", tmp_path], ROOT)
    [built] = tmp_path.iterdir()
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = [path.relative_to(ROOT) for path in ROOT.glob("schemas/*.p*") if path.suffix in {".py", ".pxd"}]
    assert {"pyproject.toml", "setup.py", "LICENSE", "README.md", *map(str, sources)} <= names
    assert compiled() <= names


def test_the_changelog_names_the_version_that_is_built() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0].startswith(f"## {VERSION}")
