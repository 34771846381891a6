"""The house's own laws: imports, the size of files, functions and rooms, and names."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("schemas", "producers", "consumers", "control")
SHIPPED = (*PRODUCT, "testing")  # the contracts as tests, for plug-ins of others
FOLDERS = [*SHIPPED, "bench", "tests"]
MAY_IMPORT = {
    "schemas": {"schemas"},
    "producers": {"schemas", "producers"},
    "consumers": {"schemas", "consumers"},
    "control": {"schemas", "producers", "consumers", "control"},
    "testing": {"schemas", "producers", "consumers", "testing"},
}
INNER_LAW = {  # what a folder may not import, though its top-level folder may
    "control.runtime": ("control.cli", "control.console", "control.plane", "control.local"),
    "control.cli": ("control.local",),
}
VAGUE = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
RUN_AS_CODE = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "jsonpickle",
    "code",
}
RUNNING = {name for word in ("eval", "exec", "compile") for name in (word, f"builtins.{word}")}
RUNNING_METHODS = (
    *("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.unsafe_load_all", "yaml.full_load"),
    *("numpy.load", "np.load", "read_pickle", "os.system", "os.popen", "getoutput", "getstatusoutput"),
)
PARTICIPLES = {"told", "kept", "taken", "asked", "said", "found"}
PUBLIC = {  # these are part of a contract, or of a document for programs
    *((f"producers.{module}", "kept") for module in ("contract.optional_parts", "sources.mysql.source")),
    *((f"producers.sources.postgres.{module}", "kept") for module in ("databases", "source")),
    *((f"producers.sources.{kind}.source", "kept") for kind in ("oracle", "sqlserver")),
    *((f"consumers.{module}", "kept") for module in ("contract.letters", "lake.letters_table")),
    *(
        (f"consumers.{module}.letters", "kept")
        for module in ("staged", "targets.postgres", "targets.spanner")
    ),
    ("control.cli.commands.doctor", "found"),
}
MOST_CODE_LINES_OF_FILE = 320
MOST_CODE_LINES_OF_TEST_FILE = 400
LONGER = {  # no file joins these, and none of them may grow
    "producers/cutting/cutter.py": 334,
    "producers/snapshot/machine.py": 331,
    "producers/snapshot/snapshot_table.py": 346,
    "producers/sources/mysql/decode.py": 341,
    "producers/sources/mysql/rows/rows.py": 338,
    "producers/sources/postgres/rows/cells.py": 432,
}
DECLARED = ROOT / "schemas/settings/declared"  # lists of settings: data, whatever their length
MOST_CODE_LINES_OF_FUNCTION = 60
MOST_FILES_OF_ROOM = 13
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def every_file() -> list[Path]:
    return [ROOT / "setup.py", *(file for folder in FOLDERS for file in files(folder))]


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that a file names in an import, C imports included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(tree: ast.AST) -> Iterator[str]:
    """The names below wrackline that a file imports, without that first part."""
    for name in imported(tree):
        top, _, rest = name.removeprefix("cython.cimports.").partition(".")
        if top == "wrackline":
            yield rest


def broken_law(folder: str, source: str) -> list[str]:
    return [name for name in ours(ast.parse(source)) if name.split(".")[0] not in MAY_IMPORT[folder]]


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    assert files(folder)
    found = {
        str(file.relative_to(ROOT)): broken
        for file in files(folder)
        if (broken := broken_law(folder, file.read_text()))
    }
    assert not found


def test_the_law_would_see_a_broken_one() -> None:
    assert broken_law("producers", "from wrackline.consumers import read") == ["consumers.read"]
    assert broken_law("schemas", "import wrackline.producers.task") == ["producers.task"]
    assert broken_law("consumers", "from cython.cimports.wrackline.producers.x import y")
    assert not broken_law("control", "from wrackline.consumers import read")


@pytest.mark.parametrize("folder", INNER_LAW)
def test_the_rooms_of_control_keep_their_order(folder: str) -> None:
    inside = files(folder.replace(".", "/"))
    assert inside
    found = {
        str(file.relative_to(ROOT)): broken
        for file in inside
        if (
            broken := [
                name for name in ours(ast.parse(file.read_text())) if name.startswith(INNER_LAW[folder])
            ]
        )
    }
    assert not found


@cache
def modules() -> Mapping[str, Path]:
    """The product's modules by their dotted names; a folder's __init__ bears the folder's name."""
    named = ((file, file.relative_to(ROOT).with_suffix("")) for top in PRODUCT for file in files(top))
    return {".".join(name.parts).removesuffix(".__init__"): file for file, name in named}


