"""The registry answers in the shape of Kafka Connect's validate, and its declarations hold together."""

import json

import pytest

from tests.unit.settings.shop import CANARY, GOOD, checked, codes
from wrackline.control.runtime.ground.installed import registries
from wrackline.schemas.redaction import MASK
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.declared.kafka_client_settings import KAFKA_CLIENT
from wrackline.schemas.settings.declared.unhonoured_settings import UNHONOURED
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.setting import Declared, Setting, placeholders
from wrackline.schemas.settings.settings_registry import SettingsRegistry
from wrackline.schemas.settings.value_kinds import SettingKind, between

RESOLVE = Resolver(Allowed(), {"WRACKLINE_U": CANARY})
CONNECTS_DEFINITION = {
    "name",
    "type",
    "required",
    "default_value",
    "importance",
    "documentation",
    "group",
    "order_in_group",
    "width",
    "display_name",
    "dependents",
}
CONNECTS_VALUE = {"name", "value", "recommended_values", "errors", "visible"}


def test_the_answer_has_connects_shape() -> None:
    given = {
        **GOOD,
        "snapshot.mode": "initial",
        "tasks.max": "0",
        "qqqq": CANARY,
        "kafka.sasl.username": "${env:WRACKLINE_U}",
    }
    answer = json.loads(json.dumps(SettingsRegistry(CORE).validate("postgres", given, RESOLVE)))
    configs = {config["value"]["name"]: config for config in answer["configs"]}
    assert set(answer) == {"name", "error_count", "groups", "configs"}
    for config in configs.values():
        assert set(config["definition"]) == CONNECTS_DEFINITION
        assert set(config["value"]) == CONNECTS_VALUE
    assert configs["tasks.max"]["value"]["errors"]
    assert configs["tasks.max"]["definition"]["default_value"] == "1"
    assert configs["qqqq"]["value"]["value"] == MASK  # what nobody declared may be a secret
    assert configs["kafka.sasl.username"]["value"]["value"] == "${env:WRACKLINE_U}"
    assert configs["snapshot.mode"]["value"]["value"] == "initial"
    assert "no_data" in configs["snapshot.mode"]["value"]["recommended_values"]
    assert CANARY not in json.dumps(answer)


def test_warnings_are_not_counted_as_errors() -> None:
    given = {"name": "a", "include.unknown.datatypes": "true"}
    registry = SettingsRegistry(
        Declared((Setting("name", SettingKind.STRING, "A name."),), not_honoured=UNHONOURED)
    )
    answer = registry.validate("x", given, RESOLVE)
    assert answer["error_count"] == 0
    assert "no effect" in json.dumps(answer)


def test_a_setting_declared_twice_stops_the_program() -> None:
    once = Declared((Setting("a", SettingKind.INT, "A."),))
    again = Declared((Setting("a", SettingKind.INT, "Another."),))
    with pytest.raises(ValueError, match="declared twice: \\['a'\\]"):
        SettingsRegistry(once, again)


def test_a_default_must_be_a_value_that_the_setting_takes() -> None:
    with pytest.raises(ValueError, match="from 1 to 2"):
        Setting("a", SettingKind.INT, "A.", "3", validator=between(1, 2))


def test_every_declaration_reads_well() -> None:
    for registry in registries().values():
        for setting in registry.settings.values():
            assert setting.doc.endswith("."), setting.name
            assert not (setting.required and setting.default), setting.name
            for word in setting.recommended:
                setting.parse(word)
        for entry in registry.not_honoured:
            assert registry.find(entry.name) is None, entry.name


def test_what_is_not_honoured_is_declared_once() -> None:
    entries = [entry.name for entry in (*UNHONOURED, *KAFKA_CLIENT.not_honoured)]
    assert len(entries) == len(set(entries))


@pytest.mark.parametrize(
    ("declared", "name", "places"),
    [
        ("a.<group>.b", "a.x.b", {"group": "x"}),
        ("a.<group>.b", "a.x.y.b", None),
        ("a.<length>.b", "a.12.b", {"length": "12"}),
        ("a.<length>.b", "a.-1.b", None),
        ("a.<table>", "a.s.t", {"table": "s.t"}),
        ("a.<table>", "a.", None),
        ("a.b", "a.b", {}),
        ("a.b", "axb", None),
    ],
)
def test_a_family_knows_its_members(declared: str, name: str, places: dict[str, str] | None) -> None:
    assert placeholders(declared, name) == places


def test_an_exact_name_wins_over_its_family() -> None:
    registry = SettingsRegistry(CORE)
    exact = registry.find("topic.creation.default.partitions")
    assert exact is not None
    assert exact.default == "1"
    member = registry.find("topic.creation.big.retention.ms")
    assert member is not None
    assert member.name == "topic.creation.<group>.<config>"
    assert registry.find("topic.creation.<group>.partitions") is member or registry.find("x") is None


def declared(name: str) -> Setting:
    """A setting of the core or of PostgreSQL's source."""
    known = registries()
    return {**known[""].settings, **known["source postgres"].settings}[name]


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("snapshot.mode", "INITIAL", "initial"),
        ("publication.autocreate.mode", "Filtered", "filtered"),
        ("skipped.operations", "T,None", ("t", "none")),
        ("incremental.snapshot.watermarking.strategy", "INSERT_INSERT", "insert_insert"),
    ],
)
def test_words_are_taken_in_any_case(name: str, given: str, read: object) -> None:
    assert declared(name).parse(given) == read


def test_a_name_is_not_taken_in_another_case() -> None:
    with pytest.raises(ValueError, match="lower-case letters"):
        declared("slot.name").parse("Mine")


@pytest.mark.parametrize("name", ["transforms", "predicates", "post.processors", "sourceinfo.struct.maker"])
def test_a_setting_that_is_refused_is_no_finding_while_it_asks_for_nothing(name: str) -> None:
    assert codes(checked({**GOOD, name: " "})) == []
    assert codes(checked({**GOOD, name: "mine"})) == [(name, "settings.refused")]
