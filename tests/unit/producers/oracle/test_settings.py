"""Debezium's Oracle connector's settings: what runs as it is, what is named, what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wrackline.producers.sources.oracle.config import SETTINGS
from wrackline.producers.sources.oracle.connect.meanings import (
    container_name,
    database_name,
    excluded_users,
    poll_seconds,
)
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry

# As Debezium's own reference writes them.
DEBEZIUM = {
    "name": "inventory-connector",
    "connector.class": "io.debezium.connector.oracle.OracleConnector",
    "tasks.max": "1",
    "kafka.bootstrap.servers": "broker:9092",
    "schema.registry.url": "http://registry:8081",
    "database.hostname": "10.20.30.40",
    "database.port": "1521",
    "database.user": "c##dbzuser",
    "database.password": "geheim",
    "database.dbname": "ORCLCDB",
    "database.pdb.name": "orclpdb1",
    "database.connection.adapter": "LogMiner",
    "topic.prefix": "server1",
    "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
    "schema.history.internal.kafka.topic": "schema-changes.inventory",
    "table.include.list": "INVENTORY[.]CUSTOMERS",
    "log.mining.strategy": "online_catalog",
    "log.mining.transaction.retention.ms": "0",
    "log.mining.buffer.type": "memory",
    "log.mining.buffer.transaction.events.threshold": "0",
    "log.mining.sleep.time.max.ms": "3000",
    "log.mining.username.exclude.list": "SYS,batch",
    "lob.enabled": "true",
    "rac.nodes": "192.168.1.100,192.168.1.101:1522",
    "archive.destination.name": "LOG_ARCHIVE_DEST_2",
    "driver.oracle.jdbc.timezoneAsRegion": "false",
    "snapshot.mode": "initial",
    "signal.data.collection": "ORCLPDB1.INVENTORY.SIGNALS",
}


def reading(given: Mapping[str, str]) -> CheckedSettings:
    return SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))


def test_a_debezium_connector_runs_as_it_is_with_warnings() -> None:
    read = reading(DEBEZIUM)
    assert read.values is not None, [problem for problem in read.problems if not problem.warning]
    assert "geheim" not in str(read.problems)
    assert {problem.setting for problem in read.problems} == {
        "schema.history.internal.kafka.bootstrap.servers",
        "schema.history.internal.kafka.topic",
        "log.mining.buffer.type",
        "log.mining.sleep.time.max.ms",
        "driver.oracle.jdbc.timezoneAsRegion",
    }
    assert read.values["database.connection.adapter"] == "logminer"
    assert read.values.listed("rac.nodes") == ("192.168.1.100", "192.168.1.101:1522")


def test_names_are_folded_as_the_server_does() -> None:
    values = reading(DEBEZIUM).values
    assert values is not None
    assert database_name(values) == container_name(values) == "ORCLPDB1"
    assert excluded_users(values) == {"SYS", "BATCH"}
    quoted = reading({**DEBEZIUM, "database.pdb.name": '"orclpdb1"'}).values
    assert quoted is not None
    assert database_name(quoted) == "orclpdb1"
    plain = reading({name: text for name, text in DEBEZIUM.items() if name != "database.pdb.name"}).values
    assert plain is not None
    assert (database_name(plain), container_name(plain)) == ("ORCLCDB", None)


def test_archived_logs_are_looked_for_less_often() -> None:
    values = reading(DEBEZIUM).values
    assert values is not None
    assert poll_seconds(values) == 1.0
    for name in ("log.mining.archive.log.only.mode", "read.only"):
        archived = reading({**DEBEZIUM, name: "true"}).values
        assert archived is not None
        assert poll_seconds(archived) == 10.0


@pytest.mark.parametrize(
    "more",
    [
        {"database.url": "jdbc:oracle:thin:@//host:1521/orcl"},
        {"database.hostname": "host:1521"},
        {"database.dbname": ""},
        {"database.dbname": "SHOP,STOCK"},
        {"database.dbname": "host:1521/SHOP"},
        {"database.pdb.name": 'a"b'},
        {"database.connection.adapter": "xstream"},
        {"rac.nodes": "two words"},
        {"log.mining.transaction.retention.ms": "3600000"},
        {"log.mining.buffer.transaction.events.threshold": "100000"},
        {"log.mining.username.include.list": "SHOP"},
        {"log.mining.clientid.exclude.list": "batch"},
        {"log.mining.read.only": "true"},
        {"log.mining.flush.table.name": "a.b.c"},
        {"log.mining.batch.size.min": "30000"},
        {"log.mining.batch.size.max": "10000"},
        {"capture.mode": "physical_standby"},
        {"interval.handling.mode": "numeric"},
        {"database.ssl.ca": "/etc/ca.pem"},
        {"database.ssl.mode": "verify_ca", "database.ssl.server.dn": "CN=shop"},
    ],
)
def test_what_cannot_be_obeyed_is_refused(more: Mapping[str, str]) -> None:
    assert reading({**DEBEZIUM, **more}).values is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.mining.strategy", "hybrid"),
        ("log.mining.buffer.infinispan.cache.events", "<local-cache/>"),
        ("log.mining.scn.gap.detection.gap.size.min", "1000000"),
        ("log.mining.include.redo.sql", "true"),
        ("archive.log.hours", "24"),
        ("openlogreplicator.host", "elsewhere"),
        ("internal.log.mining.log.query.max.retries", "5"),
        ("driver.javax.net.ssl.trustStorePassword", "geheim"),
    ],
)
def test_what_has_no_effect_is_named(name: str, value: str) -> None:
    read = reading({**DEBEZIUM, name: value})
    assert read.values is not None, read.problems
    assert name in {problem.setting for problem in read.problems}
    assert "geheim" not in str(read.problems)


def test_every_setting_of_debezium_is_known() -> None:
    """Those of its reference for Oracle, of version 3; values do not matter here."""
    names = Path(__file__).with_name("debezium_oracle_settings.txt").read_text("utf-8").split()
    problems = reading({**dict.fromkeys(names, "1"), "connector.class": "oracle"}).problems
    unknown = [problem.setting for problem in problems if problem.error.code == "settings.unknown"]
    assert len(names) > 100
    assert unknown == []


@pytest.mark.parametrize("name", ["database.hostname", "database.dbname", "rac.nodes"])
def test_a_whole_descriptor_is_no_part_of_an_address(name: str) -> None:
    """A-DRIVER-06: the driver would take another host, port and protocol from it."""
    descriptor = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=evil.example)(PORT=1)))"
    read = reading({**DEBEZIUM, name: descriptor})
    assert read.values is None
    assert name in str(read.problems)
