"""Two rows of one key, where only the log shows them."""

from dataclasses import replace

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_batching import TABLE, cutter
from tests.unit.producers.test_batching_edges import NEVER
from wrackline.producers.contract.row_chunks import KEY_DOUBLED, Halves
from wrackline.producers.contract.steps import (
    Appeared,
    Batch,
    Begin,
    Commit,
    Misfit,
    Renamed,
    Reshaped,
    RowChange,
    Rows,
    Shape,
    Step,
    Truncate,
    UnfitRow,
    Vanished,
)
from wrackline.producers.cutting.cutter import CutPolicy, Cutter
from wrackline.producers.cutting.key_memory import KeyMemory
from wrackline.schemas.tables.table import KeyKind, TableSchema

CHOSEN = replace(TABLE, key_kind=KeyKind.CUSTOM)
OTHER = replace(CHOSEN, id=TABLE.id._replace(name="other"))


def changes(*said: str, ref: int = 1) -> list[RowChange]:
    """`cA` is a create of the key A, and so on."""
    return [(ref, one[0], one[1:].encode(), b"value", None) for one in said]


def memory(*shapes: TableSchema, most: int = 100) -> KeyMemory:
    made = KeyMemory(most)
    for ref, shape in enumerate(shapes or (CHOSEN,), 1):
        made.shape(ref, shape)
    return made


@pytest.mark.parametrize(
    ("said", "doubled"),
    [
        ("cA cB cA", 2),
        ("uA cA", 1),
        ("cA uA cA", 2),
        ("cA dA cA", None),
        ("dA cA uA", None),
        ("cA dA cA cA", 3),
        ("cA cA cA", 1),
    ],
)
def test_a_create_of_a_living_key_is_found_and_no_other(said: str, doubled: int | None) -> None:
    found = memory().rows(changes(*said.split()))
    assert found == ({} if doubled is None else {1: doubled})


def test_a_key_is_known_from_an_earlier_batch_and_from_rows_that_were_read() -> None:
    known = memory()
    assert known.rows(changes("cA")) == {}
    known.read(TABLE.id, [b"B", None])
    assert known.rows(changes("cC", "cB")) == {1: 1}
    assert known.rows(changes("cA")) == {1: 0}


def test_an_emptied_table_has_no_living_key_and_its_neighbour_keeps_its_own() -> None:
    known = memory(CHOSEN, OTHER)
    known.rows([*changes("cA"), *changes("cA", ref=2)])
    known.emptied(TABLE.id)
    assert known.rows([*changes("cA"), *changes("cA", ref=2)]) == {2: 1}


def test_another_shape_of_the_table_knows_its_keys_and_another_key_begins_anew() -> None:
    known = memory()
    known.rows(changes("cA"))
    known.shape(2, replace(CHOSEN, columns=(*TABLE.columns, replace(TABLE.columns[0], name="x", identity=9))))
    assert known.rows(changes("cA", ref=2)) == {2: 0}
    known.shape(3, replace(CHOSEN, key=CHOSEN.key[:1]))
    assert known.rows(changes("cA", ref=3)) == {}


def test_a_key_that_the_database_chose_is_not_watched() -> None:
    assert memory(TABLE).rows(changes("cA", "cA")) == {}


def test_the_oldest_keys_are_forgotten_and_those_that_change_are_not() -> None:
    known = memory(most=2)
    assert known.rows(changes("cA", "cB", "uA", "cC")) == {}
    assert known.rows(changes("cB")) == {}
    known = memory(most=2)
    assert known.rows(changes("cA", "cB", "uA", "cC", "cA")) == {1: 4}


def fed(*steps: Step, shape: TableSchema = CHOSEN, policy: CutPolicy = NEVER) -> tuple[Cutter, list[str]]:
    made = cutter(policy, PlainControl(counts=False), fresh=False)
    whole = (Shape(1, shape, None), Begin("a", 7), *steps, Commit("a", Place(0, 9), 7))
    return made, [fault.error.code for fault in made.feed(Batch(whole, 0), 0.0)]


def published(made: Cutter) -> list[bytes | None]:
    found = []
    while (one := made.take(0.0)) is not None:
        found += [record[1] for record in one.records]
    return found


def test_a_table_is_set_aside_before_the_second_row_of_a_key_is_published() -> None:
    made, faults = fed(Rows(changes("cA", "cB"), Place(0, 3)), Rows(changes("cC", "cA", "cD"), Place(0, 6)))
    assert faults == [KEY_DOUBLED.code]
    assert published(made) == [b"A", b"B", b"C"]


def test_rows_that_were_read_and_a_truncate_count_on_the_way_to_kafka_too() -> None:
    made, _ = fed()
    made.insert(TABLE.id, Halves([(b"A", b"")], b"tail"), {}, 0.0)
    made.insert(TABLE.id, Halves([(None, b"emptied")]), {}, 0.0, op="t")
    again = (Begin("b", 8), Rows(changes("cA"), Place(0, 11)), Commit("b", Place(0, 12), 8))
    assert made.feed(Batch(again, 0), 0.0) == []
    emptied = (Begin("c", 8), Truncate(1, b"t", Place(0, 13)), Rows(changes("cA"), Place(0, 14)))
    assert made.feed(Batch(emptied, 0), 0.0) == []
    made.feed(Batch((Commit("c", Place(0, 15), 8),), 0), 0.0)
    made.insert(TABLE.id, Halves([(b"B", b"")], b"tail"), {}, 0.0)
    doubled = (Begin("d", 9), Rows(changes("cB"), Place(0, 17)))
    assert [fault.error.code for fault in made.feed(Batch(doubled, 0), 0.0)] == [KEY_DOUBLED.code]


CREATED, AGAIN = Rows(changes("cA"), Place(0, 3)), Rows(changes("cA"), Place(0, 6))


@pytest.mark.parametrize(
    "step",
    [
        Vanished(TABLE.id, dropped=True),
        Appeared(TABLE.id, complete=True),
        Renamed(OTHER.id, TABLE.id),
        Renamed(TABLE.id, OTHER.id),
        Reshaped(TABLE.id, refresh=True, void=True),
        UnfitRow(1, Misfit("d", b"A", (), letter=True), Place(0, 4)),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_key_may_come_again_where_rows_may_have_gone_without_a_delete_of_each(step: Step) -> None:
    _, faults = fed(CREATED, step, AGAIN)
    assert faults == []


@pytest.mark.parametrize("op", ["d", "t"])
def test_a_table_that_leaves_out_the_ends_of_rows_is_not_watched(op: str) -> None:
    ends: dict[str, Step] = {"d": Rows(changes("dA"), Place(0, 4)), "t": Truncate(1, b"t", Place(0, 4))}
    for policy in (
        replace(NEVER, skipped_of=lambda _: frozenset({op})),
        replace(NEVER, skipped=frozenset({op})),
    ):
        _, faults = fed(CREATED, ends[op], AGAIN, policy=policy)
        assert faults == []
