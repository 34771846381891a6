"""The texts of dead letters and of upkeep for each warehouse, as they are reviewed.

They are taken where they are sent: a session writes down what it is given.  To write the files again:
WRACKLINE_WRITE_GOLDEN=1 .venv/bin/pytest tests/unit/consumers/staged/test_kept_texts.py
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from sqlglot import parse_one
from sqlglot.expressions import Command

from tests.unit.consumers.bigquery.test_bigquery_texts import DOCUMENTED
from tests.unit.consumers.redshift import restrictions as redshift_manual
from tests.unit.consumers.snowflake import restrictions as snowflake_manual
from tests.unit.consumers.staged.test_history_texts import DIALECTS, ORDERS
from wrackline.consumers.contract.plan import Applied, TableMode, plan_merge
from wrackline.consumers.staged.letters import StagedLetters
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.service import CarriedFiles, StageTable
from wrackline.consumers.staged.shape import first_shape
from wrackline.consumers.staged.upkeep import forget_stages, upkeep
from wrackline.consumers.targets.bigquery import partitions as bigquery
from wrackline.consumers.targets.redshift import dialect as redshift
from wrackline.consumers.targets.snowflake import dialect as snowflake
from wrackline.schemas.tables.table import KeyKind, TableId
from wrackline.testing.targets.target_suite import letter

GOLDEN = Path(__file__).parents[3] / "golden/staged"
STAGES: Mapping[str, Callable[[StageTable], str]] = {
    "snowflake": snowflake.create_stage,
    "bigquery": bigquery.create_stage,
    "redshift": redshift.create_stage,
}
BROKEN: Mapping[str, Callable[[str], list[str]]] = {
    "snowflake": snowflake_manual.broken,
    "redshift": redshift_manual.broken,
    "bigquery": lambda text: [rule for rule, holds in DOCUMENTED.items() if not holds(text)],
}
MARK = "0123456789abcdef0123456789abcdef"
BAG = replace(ORDERS, key=(), key_kind=KeyKind.NONE)


@dataclass
class WrittenService:
    """A service that has every table, and whose session only writes down what it is given."""

    service: str
    texts: list[str] = field(default_factory=list)
    answers: list[list[tuple[Any, ...]]] = field(default_factory=list)

    @property
    def dialect(self) -> Any:
        return DIALECTS[self.service]

    def has_schema(self, session: object, name: str) -> bool:
        del session, name
        return True

    def made(self, session: object, relation: object) -> str:
        del session, relation
        return "then"

    def create_stage(self, stage: StageTable) -> str:
        return STAGES[self.service](stage)

    def old_tables(self, session: object, beginning: object) -> Sequence[str]:
        del session, beginning
        return [self.layout.place(ORDERS.id).stage(f"__{MARK}").name]

    @property
    def layout(self) -> StagedLayout:
        return StagedLayout("{schema}", "wrackline", self.dialect.identifiers)

    def run(self, text: str) -> None:
        self.texts.append(re.sub(r"(?i)__[0-9a-f]{32}", f"__{MARK}", text))

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        self.run(text)
        return self.answers.pop(0) if self.answers else []

    def load(self, stage: StageTable, files: CarriedFiles, name: str) -> int:
        del stage, name
        return files.rows

    def carry_rows(self, rows: Sequence[object], columns: object) -> CarriedFiles:
        del columns
        return CarriedFiles(("x",), len(rows))

    def forget(self, files: CarriedFiles) -> None:
        del files

    @contextmanager
    def lend(self, table: TableId, doing: str) -> "Iterator[Any]":
        del table, doing
        yield self

    def taken(self) -> list[str]:
        found = list(self.texts)
        self.texts.clear()
        return found


@cache
def texts(service: str) -> dict[str, str]:
    """Every kind of statement, by what it is."""
    world = WrittenService(service)
    letters = StagedLetters(cast("Any", world), world.layout, cast("Any", world), world.lend)
    letters.keep(ORDERS.id, [letter(5)])
    found = dict(
        zip(("letters", "their stage", "letters, kept", "their stage, dropped"), world.taken(), strict=True)
    )
    letters.spots(ORDERS.id)
    list(letters.kept(ORDERS.id))
    letters.remove(ORDERS.id, [letter(5).spot, letter(7, 1).spot])
    letters.forget(cast("Any", world), ORDERS.id)
    names = ("letters, their spots", "letters, a page", "letters, removed", "letters, forgotten")
    found |= zip(names, world.taken(), strict=True)
    for table, mode in ((ORDERS, TableMode.UPSERT), (BAG, TableMode.UPSERT), (ORDERS, TableMode.HISTORY)):
        shape = first_shape(plan_merge(table, world.dialect.identifiers, Applied(), mode=mode), world.dialect)
        of = "no key" if shape.keyless else mode.value
        world.answers = [[(3,)], [(1,)]] if shape.keyless or mode is TableMode.HISTORY else [[(3, 1)]]
        upkeep(
            cast("Any", world),
            cast("Any", world),
            world.layout.place(ORDERS.id),
            shape,
            forget_before_ms=1000,
        )
        found |= {f"upkeep, {of}, {at}": text for at, text in enumerate(world.taken(), 1)}
        world.answers.clear()
    forget_stages(cast("Any", world), cast("Any", world), world.layout.place(ORDERS.id), world.layout)
    (found["a stage that was left"],) = world.taken()
    return found


CASES = [(service, name) for service in DIALECTS for name in texts(service)]


@pytest.mark.parametrize("service", DIALECTS)
def test_the_texts_are_as_they_were_reviewed(service: str) -> None:
    found = "\n\n".join(f"-- {name}\n{text};" for name, text in texts(service).items()) + "\n"
    golden = GOLDEN / f"kept_{service}.sql"
    if "WRACKLINE_WRITE_GOLDEN" in os.environ:
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize("service", DIALECTS)
def test_upkeep_deletes_only_where_it_has_counted_something(service: str) -> None:
    world = WrittenService(service, answers=[[(0, 1)]])
    shape = first_shape(plan_merge(ORDERS, world.dialect.identifiers, Applied()), world.dialect)
    done = upkeep(
        cast("Any", world), cast("Any", world), world.layout.place(ORDERS.id), shape, forget_before_ms=1
    )
    assert done.incomplete == 1
    assert [text.split()[0] for text in world.taken()] == ["SELECT"]
    assert [name for name, text in texts(service).items() if text.startswith("DELETE")] == [
        "letters, removed",
        "letters, forgotten",
        "upkeep, upsert, 2",
        "upkeep, no key, 3",
    ]


@pytest.mark.parametrize(("service", "name"), CASES)
def test_a_text_is_of_its_dialect(service: str, name: str) -> None:
    """A parser of its dialect reads it, and reads the same in what it writes of it."""
    found = parse_one(texts(service)[name], read=service)
    assert not isinstance(found, Command), "it gave up"
    assert parse_one(found.sql(service), read=service) == found


@pytest.mark.parametrize(("service", "name"), CASES)
def test_a_text_is_nothing_that_the_documentation_refuses(service: str, name: str) -> None:
    text = texts(service)[name]
    assert set(BROKEN[service](text)) <= ({"CREATE TABLE: layout"} if name == "letters" else set()), (
        "letters are few"
    )