def module_of(name: str, known: Iterable[str]) -> str:
    """The module that a dotted name lies in."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def rooms_imported() -> Mapping[str, set[str]]:
    """For each package the others that it imports from, within functions too."""
    known = modules()

    def room(module: str) -> str:
        return module if known[module].name == "__init__.py" else module.rpartition(".")[0]

    graph: defaultdict[str, set[str]] = defaultdict(set)
    for module, file in known.items():
        for name in ours(ast.parse(file.read_text())):
            if (other := module_of(name, known)) and room(other) != room(module):
                graph[room(module)].add(room(other))
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of packages that import each other, directly or by way of others."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            new = graph.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return seen

    reached = {room: reach(room) for room in graph}
    found: list[set[str]] = []
    for room, others in reached.items():
        circle = {other for other in others & set(reached) if room in reached[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def test_rooms_form_no_circle() -> None:
    assert circles(rooms_imported()) == []


def test_a_circle_would_be_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}}) == []


def test_a_room_is_small_enough_to_be_seen_at_a_glance() -> None:
    rooms = Counter(file.parent for top in SHIPPED for file in files(top) if file.name != "__init__.py")
    assert {str(room.relative_to(ROOT)): n for room, n in rooms.items() if n > MOST_FILES_OF_ROOM} == {}


def test_a_room_s_page_names_all_that_is_in_the_room() -> None:
    """Which file owns what; only the folder of sources has no list, because no code may have one."""
    missing = {}
    for top in SHIPPED:
        for init in (ROOT / top).rglob("__init__.py"):
            page = ast.get_docstring(ast.parse(init.read_text())) or ""
            parts = {file.stem for file in init.parent.glob("*.py")} - {"__init__", "__main__"}
            parts |= {room.parent.name for room in init.parent.glob("*/__init__.py")}
            if left := parts - set(re.findall(r"\w+", page)):
                missing[str(init.parent.relative_to(ROOT))] = left
    missing.pop("producers/sources")
    assert missing == {}


def test_a_class_name_is_used_once() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module, file in modules().items():
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def names_of(source: str) -> Iterator[str]:
    """The names that a module gives to functions, classes, fields and attributes, not to variables."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.ClassDef(name=name, body=body):
                yield name
                fields = (one.target for one in body if isinstance(one, ast.AnnAssign))
                yield from (field.id for field in fields if isinstance(field, ast.Name))


def test_no_name_is_a_participle() -> None:
    """A reader can't say what `told` returns."""
    bad = {
        f"{module}: {name}"
        for module, file in modules().items()
        for name in names_of(file.read_text())
        if name.strip("_") in PARTICIPLES and (module, name) not in PUBLIC
    }
    assert bad == set()


def test_a_participle_would_be_seen() -> None:
    source = "class A:\n    said: int\n    def _told(self):\n        self.kept = asked = 1\n"
    assert PARTICIPLES & {name.strip("_") for name in names_of(source)} == {"said", "told", "kept"}


