"""Every way to get a setting wrong that we thought of; each is named with its code, and nothing else is."""

import pytest

from tests.unit.settings.shop import CANARY, GOOD, checked, codes
from wrackline.schemas.settings.settings_registry import LONGEST_VALUE

INVALID = "settings.invalid"
UNKNOWN = "settings.unknown"
REFUSED = "settings.refused"
QUIET = "settings.not_honoured"
HUGE = "9" * 400

BAD_VALUES = [
    # name, value
    ("name", ""),
    ("name", "two words"),
    ("name", "a/b"),
    ("name", "x" * 101),
    ("name", "sh\u00f6p"),
    ("name", "a\0b"),
    ("connector.class", "../postgres"),
    ("connector.class", "os;rm"),
    ("connector.class", "a..b"),
    ("topic.prefix", ""),
    ("topic.prefix", "."),
    ("topic.prefix", ".."),
    ("topic.prefix", "shop.eu"),
    ("topic.prefix", "a b"),
    ("topic.prefix", "a/b"),
    ("topic.prefix", "\U0001f40b"),
    ("topic.prefix", "p" * 201),
    ("tasks.max", ""),
    ("tasks.max", "0"),
    ("tasks.max", "-1"),
    ("tasks.max", "129"),
    ("tasks.max", "two"),
    ("tasks.max", "1.5"),
    ("tasks.max", "1e3"),
    ("tasks.max", "1_000"),
    ("tasks.max", "0x10"),
    ("tasks.max", "\u0663"),
    ("tasks.max", HUGE),
    ("tasks.max", "true"),
    ("tombstones.on.delete", "yes"),
    ("tombstones.on.delete", "1"),
    ("tombstones.on.delete", ""),
    ("tombstones.on.delete", "t"),
    ("read.only", "readonly"),
    ("provide.transaction.metadata", "on"),
    ("max.row.bytes", "0"),
    ("max.row.bytes", "-67108864"),
    ("max.row.bytes", "64MB"),
    ("max.row.bytes", "1000000001"),
    ("max.row.bytes", str(2**63)),
    ("max.row.bytes", HUGE),
    ("heartbeat.interval.ms", "-1"),
    ("heartbeat.interval.ms", "10 s"),
    ("heartbeat.interval.ms", str(2**31)),
    ("topic.heartbeat.prefix", "a b"),
    ("skipped.operations", "insert"),
    ("skipped.operations", "c,x"),
    ("table.include.list", "public.(orders"),
    ("table.include.list", "*"),
    ("table.include.list", "public.orders,["),
    ("table.exclude.list", r"a{2\,1}"),
    ("schema.include.list", "(?P<a>x)(?P<a>y)"),
    ("column.include.list", "+"),
    ("column.exclude.list", "a**"),
    ("column.as.text", "("),
    ("column.truncate.to.10.chars", "["),
    ("column.mask.with.5.chars", "("),
    ("column.mask.hash.SHA-256.with.salt.s4lt", "("),
    ("message.key.columns", "public.orders"),
    ("message.key.columns", ":id"),
    ("message.key.columns", "public.orders:"),
    ("message.key.columns", "a:b:c"),
    ("topic.creation.default.partitions", "0"),
    ("topic.creation.default.partitions", "many"),
    ("topic.creation.default.replication.factor", "0"),
    ("topic.creation.default.replication.factor", "-2"),
    ("topic.creation.groups", "default"),
    ("topic.creation.groups", "big tables"),
    ("topic.creation.default.cleanup.policy", "shred"),
    ("topic.creation.default.retention.ms", ""),
    ("schema.registry.url", ""),
    ("schema.registry.url", "registry:8081"),
    ("schema.registry.url", "ftp://registry"),
    ("schema.registry.url", "http://"),
    ("schema.registry.url", f"http://user:{CANARY}@registry:8081"),
    ("schema.registry.compatibility", "SOMETIMES"),
    ("schema.registry.basic.auth.user.info", ""),
    ("snapshot.mode", "inital"),
    ("snapshot.truncate.events", "perhaps"),
    ("snapshot.max.threads", "65"),
    ("snapshot.include.collection.list", "("),
    ("snapshot.select.statement.overrides.public.orders", "DROP TABLE orders"),
    ("snapshot.select.statement.overrides.public.orders", ""),
    ("incremental.snapshot.chunk.size", "0"),
    ("incremental.snapshot.chunk.size", "1000001"),
    ("incremental.snapshot.watermarking.strategy", "high"),
    ("signal.data.collection", ""),
    ("signal.enabled.channels", "jmx"),
    ("signal.enabled.channels", "source,file"),
    ("signal.kafka.topic", "t" * 250),
    ("signal.kafka.topic", "a b"),
    ("errors.max.retries", "-2"),
    ("retriable.restart.connector.wait.ms", "0"),
    ("target.schema.change.behavior", "evole"),
    ("target.column.prefix", "1x"),
    ("target.column.prefix", "a-b"),
    ("secrets.allow.folders", "relative/path"),
    ("secrets.allow.env", "A B"),
    ("kafka.bootstrap.servers", ""),
    ("kafka.bootstrap.servers", "a b:9092"),
    ("kafka.bootstrap.servers", "a:9092,,b:9092"),
    ("kafka.bootstrap.servers", "a:port"),
    ("kafka.bootstrap.servers", "http://a:9092"),
    ("kafka.security.protocol", "tls"),
    ("kafka.sasl.mechanism", "oauth"),
    ("kafka.sasl.oauthbearer.method", "default"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "http://idp.internal/token"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "http://127.0.0.1.evil.example/token"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "http://localhost@evil.example/token"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "https://user:c4n4ry@idp.example/token"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "https://"),
    ("kafka.sasl.oauthbearer.extensions", "a=b c"),
    ("kafka.sasl.oauthbearer.client.secret", ""),
    ("kafka.sasl.mechanism", "scram"),
    ("kafka.sasl.password", ""),
    ("kafka.compression.type", "rar"),
    ("slot.drop.on.stop", "true"),
    ("kafka.linger.ms", "nan"),
    ("kafka.linger.ms", "inf"),
    ("kafka.linger.ms", "-0.5"),
    ("kafka.linger.ms", "5ms"),
    ("kafka.transaction.timeout.ms", "900001"),
    ("kafka.transaction.timeout.ms", "0"),
    ("kafka.socket.timeout.ms", "9"),
    ("kafka.ssl.endpoint.identification.algorithm", ""),
    ("database.hostname", ""),
    ("database.hostname", "/var/run/postgresql"),
    ("database.hostname", "a,b"),
    ("database.hostname", "db port=1"),
    ("database.port", "0"),
    ("database.port", "65536"),
    ("database.port", "5432,5433"),
    ("database.user", ""),
    ("database.dbname", ""),
    ("database.dbname", "service=admin"),
    ("database.dbname", "d" * 64),
    ("database.password", "a\0b"),
    ("database.sslmode", "on"),
    ("slot.name", "Slot"),
    ("slot.name", "a-b"),
    ("slot.name", "s" * 64),
    ("plugin.name", "decoderbufs"),
    ("publication.autocreate.mode", "all"),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_a_value_out_of_bounds_is_named_and_not_repeated(name: str, value: str) -> None:
    """A-CLIENT-05, A-DRIVER-01, A-DRIVER-02."""
    found = checked({**GOOD, name: value})
    assert codes(found) == [(name, INVALID)]
    assert found.values is None
    text = str(found.problems[0].error)
    assert "expected" in text
    assert CANARY not in text
    if len(value) > 12 and not value.isdecimal():  # others may be part of what is expected
        assert value not in text


@pytest.mark.parametrize(
    ("name", "value"),
    [("topic.prefix", "x" * (LONGEST_VALUE + 1)), ("database.hostname", "a." * LONGEST_VALUE)],
)
def test_a_value_may_have_so_many_characters_at_most(name: str, value: str) -> None:
    found = checked({**GOOD, name: value})
    assert codes(found) == [(name, INVALID)]
    assert f"longer than {LONGEST_VALUE} characters" in str(found.problems[0].error)


@pytest.mark.parametrize("name", [n for n in GOOD if n not in {"database.password", "snapshot.mode"}])
def test_a_required_setting_that_is_missing_is_named(name: str) -> None:
    found = checked({k: v for k, v in GOOD.items() if k != name})
    assert (name, "settings.missing") in codes(found)
    assert found.values is None


UNKNOWN_NAMES = [
    # the wrong name, the nearest known one
    ("topic.prefx", "topic.prefix"),
    ("Topic.Prefix", "topic.prefix"),
    (" topic.prefix", "topic.prefix"),
    ("topic_prefix", "topic.prefix"),
    ("table.includelist", "table.include.list"),
    ("tables.include.list", "table.include.list"),
    ("kafka.bootstrap.server", "kafka.bootstrap.servers"),
    ("bootstrap.servers", "kafka.bootstrap.servers"),
    ("schema.registry.urls", "schema.registry.url"),
    ("snapshot.modes", "snapshot.mode"),
    ("slot.names", "slot.name"),
    ("database.host", "database.hostname"),
    ("database.pasword", "database.password"),
    ("column.mask.with.five.chars", "column.mask.with.<length>.chars"),
    ("column.truncate.to.-1.chars", "column.truncate.to.<length>.chars"),
    ("topic.creation.<group>.partitions.", "topic.creation.<group>.partitions"),
    ("kafka.sasl.passwort", "kafka.sasl.password"),
    ("qqqq", None),
    ("", None),
    ("=;--", None),
    ("\U0001f40b" * 300, None),
    ("a\nb", None),
]


@pytest.mark.parametrize(("name", "near"), UNKNOWN_NAMES)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(name: str, near: str | None) -> None:
    found = checked({**GOOD, name: "x"})
    if name.startswith("topic.creation.<group>"):
        assert codes(found) == [(name, "settings.undeclared_group")]
        return
    assert codes(found) == [(name, UNKNOWN)]
    error = found.problems[0].error
    assert (f"did you mean {near}?" in error.hint) == (near is not None)
    assert error.sentence.isprintable()
    assert len(error.sentence) < 200


FORBIDDEN_CLIENT_KEYS = [
    "sasl.jaas.config",
    "plugin.library.paths",
    "ssl.engine.location",
    "ssl.providers",
    "sasl.kerberos.kinit.cmd",
    "sasl.oauthbearer.config",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "debug",
    "log_level",
    "enable.ssl.certificate.verification",
    "ssl.key.pem",
    "transactional.id",
    "enable.idempotence",
    "acks",
    "max.in.flight",
    "retries",
    "partitioner",
    "isolation.level",
    "group.id",
    "group.protocol",
    "enable.auto.commit",
    "allow.auto.create.topics",
    "client.id",
]


@pytest.mark.parametrize("name", FORBIDDEN_CLIENT_KEYS)
def test_a_forbidden_client_setting_stops_the_pipeline(name: str) -> None:
    """A-CLIENT-01, A-CLIENT-02, A-CLIENT-03."""
    found = checked({**GOOD, f"kafka.{name}": CANARY})
    assert codes(found) == [(f"kafka.{name}", REFUSED)]
    assert found.values is None
    assert CANARY not in str(found.problems[0].error)


@pytest.mark.parametrize("name", ["transforms", "transforms.unwrap.type", "predicates", "converters"])
def test_what_would_change_the_data_is_refused(name: str) -> None:
    """A-CLIENT-08."""
    found = checked({**GOOD, name: "x"})
    assert codes(found) == [(name, REFUSED)]
    assert found.values is None


@pytest.mark.parametrize(
    "name",
    [
        "include.unknown.datatypes",
        "header.converter",
        "value.converter.schema.registry.url",
        "max.batch.size",
        "exactly.once.support",
        "schema.history.internal.kafka.topic",
        "slot.max.retries",
        "lsn.flush.mode",
    ],
)
def test_what_has_no_effect_is_named_and_stops_nothing(name: str) -> None:
    found = checked({**GOOD, name: "x"})
    assert codes(found) == [(name, QUIET)]
    assert found.values is not None
    assert name not in found.values


def test_a_key_of_each_of_ten_thousand_tables_may_be_named_in_one_text() -> None:
    keys = ";".join(f"public.table_of_the_shop_{number}:id" for number in range(10_000))
    assert codes(checked({**GOOD, "message.key.columns": keys})) == []


def test_a_default_that_is_written_out_excludes_nothing() -> None:
    target = {"target.kind": "iceberg", "target.warehouse": "lake"}
    for value, expected in (("true", []), ("false", [("target.kind", "settings.exclusive")])):
        assert codes(checked({**GOOD, **target, "snapshot.truncate.events": value})) == expected


@pytest.mark.parametrize("what", ["schema", "table", "column"])
def test_include_and_exclude_lists_exclude_each_other(what: str) -> None:
    both = {f"{what}.include.list": "a", f"{what}.exclude.list": "b"}
    assert codes(checked({**GOOD, **both})) == [(f"{what}.exclude.list", "settings.exclusive")]
    one_empty = {f"{what}.include.list": "a", f"{what}.exclude.list": ""}
    assert not codes(checked({**GOOD, **one_empty}))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"kafka.message.timeout.ms": "60001"}, "kafka.message.timeout.ms"),
        ({"kafka.transaction.timeout.ms": "44999"}, "kafka.message.timeout.ms"),
        ({"kafka.retry.backoff.ms": "1001"}, "kafka.retry.backoff.ms"),
    ],
)
def test_a_number_above_its_limit_is_named(given: dict[str, str], name: str) -> None:
    assert codes(checked({**GOOD, **given})) == [(name, "settings.too_large")]


