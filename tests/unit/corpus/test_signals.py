"""The corpus of signals and conditions: each is taken, or rejected and not repeated, as its line says."""

import pytest

from tests.unit.corpus.cases import Case, as_bytes, cases, made, tells_nothing
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import signals
from wrackline.schemas.language import conditions


@pytest.mark.parametrize("case", cases("signals", "rows", "messages"))
def test_a_signal_is_taken_or_rejected_whole(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    read = (
        signals.parse_row(*map(made, case["row"]))
        if "row" in case
        else signals.parse_message(as_bytes(case["message"]), "fallback")
    )
    if isinstance(read, signals.RejectedSignal):
        assert read.reason.code == case["answer"], read
        assert read.reason.hint
        assert len(read.reason.sentence) < 1000
        tells_nothing(repr(read))
    else:
        assert case["answer"] == "accepted", read
        if not isinstance(read.signal, signals.WindowMark):  # what is kept is what was asked
            assert signals.parse_row(*signals.row(read.signal)) == signals.AcceptedSignal(
                read.signal, read.warning
            )
    tells_nothing(caplog.text)


@pytest.mark.parametrize("case", cases("signals", "conditions"))
def test_a_condition_is_of_the_grammar_or_refused_by_its_place(case: Case) -> None:
    """A-SQL-03."""
    text = made(case["condition"])
    if case["answer"] == "accepted":
        read = conditions.parse(text)
        assert conditions.parse(conditions.render(read)) == read
        return
    with pytest.raises(WracklineError) as refused:
        conditions.parse(text)
    assert refused.value.code == "condition.refused"
    assert f"at character {case['answer']}:" in refused.value.sentence
    tells_nothing(str(refused.value))


def test_the_cases_are_those_promised() -> None:
    assert len(cases("signals", "rows", "messages", "conditions")) >= 60
