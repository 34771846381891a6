"""A setting that nothing acts on yet is named when it is set, and none is silently ignored."""

import ast
from pathlib import Path

import pytest

from tests.unit.settings.shop import GOOD, checked, codes
from wrackline.control.group import member
from wrackline.control.installed import Installed, registries
from wrackline.producers.kafka.client import Client, Identity
from wrackline.schemas.kafka_client_settings import KAFKA_CLIENT, MEMBER
from wrackline.schemas.mode_settings import MODES
from wrackline.schemas.redaction import Secret
from wrackline.schemas.setting import Setting
from wrackline.schemas.setting_kinds import Kind

ROOT = Path(__file__).parents[3]
DECLARING = {
    "core_settings",
    "consume_settings",
    "keeping_settings",
    "snapshot_settings",
    "not_yet_settings",
    "kafka_client_settings",
    "libpq_settings",
    "source_settings",
    "config",
}
CODE = "settings.not_yet"
# read under a name that is put together: where, and by what
COMPOSED = {
    **{
        f"{{prefix}}.{name}": (f"database.{name}", f"target.{name}")
        for name in ("hostname", "port", "user", "dbname", "sslmode", "password.clear.allowed")
    },
    "{prefix}.{name}": tuple(
        f"{prefix}.{name}"
        for prefix in ("database", "target")
        for name in ("password", "sslpassword", "sslrootcert", "sslcert", "sslkey")
    ),
}
# the validator lets only that through
ONE_ANSWER = {"plugin.name", "slot.drop.on.stop", *(mode.name for mode in MODES)}
WHOLE = ("kafka.", "topic.creation.", "spark.")  # read with all that is below


def texts_of_the_code() -> set[str]:
    """Every text in the code that declares no settings, docstrings aside; composed ones with their holes."""
    found: set[str] = set()
    for folder in ("schemas", "producers", "consumers", "control"):
        for file in (ROOT / folder).rglob("*.py"):
            if file.stem in DECLARING:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
                elif isinstance(node, ast.JoinedStr):
                    found.add(ast.unparse(node)[2:-1])
    return found


def obeyed(setting: Setting, texts: set[str]) -> bool:
    composed = [text for text, names in COMPOSED.items() if setting.name in names]
    return (
        setting.name in texts
        or any(text in texts for text in composed)
        or setting.name in ONE_ANSWER
        or setting.name.startswith(WHOLE)
    )


def test_every_setting_is_obeyed_or_named_as_not_obeyed_yet() -> None:
    texts = texts_of_the_code()
    for registry in registries().values():
        named = {entry.name for entry in registry.not_yet}
        assert named <= set(registry.settings)
        silent = [s.name for s in registry.settings.values() if s.name not in named and not obeyed(s, texts)]
        assert not silent


OURS = Identity("g", "shop", 0, 1)
SOME: dict[Kind, int | float | str] = {
    Kind.INT: 77_777,
    Kind.LONG: 77_777,
    Kind.DOUBLE: 0.77,
    Kind.BOOLEAN: True,
    Kind.PASSWORD: Secret("s3"),
}


@pytest.mark.parametrize("setting", KAFKA_CLIENT.settings, ids=lambda setting: setting.name)
def test_every_setting_of_kafka_reaches_a_client(setting: Setting) -> None:
    name, value = setting.name.removeprefix("kafka."), SOME.get(setting.type, "some")
    client = Client({name: value}, 1000)
    clients = (client.producer(OURS), client.reporter("r"), client.reader(OURS), client.admin())
    given = value.reveal() if isinstance(value, Secret) else value
    assert given in [made.get(name) for made in clients]


@pytest.mark.parametrize("setting", MEMBER, ids=lambda setting: setting.name)
def test_every_setting_of_a_groups_member_reaches_it(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, object]] = []

    class Taken:
        def __init__(self, settings: dict[str, object]) -> None:
            made.append(settings)

        def subscribe(self, *_: object, **__: object) -> None:
            """Take part in nothing."""

    monkeypatch.setattr(member, "Consumer", Taken)
    name = setting.name.removeprefix("kafka.")
    reader = Client({"session.timeout.ms": 6000, name: 77_777}).reader(OURS)
    member.Member(reader, "t", print, print, print)
    assert made[0][name] == 77_777
    assert 0 < int(str(made[0]["heartbeat.interval.ms"])) <= 77_777


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("skip.messages.without.change", "true"),
        ("tasks.max", "4"),
    ],
)
def test_who_sets_it_is_told_and_the_pipeline_still_starts(name: str, value: str) -> None:
    pipeline = checked({**GOOD, name: value})
    assert codes(pipeline) == [(name, CODE)]
    assert pipeline.problems[0].warning
    assert pipeline.values is not None


def test_what_is_done_anyway_is_no_finding() -> None:
    given = {**GOOD, "tasks.max": " 1 "}
    assert codes(checked(given)) == []


def test_what_is_done_anyway_can_be_set() -> None:
    installed = [*registries().items()]
    assert Installed().kinds("source")
    for _, registry in installed:
        for entry in registry.not_yet:
            for value in entry.done:
                registry.settings[entry.name].parse(value)
