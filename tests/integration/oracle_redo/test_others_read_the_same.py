"""SQL_REDO: Debezium's parser and one of SQL read what ours reads, and ours reads nothing that neither does.

Ours is judged by two that were written apart from it: Debezium's own, which knows LogMiner, and JSqlParser,
which knows SQL.  Where they differ from ours, one of `MEANT` says why.  What ours refuses, and Debezium's
reads, is what LogMiner did not write well (an apostrophe that is not written twice): it is in the corpus.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.fuzz.oracle_redo import Redo, compiled_redo
from tests.integration.oracle_redo.differences import MEANT, Difference, is_as_logminer_writes
from tests.integration.oracle_redo.other_parsers import (
    OtherParsers,
    columns_of,
    for_begin,
    for_debezium,
    for_jsqlparser,
    of_begin,
    of_debezium,
    of_jsqlparser,
    running_parsers,
)
from tests.integration.oracle_redo.redo_writer import RedoWriter
from tests.unit.corpus.cases import cases
from wrackline.control.runtime.spark.jars import FETCH_FAILED
from wrackline.producers.sources.oracle.redo.statement import RedoStatement
from wrackline.schemas.errors import WracklineError

CORPUS = {case.values[0]["name"]: case.values[0]["redo"] for case in cases("oracle", "redo")}
STRICTER = {  # what both of them read and ours does not, and why
    "a date in the format of another session": "our session has set its format, so this date is not from it",
    "rowid in small letters": "LogMiner writes ROWID",
    "an empty ROWID": "no row has such a ROWID",
}
BEGINS = [  # of large values
    name
    for name, text in CORPUS.items()
    if text[0] in "DX" and compiled_redo(RedoStatement(), text.encode()) is not None
]
OTHER_BEGINS = {  # of these Debezium's differ
    "a block that selects a large object of a row with apostrophes": "two apostrophes stay two, there",
    "the begin of an extended text": "3.5 does not read an alias there: dbz#2366",
    "the begin of an extended text without an alias": "3.5 takes the owner's name for the table's",
}
AGREES, REFUSES, DIFFERS = "agrees", "refuses", "differs"
MEANT_SO, MEANT_TO_REFUSE = "is meant to differ", "is meant to refuse"
FINE = {AGREES, MEANT_SO, MEANT_TO_REFUSE}


@pytest.fixture(scope="module")
def others() -> Iterator[OtherParsers]:
    try:
        with running_parsers() as running:
            yield running
    except WracklineError as error:
        if error.code == FETCH_FAILED.code:
            pytest.skip(str(error))
        raise


def with_sign(text: str) -> str:
    """Give it the sign that a session without NO_SQL_DELIMITER has there: Debezium counts on it."""
    return text if text.rstrip().endswith(";") else f"{text};"


def verdicts(others: OtherParsers, text: str, redo: Redo) -> dict[str, str]:
    """What each of them says of what ours read."""
    text = with_sign(text)
    debezium, jsqlparser = others.read(text, columns_of(redo))
    pairs = {
        "debezium": (debezium and of_debezium(debezium), for_debezium(redo)),
        "jsqlparser": (jsqlparser and of_jsqlparser(jsqlparser), for_jsqlparser(redo)),
    }
    found = {}
    for name, (said, wanted) in pairs.items():
        meant = any(one.parser == name and one.concerns(text, redo) for one in MEANT)
        is_fine, is_wrong = (MEANT_TO_REFUSE, REFUSES) if said is None else (MEANT_SO, DIFFERS)
        found[name] = AGREES if said == wanted else is_fine if meant else is_wrong
    return found


def test_others_read_of_the_corpus_what_we_read(others: OtherParsers) -> None:
    """What SQL's parser alone reads is named; Debezium's reads more, where apostrophes are wrong."""
    statement, counts, stricter = RedoStatement(), Counter[str](), set()
    for name, text in CORPUS.items():
        redo = compiled_redo(statement, text.encode())
        if name in BEGINS:
            continue
        if redo is not None:
            found = verdicts(others, text, redo)
            assert set(found.values()) <= FINE, name
            counts.update(found.values())
        elif others.read(text)[1] is not None:
            stricter.add(name)
    assert stricter == set(STRICTER)
    assert counts[AGREES] > 10 * (counts[MEANT_SO] + counts[MEANT_TO_REFUSE])


@pytest.mark.parametrize("name", BEGINS)
def test_debezium_reads_whose_large_value_begins_as_we_do(others: OtherParsers, name: str) -> None:
    redo = compiled_redo(RedoStatement(), CORPUS[name].encode())
    assert redo is not None
    said = others.read_begin(CORPUS[name], columns_of(redo))
    is_same = said is not None and of_begin(said) == for_begin(redo)
    assert is_same is (name not in OTHER_BEGINS)


def is_read_alike(others: OtherParsers, seed: int, count: int) -> Counter[str]:
    """Compare what is read of statements by chance; return how often both agree, and how often not."""
    statement, writer, counts = RedoStatement(), RedoWriter(Random(seed)), Counter[str]()
    for _ in range(count):
        text = writer.statement()
        redo = compiled_redo(statement, text.encode())
        assert redo is not None, text
        assert is_as_logminer_writes(text), text
        counts[verdict(others, text, redo)] += 1
    return counts


def verdict(others: OtherParsers, text: str, redo: Redo) -> str:
    """How many of them read what ours read; each other one is named, and one of them at least reads it."""
    found = verdicts(others, text, redo)
    assert set(found.values()) <= FINE, (text, found)
    assert set(found.values()) != {MEANT_TO_REFUSE}, text
    return ("none", "one", "both")[list(found.values()).count(AGREES)]


def test_others_read_what_was_written_by_chance_as_we_read_it(others: OtherParsers) -> None:
    counts = is_read_alike(others, 0, 100)
    assert counts["both"] > counts["one"] > counts["none"]


@pytest.mark.full  # the same as above, of more statements
@pytest.mark.parametrize("seed", range(1, 4))
def test_others_read_many_that_were_written_by_chance_as_we_do(others: OtherParsers, seed: int) -> None:
    counts = is_read_alike(others, seed, 4000)
    assert counts["both"] > counts["one"] > counts["none"]


def none_is_ours_alone(others: OtherParsers, seed: int, count: int) -> Counter[str]:
    """Change statements; what ours still reads is read alike by them, or each says why not."""
    statement, writer, counts = RedoStatement(), RedoWriter(Random(seed)), Counter[str]()
    for _ in range(count):
        text = writer.change(writer.statement())
        redo = compiled_redo(statement, text.encode())
        if redo is None:
            counts["refused"] += 1
        elif not is_repeated(redo):  # what has a column twice is refused where the columns are known
            counts[verdict(others, text, redo)] += 1
    return counts


def is_repeated(redo: Redo) -> bool:
    """Whether a column comes twice."""
    return any(len({cell.column for cell in cells}) < len(cells) for cells in (redo.changes, redo.conditions))


def test_we_read_nothing_that_neither_of_them_reads(others: OtherParsers) -> None:
    counts = none_is_ours_alone(others, 0, 200)
    assert counts["refused"] > 50
    assert counts["both"] > counts["one"] > counts["none"]


@pytest.mark.full  # the same as above, of more statements
@pytest.mark.parametrize("seed", range(1, 4))
def test_we_read_nothing_of_many_that_neither_of_them_reads(others: OtherParsers, seed: int) -> None:
    counts = none_is_ours_alone(others, seed, 10_000)
    assert counts["both"] > counts["one"] > counts["none"]


@pytest.mark.parametrize("one", MEANT, ids=lambda one: f"{one.parser}: {one.why}")
def test_a_difference_that_is_meant_is_there(others: OtherParsers, one: Difference) -> None:
    redo = compiled_redo(RedoStatement(), one.redo.encode())
    assert redo is not None
    assert one.concerns(one.redo, redo)
    assert verdicts(others, one.redo, redo)[one.parser] in {MEANT_SO, MEANT_TO_REFUSE}


def test_debezium_loses_a_function_at_the_end_without_a_sign_behind_it(others: OtherParsers) -> None:
    """So it is given the sign each time; ours reads it with or without."""
    text = """delete from "S"."T" where "A" = '1' and "B" = HEXTORAW('ff')"""
    for written, value in ((text, None), (f"{text};", "HEXTORAW('ff')")):
        debezium, jsqlparser = others.read(written)
        assert debezium
        assert jsqlparser
        assert of_debezium(debezium)["old"] == {"A": "1", "B": value}
        assert jsqlparser["conditions"][1] == ['"B"', [["HEXTORAW", "ff"]]]
