"""A plug-in is a folder found by its name, and nothing else can be imported that way."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from wrackline.consumers.contract.target import load_target
from wrackline.producers.contract import source_plugin
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.pipelines.plugin_finder import find, list_kinds

FOLDERS = {
    "good": "PLUGIN = 'the plug-in'",
    "undriven": "import a_driver_that_nobody_has",
    "faulty": "import wrackline.nowhere",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Lay a package of plug-in folders where Python finds it."""
    top = tmp_path / "plugs_of_this_test"
    for name, text in FOLDERS.items():
        (top / name).mkdir(parents=True)
        (top / name / "__init__.py").write_text(text)
    (top / "__init__.py").touch()
    (top / "lonely.py").write_text("PLUGIN = 'a module is no folder'")
    monkeypatch.syspath_prepend(tmp_path)
    for module in [name for name in sys.modules if name.startswith(top.name)]:
        monkeypatch.delitem(sys.modules, module)
    return import_module(top.name)


def test_folders_alone_are_known(package: ModuleType) -> None:
    assert list_kinds(package) == ("faulty", "good", "undriven")


def test_a_folder_is_found_by_its_name(package: ModuleType) -> None:
    assert find(package, "good", side="source") == "the plug-in"


@pytest.mark.parametrize("kind", ["lonely", "good.deeper", "..good", "", "os", "GOOD"])
def test_what_is_no_folder_is_named_with_those_that_are(package: ModuleType, kind: str) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        find(package, kind, side="source")
    assert caught.value.code == "plugin.unknown"
    assert "faulty, good, undriven" in caught.value.hint


def test_a_missing_driver_says_what_to_install(package: ModuleType) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        find(package, "undriven", side="target")
    assert caught.value.code == "plugin.driver_missing"
    assert "a_driver_that_nobody_has" in caught.value.sentence
    assert caught.value.hint == (
        "install Wrackline with its extra undriven (docs/installing.md);"
        " in a clone: .venv/bin/python -m pip install -e '.[undriven]'"
    )


def test_a_fault_of_our_own_is_not_hidden_behind_pip(package: ModuleType) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"wrackline\.nowhere"):
        find(package, "faulty", side="source")


@pytest.mark.parametrize(("load", "side"), [(source_plugin.load, "source"), (load_target, "target")])
def test_each_side_looks_into_its_own_folders(load: Callable[[str], object], side: str) -> None:
    with pytest.raises(OperatorNeeded, match=f"there is no {side} named 'access'"):
        load("access")
