"""Records that have no key although their table has one: pure.

In: the outlines of a batch, what the table has applied, and what the value schemas say of the key.  Out: the
pairs of schemas whose changes lack the key.  A record may lose its key on its way (a copy made by hand, a
replicator that drops keys), so a missing key by itself never says that the table has none.

The value's schema says which columns are the key.  Schemas of older workers do not say it.  There the order
decides: a table loses its key once, so no change with a key is as new as one without it, until a `t` event
makes all of them void.  A copy of an event is never newer than the event, so a copy that lost its key is
found.  Changes of a table that really lost its key are newer than all that have one, also while its `t` is
still to come.
"""

from collections.abc import Callable, Collection

from wrackline.consumers.contract.batch_scope import Outline, SchemaPair
from wrackline.consumers.contract.plan import Applied

KeyOf = Callable[
    [SchemaPair], tuple[int, ...] | None
]  # identities, as the value's schema says; None: it does not


def pairs_without_key(outlines: Collection[Outline], before: Applied, key_of: KeyOf) -> frozenset[SchemaPair]:
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
        overtaken = one.newest > floor and any(new > floor and old <= one.newest <= new for old, new in keyed)
        if overtaken if key is None else key:
            found.add(one.pair)
    return frozenset(found)
