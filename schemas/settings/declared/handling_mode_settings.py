"""Debezium's handling modes, each with the only value that it has here.

Types are fixed in one table (`types.py`), so that log and snapshot give the same bytes.  A mode that matches
what is done anyway is accepted, and so is an empty one, which has no effect.  Any other is refused with what
is done instead, because data in another form than expected would be noticed late, or never.
"""

from wrackline.schemas.settings.setting import Importance, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, Validator, Value

_MODES = {
    "decimal.handling.mode": (
        ("precise",),
        "exact numbers are decimals, or their text beyond 38 digits or without precision",
    ),
    "time.precision.mode": (
        ("microseconds",),
        "times and timestamps are microseconds whatever their precision, dates are days",
    ),
    "binary.handling.mode": (("bytes",), "bytes stay bytes"),
    "interval.handling.mode": (("string",), "an interval is ISO 8601 text, such as P1Y2M3DT4H5M6.7S"),
    "bigint.unsigned.handling.mode": (("precise",), "an unsigned 64-bit number is a decimal of 20 digits"),
    "money.fraction.digits": (("2",), "money is a decimal with two places"),
    "event.processing.failure.handling.mode": (
        ("fail",),
        "a row that can't be carried sets its table aside; it is never skipped",
    ),
    "event.deserialization.failure.handling.mode": (
        ("fail",),
        "a part of the log that can't be read stops the stream; it is never skipped",
    ),
}


def _fixed(words: tuple[str, ...], done: str) -> Validator:
    def check(value: Value) -> str | None:
        return None if value in ("", *words) else f"only {' or '.join(words)} is supported: {done}"

    return check


MODES = tuple(
    Setting(
        name,
        SettingKind.STRING,
        f"Fixed: {done}.",
        None,
        Importance.LOW,
        "Types",
        validator=_fixed(words, done),
        recommended=words,
    )
    for name, (words, done) in _MODES.items()
)
