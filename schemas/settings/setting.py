"""What a setting is: its name, type, default and text, declared once, in the part that uses it.

A name with `<placeholders>` declares a family: `topic.creation.<group>.partitions`.
A default is written as a user would write it and is read by the same parser.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from wrackline.schemas.redaction import SECRET_NAME
from wrackline.schemas.settings.passthrough import Judge
from wrackline.schemas.settings.value_kinds import SettingKind, Validator, Value, parse_value, words_of

_PLACEHOLDER = re.compile(r"<(\w+)>")
_SPELLED = {"length": "[0-9]{1,9}", "group": "[^.]+", "algorithm": "[^.]+"}
_ANYTHING = ".+"


class Importance(Enum):
    """How likely it is that a user must look at a setting."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting or family, in the sense of Kafka Connect's ConfigDef."""

    name: str
    type: SettingKind
    doc: str
    default: str | None = None
    importance: Importance = Importance.MEDIUM
    group: str = "General"
    required: bool = False
    validator: Validator | None = None
    recommended: tuple[str, ...] = ()
    named: Callable[[str], object] | None = None  # of a family: raises for a name that can't be honoured
    file: bool = False  # the value is a path: it must lie in a folder that settings may read
    judged: Judge | None = None  # of what is passed to another program: why REST must not set it
    written: bool = False  # of a file: it is written, so it must lie in a folder that settings may write to
    host: bool = False  # the value names hosts; of a family, if its name ends as an address's does
    located: bool = False  # the value is a folder, or the address of one, which may name a server
    authorities: bool = False  # of a file: or the system's own ones, which any caller may name
    left_out: str | None = (
        None  # the message for a client of REST that leaves it out: the effect, and what to set
    )

    def __post_init__(self) -> None:
        if self.default is not None:
            self.parse(self.default)

    @property
    def secret(self) -> bool:
        """Whether the value is never shown."""
        return self.type is SettingKind.PASSWORD

    def hides(self, name: str) -> bool:
        """Whether the value under this name is never shown: of a family, the name may decide it."""
        return self.secret or (self.family and SECRET_NAME.search(name) is not None)

    @property
    def family(self) -> bool:
        """Whether the name has placeholders."""
        return "<" in self.name

    def parse(self, text: str) -> Value:
        """Read a value, or raise ValueError with what was expected (never with the value)."""
        value = parse_value(self.type, text)
        reason = self.validator(value) if self.validator else None
        if self.validator and reason:
            value = self._in_our_case(value)
            if self.validator(value):
                raise ValueError(reason)
        return value

    def _in_our_case(self, value: Value) -> Value:
        """Replace words that differ only in case from known ones: Debezium takes any case."""
        known = {word.lower(): word for word in (*self.recommended, *words_of(self.validator))}
        if isinstance(value, str):
            return known.get(value.lower(), value)
        return tuple(known.get(item.lower(), item) for item in value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class NotHonoured:
    """A setting that others know and we do not honour; reported at once instead of being ignored.

    `refused` stops the pipeline: it would change the data, publish what was to be left out, or run foreign
    code.  `done` are the values for what is done anyway, `mild` those that are only reported although the
    others are refused.
    """

    name: str
    why: str
    hint: str
    refused: bool = False
    done: tuple[str, ...] = ()
    mild: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotYet:
    """A declared setting or family that has no effect yet; reported instead of being ignored.

    `done` are the values for what is done anyway.  Beside the setting `unless` it has an effect.
    """

    name: str
    now: str
    hint: str
    done: tuple[str, ...] = ()
    unless: str | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """If `name` is given, with one of the values `when` if there are any, `needed` must be given too.

    `among` are the valid values of `needed`; none: any.
    """

    name: str
    needed: str
    when: tuple[str, ...] = ()
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """What one part declares: its settings, rules about pairs, what it does not honour, or not yet.

    `exclusive`: only one of the two may differ from its default, and the second stands for a first that is
    required; `at_most`: the first's number is not above the second's.
    """

    settings: tuple[Setting, ...]
    exclusive: tuple[tuple[str, str], ...] = ()
    at_most: tuple[tuple[str, str], ...] = ()
    needs: tuple[Requirement, ...] = ()
    not_honoured: tuple[NotHonoured, ...] = ()
    not_yet: tuple[NotYet, ...] = ()


def ends_with_table(prefix: str) -> Callable[[str], None]:
    """Return what refuses a setting for one table whose name does not end with schema.table."""

    def check(name: str) -> None:
        schema, dot, table = name.removeprefix(f"{prefix}.").partition(".")
        if not (schema and dot and table):
            raise ValueError("expected a name that ends with a table, as schema.table")

    return check


def placeholders(declared_name: str, name: str) -> Mapping[str, str] | None:
    """Return the values of a family's placeholders in `name`, or None if it is not of the family."""
    found = _compiled(declared_name).fullmatch(name)
    return found.groupdict() if found else None


@lru_cache(maxsize=1024)
def _compiled(declared_name: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(declared_name)  # literal, placeholder, literal, ...
    pattern = "".join(
        f"(?P<{part}>{_SPELLED.get(part, _ANYTHING)})" if place % 2 else re.escape(part)
        for place, part in enumerate(parts)
    )
    return re.compile(pattern, re.DOTALL)
