"""The image before an update, with what the update did not touch.  Pure.

A change table has NULL there for a long value that did not change.  The bit of its column in `__$update_mask`
is 0 then, so the old value is the new one.  Of text, ntext and image it never has the value before a change:
where the bit is 1, the old value is unknown, and stays null.
"""

from collections.abc import Sequence

Image = Sequence[bytes | None]


def completed(before: Image, after: Image, mask: bytes, long_columns: Sequence[tuple[int, int]]) -> Image:
    """Return the image before; `long_columns`: the place of each in the image, and its ordinal."""
    missing = [
        place
        for place, ordinal in long_columns
        if before[place] is None and after[place] is not None and not is_set(mask, ordinal)
    ]
    if not missing:
        return before
    made = list(before)
    for place in missing:
        made[place] = after[place]
    return made


def is_set(mask: bytes, ordinal: int) -> bool:
    """Whether a column changed: its bit is counted from the end of the mask."""
    bit = ordinal - 1
    byte = len(mask) - 1 - bit // 8
    return byte >= 0 and bool(mask[byte] >> bit % 8 & 1)
