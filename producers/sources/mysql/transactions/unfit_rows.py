"""An event's changes, some of which do not fit, as steps in the order of the rows.  Pure.

    rows before | UnfitRow, what it became | rows between | UnfitRow, what it became        [rows behind]

Why it is right: each piece ends at the place behind its last row, so a task that resumes there neither misses
a row that was set aside nor sees it again (INV-4).
"""

from collections.abc import Callable

from wrackline.producers.contract.steps import RowChange, Rows, Step, UnfitRow
from wrackline.producers.sources.mysql.log.position import MySqlPosition
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder


def split_at_unfit(
    decoder: MySqlRowDecoder, made: list[RowChange], behind: Callable[[int], MySqlPosition]
) -> tuple[list[Step], MySqlPosition, list[RowChange]]:
    """Return all up to the last row that does not fit, the place behind it, and the changes of later rows.

    `decoder` has decoded the event; `behind` returns the place behind a number of the event's rows.
    """
    steps: list[Step] = []
    at, taken = behind(0), 0
    for one in decoder.misfits:
        if one.first > taken:
            steps.append(Rows(made[taken : one.first], behind(one.row)))
        at, taken = behind(one.row + 1), one.end
        steps += (UnfitRow(decoder.ref, one.misfit, at), Rows(made[one.first : one.end], at))
    return steps, at, made[taken:]
