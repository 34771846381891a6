"""A setting that nothing acts on yet is named when it is set, and none is silently ignored."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.settings.shop import GOOD, checked, codes
from wrackline.control.runtime.ground.installed import Installed, registries
from wrackline.control.runtime.group import member
from wrackline.control.runtime.group.group_settings import GROUP
from wrackline.control.runtime.spark import spark_session
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.topic_creation import read_creation
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.declared.handling_mode_settings import MODES
from wrackline.schemas.settings.declared.kafka_client_settings import KAFKA_CLIENT, MEMBER
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.setting import Setting
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import SettingKind

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
    "guardrail_settings",
    "config",
}
CODE = "settings.not_yet"
FOLDERS = "schemas", "producers", "consumers", "control"
READERS = {"text", "flag", "integer", "number", "listed", "secret", "below", "family", "get"}
FUNCTIONS = {"compile_list", "_column_list", "_texts", "_file", "_named"}  # of the values and a name
# handed on in a table or as a part of other names: where
HANDED_ON = {
    "schemas/settings/filters.py": (
        "column.mask.hash.<algorithm>.with.salt.<salt>",
        "column.mask.hash.v2.<algorithm>.with.salt.<salt>",
        "column.mask.with.<length>.chars",
        "column.truncate.to.<length>.chars",
        "column.unfit.{self.value}",
    ),
    "schemas/settings/overrides.py": ("snapshot.select.statement.overrides.<table>",),
    "schemas/kafka/schema_registry.py": (
        "schema.registry.basic.auth.user.info",
        "schema.registry.ssl.ca.location",
    ),
}
# read under a name that is put together: where, and by what
COMPOSED = {
    "column.unfit.{self.value}": tuple(f"column.unfit.{policy}" for policy in ("stop", "letter", "null")),
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
ONE_ANSWER = {
    "plugin.name",
    "slot.drop.on.stop",
    "database.connection.adapter",
    *(mode.name for mode in MODES),
}
# read with all that is below; a test of each is here
WHOLE = ("kafka.", "topic.creation.", "spark.")


def text_of(node: ast.expr) -> str | None:
    """Return a text, a composed one with its holes; None for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)[2:-1] if isinstance(node, ast.JoinedStr) else None


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that a file gives to a text, and the text."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                found = [(name, value)]
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                found = [(name, value)]
            case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)):
                pairs = zip(names, values, strict=True)
                found = [(one.id, value) for one, value in pairs if isinstance(one, ast.Name)]
            case _:
                continue
        yield from ((name, text) for name, value in found if (text := text_of(value)) is not None)


