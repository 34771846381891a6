"""The corpus of names: what a database may call a thing, and what Avro, Kafka and the targets make of it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.unit.corpus.cases import Case, cases, made, tells_nothing
from wrackline.consumers.contract.identifiers import Case as Letters
from wrackline.consumers.contract.identifiers import Identifiers, target_name, target_names
from wrackline.consumers.targets.delta import types as delta
from wrackline.consumers.targets.iceberg import types as iceberg
from wrackline.consumers.targets.iceberg.connect import _IN_A_PATH
from wrackline.consumers.targets.postgres.sql.place import IDENTIFIERS, PgTargetLayout
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.avro_names import avro_name, avro_namespace, column_names
from wrackline.schemas.kafka.topic_names import Naming, assign, control_topics, table_topic
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TARGETS: Mapping[str, Identifiers] = {
    "iceberg": iceberg.IDENTIFIERS,
    "delta": delta.IDENTIFIERS,
    "postgres": IDENTIFIERS,
    "lower": Identifiers(most_characters=63, case=Letters.LOWER),
    "path": _IN_A_PATH,
}


def _columns(target: str, names: list[str]) -> Mapping[str, str]:
    text = ColumnType(Kind.STRING, "text")
    table = TableSchema(
        TableId("db", "public", "t"), tuple(Column(made(n), i, text) for i, n in enumerate(names))
    )
    return target_names(table, TARGETS[target], reserved_prefix="_wl_")


def _topics(server: str, *tables: list[str]) -> Mapping[str, str]:
    found = assign(server, [TableId(*map(made, table)) for table in tables], naming=Naming.WRACKLINE)
    return {
        **{str(table): topic for table, topic in found.topics.items()},
        **{str(table): error.code for table, error in found.refused.items()},
    }


def _place(*table: str) -> list[str]:
    where = PgTargetLayout("{schema}", "wrackline").place(TableId(*map(made, table)))
    return [where.schema, where.name, where.storage]


ASKED: Mapping[str, Callable[..., Any]] = {
    "avro name": lambda name: avro_name(made(name)),
    "avro namespace": avro_namespace,
    "avro columns": lambda *names: column_names("db.public.t", map(made, names)),
    "target name": lambda target, name: target_name(made(name), TARGETS[target]),
    "target columns": lambda target, *names: _columns(target, list(names)),
    "topic": lambda server, *table: table_topic(made(server), TableId(*map(made, table)), Naming.WRACKLINE),
    "topics": _topics,
    "heartbeats": lambda name: control_topics("srv", heartbeat_name=made(name)).heartbeat,
    "postgres place": _place,
}


@pytest.mark.parametrize("case", cases("identifiers", "avro", "targets", "topics"))
def test_a_name_becomes_what_is_expected_or_is_refused(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    asked, *given = case["asked"]
    if "code" in case:
        with pytest.raises(WracklineError) as refused:
            ASKED[asked](*given)
        assert refused.value.code == case["code"]
        assert refused.value.hint
        tells_nothing(str(refused.value))
    else:
        assert ASKED[asked](*given) == made(case["becomes"])
        assert ASKED[asked](*given) == made(case["becomes"]), "always the same name"
    tells_nothing(caplog.text)


def test_the_cases_are_those_promised() -> None:
    assert len(cases("identifiers", "avro", "targets", "topics")) >= 70
