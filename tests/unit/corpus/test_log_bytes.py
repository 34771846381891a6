"""Bytes of a log that no server sends: each is answered with its case's error, in either build."""

import json

import pytest

from tests.fixtures.plain_build import PlainBuild
from tests.unit.corpus.cases import Case, cases, tells_nothing
from tests.unit.corpus.log_reader import answer, read
from wrackline.schemas.errors import WracklineError

CASES = cases("log", "broken")


@pytest.mark.parametrize("case", CASES)
def test_bytes_that_no_server_sends_are_refused(case: Case) -> None:
    with pytest.raises(WracklineError) as refused:
        read(case)
    assert refused.value.code == case["answer"]
    tells_nothing(str(refused.value), refused.value.hint)


def answers(lines: list[str]) -> list[str | None]:
    return [answer(json.loads(line)) for line in lines]


def test_the_plain_build_refuses_the_same(plain_build: PlainBuild) -> None:
    lines = [json.dumps(case.values[0]) for case in CASES]
    assert plain_build.call(answers, lines) == [case.values[0]["answer"] for case in CASES]
