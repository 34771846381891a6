"""Brings a staged batch into its table: the statements of sql/merge.py and sql/history.py, in their order.

    void      rows and changes below the newest truncate
    turns     hard deletes, updates, inserts; each key has one change a turn
    history   the versions that follow from the events of the batch's keys

In: the stage, the plan, and what the target keeps about the table, which is locked.  Out: the rows, in the
transaction that writes the offsets too (target.py).
"""

from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, TableMode
from wrackline.consumers.targets.postgres.applied import PgTargetState
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql import history, merge
from wrackline.consumers.targets.postgres.sql.place import PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.stage import PgTargetStaged


def apply_rows(
    staged: PgTargetStaged, plan: MergePlan, place: PgTargetPlace, kept: PgTargetState, after: Applied
) -> None:
    """Change the table's rows; `after` is what it has applied then."""
    connection = staged.connection
    if after.floor is not None:
        if after.floor != kept.applied.floor:
            connection.execute(merge.void_rows(plan, place), {"floor": after.floor})
        connection.execute(merge.void_changes(), {"floor": after.floor})
    connection.execute(merge.LOOK_UP)
    if staged.turns == 1 and _adds_only(connection, plan, place):
        connection.execute(merge.insert(plan, place, kept.shape, all_new=True), {"turn": 1})
        return
    for turn in range(1, staged.turns + 1):
        if plan.deletes is Deletes.HARD:
            connection.execute(merge.delete(plan, place), {"turn": turn})
            connection.execute(merge.forget_deletes(), {"turn": turn})
        if plan.mode is TableMode.UPSERT:
            connection.execute(merge.update(plan, place, kept.shape), {"turn": turn})
        connection.execute(merge.insert(plan, place, kept.shape), {"turn": turn})
    if plan.mode is TableMode.HISTORY:
        _derive(connection, plan, place, kept.shape)


def _adds_only(connection: Connection, plan: MergePlan, place: PgTargetPlace) -> bool:
    """Whether the batch is a load of rows, none of whose keys the table has.

    The range of texts is left out: they have another order here.
    """
    ranges = [end for one in plan.within.values() for end in one]
    if not plan.loads or plan.mode is not TableMode.UPSERT or not ranges or str in map(type, ranges):
        return False
    statement, values = merge.has_none_of(plan, place)
    [answer] = connection.execute(statement, values)
    return bool(answer[0])


def _derive(connection: Connection, plan: MergePlan, place: PgTargetPlace, shape: PgTargetShape) -> None:
    """Bring the versions of the batch's keys to what their events say now."""
    connection.execute(history.touch(plan, place, shape))
    lacked = {identity for (identity,) in connection.execute(history.unsent_query(plan, place))}
    connection.execute(history.derive(plan, place, shape, lacked))
