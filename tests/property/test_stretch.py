"""Rows taken in one stretch are those that are taken one by one, in both builds."""

import struct
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.pgoutput import insert
from tests.fixtures.plain_build import PlainBuild

OIDS = (7, 0x8000_0001, 9)  # the second has the sign bit of 32; nobody captures the third


def messages(kinds: list[tuple[str, int]]) -> list[bytes]:
    """A transaction of row messages; keys change, some rows are left out, relations are sent again."""
    made = [b"B" + struct.pack(">QqI", 200, 0, 7), *(_relation(oid) for oid in OIDS)]
    for number, (kind, oid) in enumerate(kinds):
        row = insert([b"%d" % number], oid)
        tuple_at = 6
        update = b"U" + row[1:5]
        made.append(
            {
                "insert": row,
                "update": update + row[5:],
                "new key": update + b"K" + insert([b"%d" % (number + 99)], oid)[tuple_at:] + row[5:],
                "delete": b"D" + row[1:5] + b"K" + row[tuple_at:],
                "unfit": insert([b"x"], oid),
                "relation": _relation(oid),
                "type": b"Y" + struct.pack(">I", oid) + b"s\0n\0",
            }[kind]
        )
    return made


def _relation(oid: int) -> bytes:
    name = b"nobodys\0" if oid == OIDS[2] else b"t\0"
    return (
        b"R" + struct.pack(">I", oid) + b"public\0" + name + b"d\0\1" + b"\1id\0" + struct.pack(">Ii", 23, -1)
    )


class Wire:
    """Hands out messages as libpq does."""

    def __init__(self, log: list[bytes]) -> None:
        self._left = [struct.pack(">cQQq", b"w", 0, 0, 0) + message for message in log]

    def get_copy_data(self, _: int) -> tuple[int, memoryview]:
        one = self._left.pop(0) if self._left else b""
        return len(one), memoryview(one)


def read(
    log: list[bytes], *, one_by_one: bool, counted: bool, limits: tuple[int, int] | None = None
) -> tuple[list[Any], list[str], int]:
    """Feed a log, or let the decoder take it from a wire within limits; also called in the plain build."""
    from tests.unit.test_pgoutput_log import START, decoder  # noqa: PLC0415 - of that process
    from wrackline.producers.contract.steps import Fault, Rows  # noqa: PLC0415 - the same

    made = decoder(START, counted=counted)
    rows: list[Any] = []
    faults: list[str] = []
    size = 0

    def take() -> None:
        nonlocal size
        batch = made.take()
        for step in batch.steps if batch is not None else ():
            if isinstance(step, Rows):
                rows.extend(tuple(row) for row in step.rows)
            elif isinstance(step, Fault):
                faults.append(f"{step.table.name} {step.error.code}")
        size += 0 if batch is None else batch.size

    wire, left = Wire(log), 1
    while limits is not None and left > 0:
        _, left, other = made.pass_rows(wire.get_copy_data, *limits)
        if other:
            made.feed(other)
    for message in log if limits is None else ():
        made.feed(message, 0)
        if one_by_one:
            take()
    take()
    return rows, faults, size


KINDS = st.sampled_from(["insert", "insert", "update", "new key", "delete", "relation", "type", "unfit"])


LIMITS = st.tuples(st.integers(1, 1000), st.integers(1, 1000))


@given(
    st.lists(st.tuples(KINDS, st.sampled_from(OIDS)), max_size=20), st.sampled_from(["counted", ""]), LIMITS
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_stretch_is_its_rows_one_by_one(
    plain_build: PlainBuild, kinds: list[tuple[str, int]], counted: str, limits: tuple[int, int]
) -> None:
    log = messages(kinds)
    together = partial(read, log, one_by_one=False, counted=bool(counted))
    passed = partial(read, log, one_by_one=False, counted=bool(counted), limits=limits)
    alone = read(log, one_by_one=True, counted=bool(counted))
    assert together() == passed() == alone
    assert plain_build.call(together) == plain_build.call(passed) == alone
    rows, _, size = alone
    assert size == sum(len(key) + len(value) for _, _, key, value, _ in rows)


@given(st.lists(st.tuples(KINDS, st.sampled_from(OIDS)), max_size=20))
@settings(max_examples=50, deadline=None)
def test_every_row_message_uses_up_an_ordinal(kinds: list[tuple[str, int]]) -> None:
    rows, faults, _ = read(messages(kinds), one_by_one=False, counted=False)
    if faults:
        return
    expected = []
    ordinal = 0
    for kind, oid in kinds:
        if kind in {"relation", "type"}:
            continue
        if oid != OIDS[2]:
            expected += [ordinal] * (2 if kind == "new key" else 1)
        ordinal += 1
    assert [int(value[-8:], 16) for _, _, _, value, _ in rows] == expected