def test_a_topic_group_must_be_listed() -> None:
    group = {"topic.creation.big.partitions": "12", "topic.creation.big.retention.ms": "1"}
    assert codes(checked({**GOOD, **group})) == [(name, "settings.undeclared_group") for name in group]
    assert not codes(checked({**GOOD, **group, "topic.creation.groups": "big"}))


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("postgress", "did you mean postgres?"),
        ("io.debezium.connector.mongodb.MongoDbConnector", "installed: "),
        ("os", "installed: "),
    ],
)
def test_an_unknown_kind_is_named_with_what_is_installed(kind: str, hint: str) -> None:
    found = checked({**GOOD, "connector.class": kind})
    assert codes(found) == [("connector.class", "pipeline.unknown_kind")]  # database.* can't be judged
    assert hint in found.problems[0].error.hint
    assert found.values is None


@pytest.mark.parametrize("alias", ["PostgresConnector", "Postgres"])
def test_the_alias_of_debeziums_class_is_taken(alias: str) -> None:
    assert checked({**GOOD, "connector.class": alias}).source == "postgres"


def test_debeziums_class_name_is_taken() -> None:
    name = "io.debezium.connector.postgresql.PostgresConnector"
    found = checked({**GOOD, "connector.class": name})
    assert not found.problems
    assert found.source == "postgres"


