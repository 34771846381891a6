"""A table whose key has changed: what was sent under another key is void.

In: for each pair of schemas the newest change, the stored one among them.  Out: the floor that they set.
The log has rows under one key up to the place of the change, and under the next one from there on; the
worker then reads all rows again, so what it sends under the newest key is the whole table.  No truncate is
between the two in the topic, and partitions are read in any order.  So each change under a key that is not
the newest one's is a truncate of its own: it and all that is older is void, and nothing newer is.
Where a key comes back, what lies between its two times voids the first of them.
"""

from collections.abc import Callable, Collection, Sequence

from wrackline.consumers.contract.plan import NewestChange

_BEHIND = "0"  # a seq with more behind it is greater than it, and less than any other that is greater


def floor_of_keys(
    written: Collection[NewestChange], key_of: Callable[[NewestChange], Sequence[int]]
) -> str | None:
    """Return the floor behind the newest change under an old key; None while all have the same.

    `key_of` gives the identities of the key's columns, none for a table without a key.
    """
    if not written:
        return None
    newest = tuple(key_of(max(written, key=lambda one: one.seq)))
    old = [one.seq for one in written if tuple(key_of(one)) != newest]
    return max(old) + _BEHIND if old else None
