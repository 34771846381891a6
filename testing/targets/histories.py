"""Logs of a few rows for the history's contract: legal, chosen by a number, and put into any order."""

from collections.abc import Sequence
from random import Random

from wrackline.consumers.contract.plan import MergePlan
from wrackline.testing.targets.history_model import truncate
from wrackline.testing.targets.merge_model import NONE, Change
from wrackline.testing.targets.target_suite import BIG, COLUMNS, change, seq

NAMES = tuple(column.name for column in COLUMNS)
KEY = ("shop", "number")
Row = tuple[object, object]


def log(number: int, length: int = 24) -> list[Change]:
    """Return what a source reports of three rows: inserts, updates, re-reads, deletes, truncates."""
    chance, rows, told = Random(number), dict[int, Row](), list[Change]()
    for place in range(1, length + 1):
        key = chance.randint(1, 3)
        now = rows.get(key)
        op = chance.choice("uuuurdt" if now else "ccct")
        fresh = (chance.choice(["x", "y"]), chance.choice(["big", "bigger"]))
        match op:
            case "t":
                rows.clear()
                told.append(truncate(seq(place), NAMES, KEY))
            case "d":
                del rows[key]
                told.append(change("d", ("a", key), place))
            case _:
                unsent = op == "u" and now is not None and chance.random() < 0.5
                row = now if op == "r" and now else (fresh[0], now[1] if unsent and now else fresh[1])
                rows[key] = row
                sent = change(op, ("a", key), place, row[0], None if unsent else row[1])
                told.append(
                    Change(sent.key, sent.seq, op, sent.values, BIG if unsent else NONE, place * 1000)
                )
    return told


def cuts(told: Sequence[Change], number: int, batches: int) -> list[list[Change]]:
    """Return batches in which each event comes once at least, in no order, some of them twice."""
    chance = Random(number)
    mixed = [*told, *chance.sample(list(told), len(told) // 3)]
    chance.shuffle(mixed)
    ends = sorted(chance.sample(range(1, len(mixed)), batches - 1))
    return [mixed[start:end] for start, end in zip([0, *ends], [*ends, len(mixed)], strict=True)]


def of_source(plan: MergePlan) -> list[str]:
    """Return the columns that are the source's, in the target's names."""
    return [column.target for column in plan.columns if column.target != plan.ours.row]