def no_code(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, an import, or an error's texts: they only make a file look long."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    defines = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "define"
    return defines or isinstance(node, ast.Import | ast.ImportFrom)


@cache
def code_lines(source: str) -> set[int]:
    """The numbers of the lines that hold code: no comments, docstrings, imports, error texts, blank lines."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and no_code(node):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def test_what_a_line_of_code_is() -> None:
    assert code_lines('"""Doc."""\n\nimport os\n\n# why\nX = (\n    1\n)\n') == {6, 7, 8}


def test_no_file_is_too_long() -> None:
    found = {}
    for file in every_file():
        name = str(file.relative_to(ROOT))
        most = MOST_CODE_LINES_OF_FILE if name.startswith(PRODUCT) else MOST_CODE_LINES_OF_TEST_FILE
        most, source = LONGER.get(name, most), file.read_text()
        if DECLARED in file.parents or source.count("\n") <= most:
            continue
        if (lines := len(code_lines(source))) > most:
            found[name] = lines
    assert found == {}


def test_no_function_is_too_long() -> None:
    found = {}
    for file in every_file():
        source = file.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                span = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
                if len(span) <= MOST_CODE_LINES_OF_FUNCTION:
                    continue
                if (lines := len(code_lines(source) & span)) > MOST_CODE_LINES_OF_FUNCTION:
                    found[f"{file.relative_to(ROOT)}:{node.name}"] = lines
    assert found == {}


def test_every_module_says_what_it_is_and_has_a_name_that_says_it() -> None:
    below_tests = {"tests"} | {part.name for part in (ROOT / "tests").rglob("*")}
    for file in every_file():
        assert file.stem not in VAGUE, f"{file} has a name that says nothing"
        if file.name != "__init__.py" or file.parent.name not in below_tests:
            assert ast.get_docstring(ast.parse(file.read_text())), f"{file} has no docstring"


def runs_what_it_reads(source: str) -> list[str]:
    """What of a file would run data as code: pickles, texts of Python, YAML with classes, a shell's words."""
    tree = ast.parse(source)
    found = sorted({name.split(".")[0] for name in imported(tree)} & RUN_AS_CODE)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            by_shell = any(
                word.arg == "shell" and ast.unparse(word.value) != "False" for word in node.keywords
            )
            if by_shell or called in RUNNING or called.endswith(RUNNING_METHODS):
                found.append(called)
    return found


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_no_data_is_run_as_code(folder: str) -> None:
    """A-DATA-05."""
    found = {
        str(file.relative_to(ROOT)): called
        for file in files(folder)
        if (called := runs_what_it_reads(file.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from marshal import loads",
        "import numpy\nnumpy.load(file, allow_pickle=True)",
        "eval(text)",
        "builtins.exec(text)",
        "compile(text, 'x', 'exec')",
        "yaml.load(file)",
        "yaml.unsafe_load(file)",
        "subprocess.run(text, shell=True)",
        "subprocess.run(text, shell=wanted)",
        "os.system(text)",
        "pandas.read_pickle(file)",
    ],
)
def test_what_runs_data_as_code_would_be_seen(line: str) -> None:
    assert runs_what_it_reads(line)
    assert not runs_what_it_reads(
        "import re\nre.compile(x)\nyaml.safe_load(f)\nrun([x], shell=False)\nself.exec(x)"
    )


def test_a_clone_that_was_never_built_resolves_the_installed_names() -> None:
    without_packages = [sys.executable, "-S", "-c", "import wrackline.schemas.errors as e; print(e.__file__)"]
    found = subprocess.run(without_packages, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).resolve() == ROOT / "schemas/errors.py"
    assert {link.name for link in (ROOT / "wrackline").iterdir()} == set(SHIPPED)


def test_the_project_speaks_of_itself_alone() -> None:
    machine = "/" + "work/", "/" + "root/", "/" + "home/"
    registries = "pypi" + ".org", "python" + "hosted.org", "repo1." + "maven", "repo." + "maven"
    others = [ROOT / name for name in ("run", ".ci/run", "pyproject.toml", "MANIFEST.in")]
    others += ROOT.glob("deploy/requirements*.txt")
    for file in [*every_file(), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *others]:
        text = file.read_text()
        assert not [path for path in machine if path in text], f"{file} names a path of one machine"
        assert not [host for host in registries if host in text], f"{file} names a registry's host"
