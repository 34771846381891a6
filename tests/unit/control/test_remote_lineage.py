"""`wrackline lineage`: a column's ways for people and for programs, over a worker's own REST."""

import json
from typing import Any

import pytest

from tests.unit.console.made_maps import HASHED
from tests.unit.corpus.worker import working
from wrackline.control.cli import command_line
from wrackline.control.cli.remote.lineage_command import lineage_lines
from wrackline.control.runtime.ground.exits import Exit

COLUMN = "shop.public.orders.email_hash"


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        command_line.main(words)
    assert isinstance(end.value.code, int)
    return end.value.code


def test_which_column_fed_one_of_the_copy_and_when(capsys: pytest.CaptureFixture[str]) -> None:
    with working() as worker:
        rest = ["--rest", f"http://127.0.0.1:{worker.port}"]
        assert ended("lineage", COLUMN, *rest) == Exit.OK
        lines = capsys.readouterr().out.splitlines()
        assert lines[:4] == [
            "2026-03-01 00:00:00 UTC to 2026-04-01 00:00:00 UTC  orders",
            "  shop.public.orders.e-mail -> e_mail in events -> lake.orders.email_hash",
            "2026-04-01 00:00:00 UTC to now  orders",
            f"  shop.public.orders.e-mail ({HASHED}) -> e_mail in events -> lake.orders.email_hash",
        ]
        assert "  shop" in lines[4]
        assert ended("lineage", COLUMN, *rest, "--json") == Exit.OK
        document = json.loads(capsys.readouterr().out)
        assert [one["source"] for one in document["spans"]] == ["e-mail"] * 4
        assert ended("lineage", "public.orders.none", *rest) == Exit.OK
        assert "no column that is remembered is called so" in capsys.readouterr().out


@pytest.mark.parametrize("column", ["email_hash", ".email_hash", "orders."])
def test_a_column_without_its_table_is_a_fault_of_usage(
    column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("lineage", column, "--rest", "http://127.0.0.1:1") == Exit.USAGE
    assert "public.users.email_hash" in capsys.readouterr().err


def span(**more: Any) -> dict[str, Any]:
    return {
        "pipeline": "shop", "table": "s.t", "copy": "lake.t", "since_ms": 0, "until_ms": None, "source": "a",
        "how": "", "field": "b", "target": "c", **more,
    }  # fmt: skip


def answer(*spans: object, left_out: object = 0, unknown: object = ()) -> dict[str, object]:
    return {"spans": spans, "left_out": left_out, "unknown": unknown}


def test_what_a_half_has_not_reported_is_left_out_of_the_way() -> None:
    def way(**more: Any) -> str:
        return list(lineage_lines(answer(span(**more))))[1]

    assert way(source="", table="") == "  b in events -> lake.t.c"
    assert way(target="", copy="") == "  s.t.a -> b in events"
    assert list(lineage_lines(answer(span(), left_out=1_200, unknown=["old"])))[2:] == [
        "and 1,200 more",
        "not known, because their settings are no longer good: old",
    ]


def test_names_of_others_do_nothing_to_the_terminal() -> None:
    odd = "\x1b[2J\n"
    names = dict.fromkeys(("pipeline", "table", "copy", "source", "how", "field", "target"), odd)
    for line in lineage_lines(answer(span(**names), unknown=[odd])):
        assert line.isprintable()


@pytest.mark.parametrize(
    "wrong",
    [None, {}, answer(7), answer(span(since_ms="x")), answer(span(how=None)), answer(left_out=[1]),
     answer(unknown=[7]), answer(span(since_ms=1 << 62))],
)  # fmt: skip
def test_an_answer_of_something_else_is_refused(wrong: object) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, OverflowError, OSError)):
        list(lineage_lines(wrong))
