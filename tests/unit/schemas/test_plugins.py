"""A plug-in is a folder of ours or an entry point of others; nothing else can be imported by its name."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.others import SOURCE, TARGET, Install
from wrackline.consumers.contract.target import TARGETS, load_target
from wrackline.control.cli.commands.doctor import examine
from wrackline.control.cli.commands.explain import explain_codes, find_setting
from wrackline.control.runtime.ground.installed import Installed
from wrackline.producers.contract.source_plugin import SOURCES, load
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.pipelines.plugin_finder import OF_TARGETS, PluginSide, find, list_folders
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.setting import Setting

FOLDERS = {
    "good": "PLUGIN = 'the plug-in'",
    "undriven": "import a_driver_that_nobody_has\nPLUGIN = 0",
    "faulty": "import wrackline.nowhere\nPLUGIN = 0",
    "half_built": "",
}
CONCH = SOURCE.replace("{kind}", "conch")
REEF = TARGET.replace("{kind}", "reef")
GIVEN = {
    "name": "shop",
    "topic.prefix": "shop1",
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "schema.registry.url": "http://127.0.0.1:1",
}


@pytest.fixture
def side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginSide:
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
    return PluginSide("source", import_module(top.name), 1, ())


def checked(**given: str) -> Pipeline:
    return check({**GIVEN, **given}, Installed(), Resolver(Allowed(), {}))


def codes(pipeline: Pipeline) -> list[str]:
    return [problem.error.code for problem in pipeline.problems]


def refusal() -> WracklineError:
    """What a pipeline with the source is told about its plug-in."""
    problems = checked(**{"connector.class": "conch"}).problems
    [error] = [problem.error for problem in problems if problem.error.code.startswith("plugin.")]
    return error


def test_folders_alone_are_known(side: PluginSide) -> None:
    assert list_folders(side) == ("faulty", "good", "undriven")


def test_a_folder_is_found_by_its_name(side: PluginSide) -> None:
    assert find(side, "good") == "the plug-in"


@pytest.mark.parametrize("kind", ["lonely", "half_built", "good.deeper", "..good", "", "os", "GOOD"])
def test_what_is_no_folder_is_named_with_those_that_are(side: PluginSide, kind: str) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        find(side, kind)
    assert caught.value.code == "plugin.unknown"
    assert "faulty, good, undriven" in caught.value.hint


def test_a_missing_driver_says_what_to_install(side: PluginSide) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        find(side, "undriven")
    assert caught.value.code == "plugin.driver_missing"
    assert "a_driver_that_nobody_has" in caught.value.sentence
    assert caught.value.hint == (
        "install Wrackline with its extra undriven (docs/installing.md);"
        " in a clone: .venv/bin/python -m pip install -e '.[undriven]'"
    )


def test_a_fault_of_our_own_is_not_hidden_behind_pip(side: PluginSide) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"wrackline\.nowhere"):
        find(side, "faulty")


@pytest.mark.parametrize(("loaded", "side"), [(load, "source"), (load_target, "target")])
def test_each_side_looks_into_its_own_folders(loaded: Callable[[str], object], side: str) -> None:
    with pytest.raises(OperatorNeeded, match=f"there is no {side} named 'access'"):
        loaded("access")


def test_a_plug_in_of_others_is_found_with_its_settings_codes_and_version(install: Install) -> None:
    install("wrackline-conch", CONCH, {"source": "conch"})
    install("wrackline-reef", REEF, {"target": "reef"})
    assert load("conch").connector == "conch"
    given = {"connector.class": "conch", "conch.path": "x", "target.kind": "reef", "target.reef.path": "y"}
    pipeline = checked(**given)
    assert (codes(pipeline), pipeline.source, pipeline.target) == ([], "conch", "reef")
    assert "settings.missing" in codes(checked(**{"connector.class": "conch"}))
    setting = find_setting("target.reef.path")
    assert isinstance(setting, Setting)
    assert setting.doc == "Where it is."
    assert explain_codes("wrackline_conch.broken")[0].hint == "glue it"
    assert Installed().versions("source")["conch"] == Installed().versions("target")["reef"] == "1.2"
    facts = {fact.name: (fact.found, fact.good) for fact in examine()}
    assert facts["source conch"] == ("wrackline-conch 1.2", True)
    assert facts["target reef"] == ("wrackline-reef 1.2", True)


RAISES = "    @property\n    def contract(self):\n        return 1 / 0\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("import a_driver_that_nobody_has", "plugin.import_failed", "a_driver_that_nobody_has"),
        ("import sys; sys.exit(7)", "plugin.import_failed", "SystemExit"),
        ("raise ValueError('s3cret')", "plugin.import_failed", "ValueError"),
        ("", "plugin.import_failed", "AttributeError"),
        (CONCH.replace("{module}.broken", "plugin.clash"), "plugin.import_failed", "ValueError"),
        (CONCH.replace("contract = 1", "contract = 2"), "plugin.other_contract", "version 2"),
        (CONCH.replace("contract = 1", "pass"), "plugin.other_contract", "version ?"),
        (CONCH.replace("source_fields = ()", "pass"), "plugin.not_a_plugin", "source_fields"),
        (CONCH.replace('connector = "conch"', 'connector = "other"'), "plugin.not_a_plugin", "its kind"),
        (CONCH.replace("settings = Declared", "settings = tuple"), "plugin.not_a_plugin", "Declared"),
        (CONCH.replace('"conch.path"', '"topic.prefix"'), "plugin.not_a_plugin", "topic.prefix"),
        (CONCH.replace('"conch.path"', '"target.path"'), "plugin.not_a_plugin", "target.path"),
        (CONCH.replace("    contract = 1", RAISES), "plugin.not_a_plugin", "ZeroDivisionError"),
        (
            CONCH.replace("Setting(", "str(").replace(
                ', SettingKind.STRING, "Where it is.", required=True', ""
            ),
            "plugin.not_a_plugin",
            "AttributeError",
        ),
    ],
)
def test_what_is_wrong_with_one_plug_in_is_an_error_of_those_who_name_it(
    install: Install, text: str, code: str, said: str
) -> None:
    install("wrackline-conch", text, {"source": "conch"})
    for _ in range(2):  # a second look finds the same
        error = refusal()
        assert error.code == code
        assert said in error.sentence
        assert "wrackline-conch" in error.sentence
        assert "s3cret" not in str(error)
        assert "uninstall" in error.hint or "--upgrade" in error.hint
    with pytest.raises(WracklineError) as caught:
        load("conch")
    assert caught.value.code == code
    assert "plugin.import_failed" not in codes(checked(**{"connector.class": "postgres"}))
    assert list(Installed().versions("source")) == ["mariadb", "mysql", "oracle", "postgres", "sqlserver"]
    [fact] = [fact for fact in examine() if fact.name == "source conch"]
    assert not fact.good
    assert not fact.needed
    assert find_setting("topic.prefix")
    assert explain_codes("plugin.clash")


def test_two_packages_with_one_name_are_both_left_out(install: Install) -> None:
    install("wrackline-conch", CONCH, {"source": "conch"})
    install("other-conch", CONCH, {"source": "conch"})
    error = refusal()
    assert error.code == "plugin.clash"
    assert "other-conch, wrackline-conch; none of them is used" in error.sentence


def test_a_package_does_not_take_the_name_of_one_of_ours(install: Install) -> None:
    install("wrackline-conch", CONCH.replace('"conch"', '"postgres"'), {"source": "postgres"})
    assert type(load("postgres")).__module__ == "wrackline.producers.sources.postgres.plugin"
    [fact] = [fact for fact in examine() if fact.name == "source postgres"]
    assert "Wrackline's own is used" in fact.found


def test_our_own_keep_what_is_asked_of_others() -> None:
    for side in (SOURCES, TARGETS):
        for kind in list_folders(side):
            plugin: Any = find(side, kind)
            assert [part for part in ("kind", "settings", *side.parts) if not hasattr(plugin, part)] == []
            assert plugin.kind == kind
            names = {setting.name for setting in plugin.settings.settings}
            assert {name.startswith(OF_TARGETS) for name in names} == {side is TARGETS}
