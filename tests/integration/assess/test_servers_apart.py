"""Planted faults that need a server of their own: its log, its slots, its rights."""

from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AclOperation,
    ResourceType,
)

from tests.fixtures.servers import Database
from tests.integration.assess.world import PgAssessWorld
from tests.integration.kafka.test_denied_topics import LOGIN, PASSWORD, STRICT, USER, allow
from wrackline.control.local.stack import kafka as broker_of_stack
from wrackline.control.local.stack import postgres as postgres_of_stack
from wrackline.control.local.stack.kafka import ExtraListener
from wrackline.control.local.stack.servers import HOST, Broker, SchemaRegistry
from wrackline.control.local.stack.stack import POSTGRES_DEFAULT

pytestmark = [pytest.mark.servers, pytest.mark.full]


def test_a_log_that_can_not_be_decoded_and_slots_that_are_in_use_are_found(
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = {name: value for name, value in postgres_of_stack.SETTINGS.items() if name != "wal_level"}
    with monkeypatch.context() as patched:
        patched.setattr(postgres_of_stack, "SETTINGS", ours)
        server = postgres_of_stack.postgres(tmp_path / "own", POSTGRES_DEFAULT)
    server.process.start()
    try:
        database = Database("postgres", server.database_dsn("postgres"), server)
        world = PgAssessWorld(tmp_path, database, kafka, registry, topic_prefix)
        [found] = (one for one in world.found("source") if one.id == "pg.wal_level")
        assert [(one["restart"], one["safe"]) for one in found.fixes] == [(True, False)]
        world.mend(found)
        world.sql.close()
        server.process.restart()
        assert "pg.wal_level" not in world.ids("source")
        _take_slots(world, database)
    finally:
        server.process.stop()


def _take_slots(world: PgAssessWorld, database: Database) -> None:
    """Use all slots; one that is dropped, as the hint says, is enough."""
    with psycopg.connect(database.dsn, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_create_physical_replication_slot('s' || n)"
            " FROM generate_series(1, current_setting('max_replication_slots')::int) n"
        )
        [found] = (one for one in world.found("source") if one.id == "pg.slots_full")
        assert "drop one that is no longer needed" in found.suggestion
        admin.execute("SELECT pg_drop_replication_slot('s1')")
    assert "pg.slots_full" not in world.ids("source")


def test_rights_without_transactions_are_found(
    world: PgAssessWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": LOGIN}
    with monkeypatch.context() as patched:
        patched.setattr(broker_of_stack, "SETTINGS", broker_of_stack.SETTINGS | STRICT)
        strict = broker_of_stack.broker(
            tmp_path / "strict", ways=[ExtraListener("login", "SASL_PLAINTEXT", settings)]
        )
    strict.process.start()
    try:
        world.given |= {
            "kafka.bootstrap.servers": f"{HOST}:{strict.ways['login']}",
            "kafka.security.protocol": "sasl_plaintext",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": USER,
            "kafka.sasl.password": PASSWORD,
        }
        prefix = f"wrackline-{world.given['name']}"
        allow(strict, ResourceType.TOPIC, "*", AclOperation.ALL)
        allow(strict, ResourceType.GROUP, "*", AclOperation.ALL)
        [found] = (one for one in world.found("kafka") if one.id == "kafka.trial_denied")
        assert f"--transactional-id '{prefix}'" in found.suggestion
        allow(strict, ResourceType.TRANSACTIONAL_ID, "*", AclOperation.ALL)
        assert "kafka.trial_denied" not in world.ids("kafka")
    finally:
        strict.process.stop()
