"""Operations that single tables do not publish: left out, and every place of the log is still passed."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.corpus.worker import GOOD
from tests.unit.producers.test_batching import TABLE, cutter
from wrackline.control.runtime.ground.installed import Installed
from wrackline.producers.contract.steps import Batch, Begin, Commit, Rows, Shape, Step, Truncate
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.pipelines.publication_settings import skipped_of_table
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import TableId

OTHER = replace(TABLE, id=TableId("db0", "public", "other"))
ROWS = (
    (0, "c", b"k", b"made", None),
    (1, "d", b"k", b"gone", None),
    (0, "d", b"k", b"gone", None),
    (1, "c", b"k", b"made", None),
)


def published(skipped: Mapping[TableId, AbstractSet[str]], *steps: Step) -> list[tuple[str, bytes | None]]:
    policy = CutPolicy(linger=0.0, tombstones=False, skipped_of=lambda table: skipped.get(table, frozenset()))
    made = cutter(policy, PlainControl(counts=False), fresh=False)
    shapes = (Shape(0, TABLE, None), Shape(1, OTHER, None))
    made.feed(Batch((*shapes, Begin("1", 1), *steps, Commit("1", Place(0, 9), 1)), 9), now=0.0)
    publication = made.take(10.0)
    assert publication is not None
    assert publication.position == Place(0, 9), "the log is passed, whatever is left out"
    return [(topic, value) for topic, _, value, *_ in publication.records]


def test_a_table_leaves_out_its_own_operations_and_no_other_tables() -> None:
    one, two = str(TABLE.id), str(OTHER.id)
    step = Rows(ROWS, Place(0, 1, 4))
    assert published({}, step) == [(one, b"made"), (two, b"gone"), (one, b"gone"), (two, b"made")]
    assert published({TABLE.id: {"d"}}, step) == [(one, b"made"), (two, b"gone"), (two, b"made")]
    assert published({TABLE.id: {"d", "c"}, OTHER.id: {"c"}}, step) == [(two, b"gone")]


def test_a_truncate_of_one_table_is_left_out() -> None:
    steps = (Truncate(0, b"one", Place(0, 1, 1)), Truncate(1, b"two", Place(0, 1, 2)))
    assert [value for _, value in published({TABLE.id: {"t"}}, *steps)] == [b"two"]


def test_a_table_that_is_shaped_again_keeps_its_setting() -> None:
    skipped = {TABLE.id: {"d"}}
    again = Shape(7, TABLE, None)
    assert published(skipped, again, Rows(((7, "d", b"k", b"gone", None),), Place(0, 1, 1))) == []


@pytest.mark.parametrize(
    ("given", "orders", "items"),
    [
        ({"skipped.operations.public.orders": "u,d"}, {"u", "d"}, set()),
        ({"skipped.operations": "t", "skipped.operations.public.orders": "d"}, {"d"}, set()),
        ({"target.schema.change.exclude": "TRUNCATE_TABLE"}, {"t"}, {"t"}),
        ({"target.schema.change.exclude.public.orders": "truncate_table"}, {"t"}, set()),
        ({"target.schema.change.exclude": "ADD_COLUMN"}, set(), set()),
    ],
)
def test_settings_say_what_a_table_leaves_out(
    given: Mapping[str, str], orders: set[str], items: set[str]
) -> None:
    resolver = Resolver(Allowed().of_the_owner(), {})
    of = skipped_of_table(check({"name": "shop", **GOOD, **given}, Installed(), resolver).good())
    assert of(TableId("shop", "public", "orders")) == orders
    assert of(TableId("shop", "public", "items")) == items


@pytest.mark.parametrize("name", ["skipped.operations.orders", "target.schema.change.exclude.orders"])
def test_a_setting_of_a_table_names_its_schema_too(name: str) -> None:
    checked = check({"name": "shop", **GOOD, name: "none"}, Installed(), Resolver(Allowed(), {}))
    assert [problem.setting for problem in checked.problems if not problem.warning] == [name]
    assert "schema.table" in checked.problems[0].error.sentence
