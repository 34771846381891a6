"""Settings of others: named if they have no effect, refused if that would publish or lose something."""

import pytest

from tests.unit.settings.shop import GOOD, checked, codes
from wrackline.control.runtime.ground.installed import registries
from wrackline.schemas.settings.declared.unhonoured_settings import UNHONOURED
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

AVRO = "io.confluent.connect.avro.AvroConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("value.converter", AVRO, None),
        ("value.converter", JSON, "settings.not_honoured"),
        ("value.converter", "com.example.EncryptingConverter", "settings.refused"),
        ("key.converter", "com.example.EncryptingConverter", "settings.refused"),
        ("value.converter.schema.registry.url", "http://r:1", "settings.not_honoured"),
        ("value.converter.rule.executors", "encryptor", "settings.refused"),
        ("transforms", "hide", "settings.refused"),
        ("topic.delimiter", ".", None),
        ("topic.delimiter", "_", "settings.refused"),
        ("topic.transaction", "transaction", None),
        ("topic.transaction", "txns", "settings.refused"),
        ("key.converter", "", None),
        ("topic.delimiter", " ", None),
        ("transforms", "", None),
        ("value.converter.rule.service.loader.enable", "false", None),
        ("value.converter.rule.service.loader.enable", "true", "settings.not_honoured"),
        ("poll.interval.ms", "1", "settings.not_honoured"),
        ("poll.interval.ms", "", None),
        ("database.server.name", "shop", "settings.refused"),
        ("producer.override.acks", "all", "settings.not_honoured"),
        ("producer.override.bootstrap.servers", "other:9092", "settings.refused"),
        ("transaction.metadata.factory", "com.example.Mine", "settings.refused"),
        ("lsn.flush.timeout.ms", "1000", "settings.not_honoured"),
        ("tasks.max", "4", "settings.not_yet"),
    ],
)
def test_what_would_publish_or_lose_something_is_refused(name: str, value: str, code: str | None) -> None:
    found = checked({**GOOD, name: value})
    assert codes(found) == ([] if code is None else [(name, code)])
    assert (found.values is None) is (code == "settings.refused")


@pytest.mark.parametrize("kind", ["source mysql", "source mariadb"])
@pytest.mark.parametrize(
    ("end", "value", "refused"),
    [
        ("includes", "", False),
        ("includes", ".*", False),
        ("includes", "a1", True),
        ("excludes", "", False),
        ("excludes", ".*", True),
    ],
)
def test_a_filter_of_servers_that_leaves_none_out_is_no_finding(
    kind: str, end: str, value: str, *, refused: bool
) -> None:
    problems = registries()[kind].read({f"gtid.source.{end}": value}, Resolver(Allowed(), {})).problems
    found = [one.error.code for one in problems if one.setting == f"gtid.source.{end}"]
    assert found == ["settings.refused"] * refused


def test_only_what_is_refused_has_values_that_are_mild() -> None:
    assert not [entry.name for entry in UNHONOURED if entry.mild and not entry.refused]