def test_all_problems_come_at_once() -> None:
    spoiled = {**GOOD, "tasks.max": "0", "snapshot.mode": "x", "qqqq": "1", "kafka.acks": "1"}
    del spoiled["topic.prefix"]
    assert sorted(code for _, code in codes(checked(spoiled))) == [
        INVALID,
        INVALID,
        "settings.missing",
        REFUSED,
        UNKNOWN,
    ]


def test_the_cases_are_at_least_those_promised() -> None:
    promised = 120
    assert len(BAD_VALUES) + len(UNKNOWN_NAMES) + len(FORBIDDEN_CLIENT_KEYS) >= promised


def test_a_good_configuration_gives_typed_values() -> None:
    given = {**GOOD, "table.include.list": r"public.orders , public.a{1\,2},", "kafka.linger.ms": "0.5"}
    values = checked(given).values
    assert values is not None
    assert values.listed("table.include.list") == ("public.orders", "public.a{1,2}")
    assert values.number("kafka.linger.ms") == pytest.approx(0.5)
    assert values.flag("tombstones.on.delete") is True
    assert values.integer("database.port") == 5432
    assert values.secret("database.password").reveal() == CANARY
    assert values.below("kafka.")["bootstrap.servers"] == "broker1:9092, broker2:9092"
    with pytest.raises(TypeError):
        values.integer("tombstones.on.delete")
    with pytest.raises(TypeError):
        values.text("database.password")  # would be stars, which a driver sends as the password
