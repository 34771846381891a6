"""What a setting is: its name, type, default and text, declared once, in the part that honours it.

A name with `<placeholders>` declares a family: `topic.creation.<group>.partitions`.
A default is written as a user would write it and is read by the same parser.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from wrackline.schemas.handed_on import Judge
from wrackline.schemas.setting_kinds import Kind, Validator, Value, parse_value

_PLACEHOLDER = re.compile(r"<(\w+)>")
_SECRET = re.compile("secret|passw|token|credential|access[._-]?key", re.IGNORECASE)  # Spark's own, and more
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
    type: Kind
    doc: str
    default: str | None = None
    importance: Importance = Importance.MEDIUM
    group: str = "General"
    required: bool = False
    validator: Validator | None = None
    recommended: tuple[str, ...] = ()
    named: Callable[[str], object] | None = None  # of a family: raises for a name that can't be obeyed
    file: bool = False  # the value is a path: it must lie in a folder that settings may read
    judged: Judge | None = None  # of what another program is handed: why nobody elsewhere may give it
    authorities: bool = False  # of a file: or the system's own ones, which anybody may name

    def __post_init__(self) -> None:
        if self.default is not None:
            self.parse(self.default)

    @property
    def secret(self) -> bool:
        """Whether the value is never shown."""
        return self.type is Kind.PASSWORD

    def hides(self, name: str) -> bool:
        """Whether the value that stands under this name is never shown: of a family, the name may say so."""
        return self.secret or (self.family and _SECRET.search(name) is not None)

    @property
    def family(self) -> bool:
        """Whether the name has placeholders."""
        return "<" in self.name

    def parse(self, text: str) -> Value:
        """Read a value, or raise ValueError with what was expected (never with the value)."""
        value = parse_value(self.type, text)
        reason = self.validator(value) if self.validator else None
        if reason:
            raise ValueError(reason)
        return value


@dataclass(frozen=True, slots=True)
class NotHonoured:
    """A setting that others know and we do not obey; named at once instead of being ignored.

    `refused` stops the pipeline: what it asks for would change the data, or would run a stranger's code.
    """

    name: str
    why: str
    hint: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class NotYet:
    """A declared setting or family that nothing acts on yet; named instead of being ignored.

    `done` are the values that say what is done anyway.
    """

    name: str
    now: str
    hint: str
    done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """Where `name` is given, with one of the values `when` if there are any, `needed` must be given too.

    `among` are the values of `needed` that will do; none: any.
    """

    name: str
    needed: str
    when: tuple[str, ...] = ()
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """What one part declares: its settings, rules about pairs, what it does not honour, or not yet.

    `exclusive`: only one of the two may differ from its default; `at_most`: the first's number is not above
    the second's.
    """

    settings: tuple[Setting, ...]
    exclusive: tuple[tuple[str, str], ...] = ()
    at_most: tuple[tuple[str, str], ...] = ()
    needs: tuple[Need, ...] = ()
    not_honoured: tuple[NotHonoured, ...] = ()
    not_yet: tuple[NotYet, ...] = ()


def placeholders(declared_name: str, name: str) -> Mapping[str, str] | None:
    """Return what stands for a family's placeholders in `name`, or None when it is not of the family."""
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