def read_in(tree: ast.Module) -> Iterator[ast.expr]:
    """What stands where a setting's name is read by: in brackets, or as an argument of a reader."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in READERS:
                yield first
            case ast.Call(func=ast.Name(name), args=[_, second, *_]) if name in FUNCTIONS:
                yield second
            case ast.Subscript(slice=inside):
                yield inside


def names_read(sources: Iterable[str]) -> set[str]:
    """Every name that the code reads a setting by, in full or as a constant."""
    trees = [ast.parse(source) for source in sources]
    known: dict[str, set[str]] = {}
    for tree in trees:
        for name, text in constants(tree):
            known.setdefault(name, set()).add(text)
    found: set[str] = set()
    for node in (node for tree in trees for node in read_in(tree)):
        written = text_of(node)
        if written is not None:
            found.add(written)
        elif isinstance(node, ast.Name):
            found |= known.get(node.id, set())
    return found


@cache
def names_read_in_code() -> frozenset[str]:
    """Every such name in the code that declares no settings."""
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    return frozenset(names_read(file.read_text() for file in files if file.stem not in DECLARING))


def obeyed(setting: Setting, texts: AbstractSet[str]) -> bool:
    forms = {setting.name, *(text for text, names in COMPOSED.items() if setting.name in names)}
    handed_on = {name for names in HANDED_ON.values() for name in names}
    return bool(forms & (texts | handed_on | ONE_ANSWER)) or setting.name.startswith(WHOLE)


def values_of(given: Mapping[str, str]) -> Values:
    return check(given, Installed(), Resolver(Allowed().of_the_owner(), {})).good()


def test_every_setting_is_obeyed_or_named_as_not_obeyed_yet() -> None:
    texts = names_read_in_code()
    declared = [*((one.settings.values(), one.not_yet) for one in registries().values())]
    for settings, not_yet in (*declared, (GROUP.settings, GROUP.not_yet)):
        named = {entry.name for entry in not_yet}
        assert named <= {setting.name for setting in settings}
        assert [one.name for one in settings if one.name not in named and not obeyed(one, texts)] == []


def test_a_setting_that_is_passed_on_is_in_that_file_and_read_nowhere_else() -> None:
    texts = names_read_in_code()
    for path, names in HANDED_ON.items():
        nodes = ast.walk(ast.parse((ROOT / path).read_text()))
        written = {text_of(node) for node in nodes if isinstance(node, ast.expr)}
        assert set(names) <= written, path
        assert texts.isdisjoint(names), f"{path}: no exception is needed"


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("values.text('a.b')", {"a.b"}),
        ("values['a.b']", {"a.b"}),
        ("X: Final = 'a.b'\nvalues.flag(X)", {"a.b"}),
        ("X, Y = 'a.b', 'c.d'\ncompile_list(values, Y)", {"c.d"}),
        ("values.text(f'{prefix}.b')", {"{prefix}.b"}),
        ("hint = 'set a.b'\nSetting('a.b')\nX = 'a.b'\nprint('a.b')", set()),
    ],
)
def test_a_name_counts_only_where_it_is_read(source: str, read: set[str]) -> None:
    assert names_read([source]) == read


OF_TOPICS = [one for one in CORE.settings if one.name.startswith("topic.creation.")]
TOPICS: dict[str, tuple[str, object]] = {  # by a name's end: a value, and what is then true of a topic
    "partitions": ("77", 77),
    "replication.factor": ("7", 7),
    "include": ("a.*", True),
    "exclude": ("a.b", False),
    "cleanup.policy": ("compact", {"cleanup.policy": "compact"}),
    "<config>": ("77777", {"x": "77777"}),
}


@pytest.mark.parametrize("setting", OF_TOPICS, ids=lambda setting: setting.name)
def test_every_setting_of_topics_reaches_the_topic_that_is_made(setting: Setting) -> None:
    group = {"topic.creation.groups": "g", "topic.creation.g.include": "a[.].*"}
    if setting.name == "topic.creation.groups":
        made = read_creation(values_of({**GOOD, **group}))
        assert [one.takes("a.b") for one in made.groups] == [True]
        return
    end = setting.name.removeprefix("topic.creation.").partition(".")[2]
    text, wanted = TOPICS[end]
    name = setting.name.replace("<group>", "g").replace("<config>", "x")
    made = read_creation(values_of({**GOOD, **group, name: text}))
    topic = "a.b" if "<group>" in setting.name else "z.z"
    found = made.of(topic)
    met = {
        "partitions": found.partitions,
        "replication.factor": found.replication,
        "include": bool(made.groups) and made.groups[0].takes("a.b"),
        "exclude": bool(made.groups) and made.groups[0].takes("a.b"),
        "cleanup.policy": dict(found.config),
        "<config>": dict(found.config),
    }
    assert met[end] == wanted


OF_SPARK = [one for one in CORE.settings if one.name.startswith("spark.")]
SPARKS = {
    "spark.master": "local[7]",
    "spark.remote": "sc://h:15002",
    "spark.driver.memory": "7g",
    "spark.<rest>": "7",
}


@pytest.mark.parametrize("setting", OF_SPARK, ids=lambda setting: setting.name)
def test_every_setting_of_spark_reaches_the_session(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, str] = {}

    class Taken(Exception):  # noqa: N818 - it stops what would start Java
        """The session has its settings."""

    def start(_jars: object, _needed: object, given: Mapping[str, str], **_: object) -> None:
        told.update(given)
        raise Taken

    def connected(url: str, _needed: object, given: Mapping[str, str]) -> None:
        told.update({**given, "spark.remote": url})
        raise Taken

    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setattr("wrackline.consumers.spark.sessions.start", start)
    monkeypatch.setattr(spark_session, "_connect", connected)
    monkeypatch.setattr(spark_session, "spark_jars", lambda _: [])
    monkeypatch.setattr(
        "wrackline.control.runtime.spark.java.find_java", lambda: SimpleNamespace(home="/java")
    )
    name, text = setting.name.replace("<rest>", "locality.wait"), SPARKS[setting.name]
    values = values_of({**GOOD, name: text})
    with pytest.raises(Taken), spark_session.open_session(values, (), {}, None):
        pass
    assert told[name] == text


OURS = Identity("g", "shop", 0, 1)
SOME: dict[SettingKind, int | float | str] = {
    SettingKind.INT: 77_777,
    SettingKind.LONG: 77_777,
    SettingKind.DOUBLE: 0.77,
    SettingKind.BOOLEAN: True,
    SettingKind.PASSWORD: Secret("s3"),
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


def test_a_setting_without_effect_is_reported_and_the_pipeline_still_starts() -> None:
    pipeline = checked({**GOOD, "tasks.max": "4"})
    assert codes(pipeline) == [("tasks.max", CODE)]
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
