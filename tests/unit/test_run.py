"""`./run` as a shell runs it, with a Python that notes what it is asked for instead of installing."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = [shell for name in ("dash", "bash", "busybox") if (shell := shutil.which(name))]
# venv copies this very program, so that .venv/bin/python notes too; code is run by the real one
PYTHON = f"""#!/bin/sh
case "$1 $2" in
"-m venv") rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
-c*) exec '{sys.executable}' "$@" ;;
esac
printf '%s\\n' "$*" >>asked
[ "$2" != pytest ] || [ ! -e failing ]
"""


class Clone:
    """A folder with `run` in it, and what it asked of Python."""

    def __init__(self, folder: Path, shell: str) -> None:
        self.folder, self._shell = folder, shell
        (folder / "schemas").mkdir(parents=True)
        (folder / "producers").mkdir()
        for name in ("run", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)
        (folder / "setup.py").touch()
        (folder / "tools").mkdir()
        self.tool("python3", PYTHON)
        self.free(7000)
        for name in (
            "cat",
            "cksum",
            "cp",
            "awk",
            "dirname",
            "find",
            "grep",
            "mkdir",
            "mktemp",
            "rm",
            "sed",
            "sleep",
            "uname",
            "xargs",
        ):
            (folder / "tools" / name).symlink_to(shutil.which(name) or name)

    def tool(self, name: str, text: str = "#!/bin/sh\n") -> None:
        """Put a program on the PATH."""
        made = self.folder / "tools" / name
        made.write_text(text)
        made.chmod(0o755)

    def free(self, megabytes: int) -> None:
        """Let the disk have so much room."""
        self.tool("df", f"#!/bin/sh\nprintf '%s\\n' 'Filesystem etc.' 'disk 9 9 {megabytes * 1024} 9% /'\n")

    def run(self, *words: str, cwd: Path | None = None, **environ: str) -> tuple[int, str, list[str]]:
        """Return the exit code, what was said, and what was asked of Python."""
        shell = [self._shell, "sh"] if self._shell.endswith("busybox") else [self._shell]
        clean = {name: value for name, value in os.environ.items() if name not in {"PYTHON", "JAVA_HOME"}}
        environ = {**clean, "PATH": str(self.folder / "tools"), **environ}
        command = [*shell, str(self.folder / "run"), *words]
        said = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=environ, cwd=cwd
        )
        asked = self.folder / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        asked.unlink(missing_ok=True)
        return said.returncode, said.stdout + said.stderr, lines


@pytest.fixture(params=SHELLS, ids=lambda shell: Path(shell).name)
def clone(tmp_path: Path, request: pytest.FixtureRequest) -> Clone:
    return Clone(tmp_path / "a clone", request.param)


def kinds(asked: list[str]) -> list[str]:
    return [line.split()[1] for line in asked]


def test_it_installs_once_and_hands_its_arguments_on(clone: Clone) -> None:
    code, said, asked = clone.run("bench", "codec", "--quick")
    assert (code, kinds(asked)) == (0, ["venv", "pip", "bench"]), said
    assert asked[-1] == "-m bench codec --quick"
    assert "no C compiler" in said
    assert "no Java 17 or 21" in said
    assert "dev,java" in asked[1]
    assert clone.run("bench") == (0, "", ["-m bench"])


def test_what_an_installation_is_made_from_is_seen_to_change(clone: Clone) -> None:
    clone.run("bench")
    clone.tool("cc")
    assert kinds(clone.run("bench")[2]) == ["pip", "bench"]
    (clone.folder / "pyproject.toml").write_text("")
    assert kinds(clone.run("bench")[2]) == ["pip", "bench"]
    clone.tool("java", "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    assert kinds(clone.run("bench")[2]) == ["pip", "bench"]
    assert kinds(clone.run("bench")[2]) == ["bench"]


def test_a_clone_that_was_moved_is_installed_again(clone: Clone) -> None:
    clone.run("bench")
    clone.folder = clone.folder.rename(clone.folder.with_name("another"))
    assert kinds(clone.run("bench")[2]) == ["pip", "bench"]


def test_a_venv_that_is_not_whole_is_created_again(clone: Clone) -> None:
    (clone.folder / ".venv" / "bin").mkdir(parents=True)
    assert kinds(clone.run("bench")[2]) == ["venv", "pip", "bench"]
    (clone.folder / ".venv" / "bin" / "python").unlink()
    assert kinds(clone.run("bench")[2]) == ["venv", "pip", "bench"]


@pytest.mark.parametrize("version", ["missing", "old"])
def test_a_python_that_does_not_fit_is_named(clone: Clone, version: str) -> None:
    python = clone.folder / "tools" / version
    if version == "old":
        clone.tool(version, "#!/bin/sh\nexit 1\n")
    code, said, asked = clone.run("bench", PYTHON=str(python))
    assert (code, asked) == (1, [])
    assert said == f"run: PYTHON={python} is not Python 3.11 or newer; leave it out, or name another\n"
    assert not (clone.folder / ".venv").exists()


def test_a_full_disk_is_named_before_anything_is_made(clone: Clone) -> None:
    clone.free(5999)
    expected = "run: 6000 MB of free disk are needed here, 5999 MB are free.\n"
    assert clone.run("demo") == (1, expected, [])
    assert not (clone.folder / ".venv").exists()


def test_no_python_at_all_is_one_sentence(clone: Clone) -> None:
    (clone.folder / "tools" / "python3").unlink()
    code, said, _ = clone.run("test")
    assert code == 1
    assert said.startswith("run: Python 3.11 or newer is missing")


def test_an_unknown_word_shows_how_it_is_used(clone: Clone) -> None:
    assert clone.run("bnech")[0] == 2
    code, said, asked = clone.run()
    assert (code, asked) == (0, [])
    assert "./run demo" in said


def test_the_command_runs_where_it_was_called(clone: Clone, tmp_path: Path) -> None:
    clone.run("bench")
    command = clone.folder / ".venv" / "bin" / "wrackline"
    command.write_text('#!/bin/sh\nprintf "%s %s\\n" "$(pwd)" "$*"\n')
    command.chmod(0o755)
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    _, said, _ = clone.run("wrackline", "init", "pipeline.toml", cwd=elsewhere)
    assert said == f"{elsewhere} init pipeline.toml\n"


@pytest.mark.parametrize("wait", [0, 1], ids=["types-end-first", "tests-end-first"])
@pytest.mark.parametrize("wrong", ["nothing", "tests", "types"])
def test_the_gate_fails_only_if_a_test_or_a_type_does(
    clone: Clone, wrong: str, wait: int, tmp_path: Path
) -> None:
    clone.run("bench")
    checker = f"#!/bin/sh\nsleep {wait}\necho wrong types\nexit {int(wrong == 'types')}\n"
    for name, text in (("ruff", "#!/bin/sh\n"), ("mypy", checker)):
        command = clone.folder / ".venv" / "bin" / name
        command.write_text(text)
        command.chmod(0o755)
    if wrong == "tests":
        (clone.folder / "failing").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code, said, asked = clone.run("test", "-q", TMPDIR=str(temporary))
    assert (code, kinds(asked)) == (int(wrong != "nothing"), ["pytest"])
    assert said == ("wrong types\n" if wrong == "types" else "")
    assert list(temporary.iterdir()) == []


def unread(source: str) -> list[str]:
    """The options and arguments that a command takes and never looks at."""
    tree = ast.parse(source)
    taken = [
        str(node.args[0].value).lstrip("-").replace("-", "_")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "add_argument"
        and isinstance(node.args[0], ast.Constant)
    ]
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return [name for name in taken if name not in read]


def test_each_option_of_a_command_is_read() -> None:
    files = [file for folder in ("tests", "bench") for file in (ROOT / folder).rglob("*.py")]
    commands = {file: text for file in files if ".add_argument(" in (text := file.read_text())}
    assert len(commands) > 3
    assert {str(file): found for file, text in commands.items() if (found := unread(text))} == {}


def test_an_unread_option_is_seen() -> None:
    parsed = "parser.add_argument('--keep-it')\nparser.add_argument('name')\nprint(parser.parse_args().name)"
    assert unread(parsed) == ["keep_it"]
