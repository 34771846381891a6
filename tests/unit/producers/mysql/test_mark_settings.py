"""Which marks the settings ask for, and which of them can't be."""

import pytest

from tests.integration.mysql.world import read
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.sources.mysql.chunks.mark_settings import mark_kind, signal_table
from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

STRATEGY, TABLE = "incremental.snapshot.watermarking.strategy", "signal.data.collection"


def settings(**more: str) -> Values:
    """Settings that are good but for these."""
    given = {
        "name": "test",
        "connector.class": "mysql",
        "topic.prefix": "server",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "database.hostname": "nowhere.example",
        "database.user": "reader",
    }
    return read(given | more)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, MarkKind.FENCE),
        ({"read.only": "true", TABLE: "shop.signals"}, MarkKind.FENCE),
        ({STRATEGY: "fence", "read.only": "true"}, MarkKind.FENCE),
        ({STRATEGY: "insert_insert", TABLE: "shop.signals"}, MarkKind.SIGNAL),
        ({STRATEGY: "insert_delete", TABLE: "shop.signals"}, MarkKind.SIGNAL),
    ],
)
def test_the_strategy_says_the_kind(given: dict[str, str], kind: MarkKind) -> None:
    assert mark_kind(settings(**given)) is kind


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({STRATEGY: "message", TABLE: "shop.signals"}, "mysql.marks_unsaid"),
        ({STRATEGY: "insert_insert", TABLE: "shop.signals", "read.only": "true"}, "mysql.marks_write"),
        ({STRATEGY: "insert_delete", TABLE: "shop.signals", "read.only": "true"}, "mysql.marks_write"),
        ({STRATEGY: "insert_insert"}, "mysql.marks_nowhere"),
    ],
)
def test_marks_that_cant_be_are_refused(given: dict[str, str], code: str) -> None:
    with pytest.raises(OperatorNeeded) as raised:
        mark_kind(settings(**given))
    assert raised.value.code == code
    assert given[STRATEGY] in raised.value.sentence
    assert STRATEGY in raised.value.hint


@pytest.mark.parametrize(("folds", "database", "name"), [("0", "Shop", "Signals"), ("1", "shop", "signals")])
def test_the_signal_table_is_named_as_the_server_names_it(folds: str, database: str, name: str) -> None:
    facts = MySqlServerFacts({"lower_case_table_names": folds})
    found = signal_table(settings(**{TABLE: "Shop.Signals"}), facts)
    assert found == TableId(database, database, name)
    assert signal_table(settings(), facts) is None
