"""The registry answers in the shape of Kafka Connect's validate, and its declarations hold together."""

import json

import pytest

from tests.unit.settings.shop import CANARY, GOOD
from wrackline.control.installed import registries
from wrackline.schemas.core_settings import CORE
from wrackline.schemas.kafka_client_settings import KAFKA_CLIENT
from wrackline.schemas.redaction import MASK
from wrackline.schemas.secret_refs import Allowed, Resolver
from wrackline.schemas.setting import Declared, Setting, placeholders
from wrackline.schemas.setting_kinds import Kind, between
from wrackline.schemas.settings import Registry
from wrackline.schemas.unhonoured_settings import UNHONOURED

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
    answer = json.loads(json.dumps(Registry(CORE).validate("postgres", given, RESOLVE)))
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
    registry = Registry(Declared((Setting("name", Kind.STRING, "A name."),), not_honoured=UNHONOURED))
    answer = registry.validate("x", given, RESOLVE)
    assert answer["error_count"] == 0
    assert "no effect" in json.dumps(answer)


def test_a_setting_declared_twice_stops_the_program() -> None:
    once = Declared((Setting("a", Kind.INT, "A."),))
    again = Declared((Setting("a", Kind.INT, "Another."),))
    with pytest.raises(ValueError, match="declared twice: \\['a'\\]"):
        Registry(once, again)


def test_a_default_must_be_a_value_that_the_setting_takes() -> None:
    with pytest.raises(ValueError, match="from 1 to 2"):
        Setting("a", Kind.INT, "A.", "3", validator=between(1, 2))


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
    registry = Registry(CORE)
    exact = registry.find("topic.creation.default.partitions")
    assert exact is not None
    assert exact.default == "1"
    member = registry.find("topic.creation.big.retention.ms")
    assert member is not None
    assert member.name == "topic.creation.<group>.<config>"
    assert registry.find("topic.creation.<group>.partitions") is member or registry.find("x") is None
