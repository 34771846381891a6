"""Records whose table has a key and that have none: pure.

In: the outlines of a batch, what the table has applied, and what the value schemas say of the key.  Out: the
pairs of schemas whose changes lack the key.  A record may lose its key on its way (a copy made by hand, a
replicator that drops keys), so a missing key alone never says that the table has none.

The value's schema says which columns are the key.  Schemas of older workers do not say it.  There the `t`
event tells: the worker writes one, without a key, before it reads the rows of a table that lost its key.  So
between the newest `t` and a change without a key no change can have a key, unless somebody else wrote one of
the two.  A change older than the newest `t` is void in any case.
"""

from collections.abc import Callable, Collection

from wrackline.consumers.plan import Applied
from wrackline.consumers.rounds import Outline, Pair

KeyOf = Callable[[Pair], tuple[int, ...] | None]  # identities, as the value's schema says; None: it does not


def lacking_key(outlines: Collection[Outline], before: Applied, key_of: KeyOf) -> frozenset[Pair]:
    """Return the pairs whose changes lack the key of their table."""
    floors = (before.floor, *(one.floor for one in outlines))
    floor = max((seq for seq in floors if seq is not None), default="")
    keyed = [(one.oldest, one.newest) for one in outlines if one.changes and one.pair.key_id is not None]
    if before.newest is not None and before.newest.key_id is not None:
        keyed.append(("", before.newest.seq))
    found = set()
    for one in outlines:
        if not one.changes or one.pair.key_id is not None:
            continue
        key = key_of(one.pair)
        between = one.newest > floor and any(new > floor and old <= one.newest for old, new in keyed)
        if between if key is None else key:
            found.add(one.pair)
    return frozenset(found)
