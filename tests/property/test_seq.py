"""A seq's text sorts as its parts do, and says nothing that its parts do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.seq import (
    EPOCH_MAX,
    ORDINAL_MAX,
    EventClass,
    Seq,
    log_prefix,
    parse,
    snapshot_prefix,
)

WIDTH = 8
SEQS = st.builds(
    Seq,
    st.one_of(st.integers(0, 3), st.integers(0, EPOCH_MAX)),
    st.one_of(
        st.integers(0, 3).map(lambda lsn: lsn.to_bytes(WIDTH)), st.binary(min_size=WIDTH, max_size=WIDTH)
    ),
    st.sampled_from(EventClass),
    st.one_of(st.integers(0, 17), st.integers(0, ORDINAL_MAX)),
)


@given(SEQS, SEQS)
def test_text_order_is_tuple_order(one: Seq, other: Seq) -> None:
    """T-K13, T-K14."""
    assert (one.text() < other.text()) == (one < other)
    assert (one.text() == other.text()) == (one == other)


@given(SEQS)
def test_parse_undoes_text(seq: Seq) -> None:
    assert parse(seq.text(), WIDTH) == seq
    assert len(seq.text()) == 4 + 2 * WIDTH + 2 + 8


@given(SEQS)
def test_a_prefix_is_all_but_the_ordinal(seq: Seq) -> None:
    prefix = log_prefix if seq.event_class is EventClass.LOG else snapshot_prefix
    assert prefix(seq.epoch, seq.position) + b"%08x" % seq.ordinal == seq.text().encode()


@given(st.text(max_size=32))
def test_parse_takes_only_what_text_makes(text: str) -> None:
    try:
        seq = parse(text, WIDTH)
    except WracklineError as error:
        code = error.code
    else:
        code = "seq.malformed"
        assert seq.text() == text
    assert code == "seq.malformed"


@pytest.mark.parametrize(
    ("epoch", "ordinal", "code"),
    [
        (EPOCH_MAX + 1, 0, "seq.epoch_overflow"),
        (-1, 0, "seq.epoch_overflow"),
        (0, ORDINAL_MAX + 1, "seq.ordinal_overflow"),
        (0, -1, "seq.ordinal_overflow"),
    ],
)
def test_an_overflow_is_refused(epoch: int, ordinal: int, code: str) -> None:
    with pytest.raises(WracklineError) as caught:
        Seq(epoch, bytes(WIDTH), EventClass.LOG, ordinal).text()
    assert caught.value.code == code


@pytest.mark.parametrize("good", [Seq(1, bytes(WIDTH), EventClass.LOG, 7).text()])
@pytest.mark.parametrize(
    "spoil",
    [str.upper, lambda t: t[:-1], lambda t: t + "0", lambda t: t[:20] + "01" + t[22:], lambda t: " " + t[1:]],
)
def test_a_spoiled_text_is_refused(good: str, spoil: object) -> None:
    assert callable(spoil)
    with pytest.raises(WracklineError):
        parse(spoil(good), WIDTH)


def test_a_log_event_wins_over_a_row_read_at_its_position() -> None:
    """T-W22."""
    row = Seq(0, bytes(WIDTH), EventClass.SNAPSHOT, ORDINAL_MAX)
    assert row.text() < Seq(0, bytes(WIDTH), EventClass.LOG, 0).text()


def test_the_layout_is_the_contracts() -> None:
    log = Seq(1, bytes.fromhex("00000000016b3748"), EventClass.LOG, 10)
    assert log.text() == "0001" + "00000000016b3748" + "ff" + "0000000a"
    assert log._replace(event_class=EventClass.SNAPSHOT).text() == "000100000000016b3748000000000a"
