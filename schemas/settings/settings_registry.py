"""The registry of a pipeline's settings: from a map of texts to typed values, or to all its faults.

    core + source + target  ->  Registry  ->  read()      Values, or every problem at once
                                          ->  validate()  Kafka Connect's JSON of the same

Each part declares its own settings once (`Declared`); the registry adds them up and refuses settings that no
part declares, with the nearest known name.  Problems contain names, never values: a value may be a secret.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Protocol, TypeVar

from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.redaction import MASK, Redactor, Secret, redact_by_look, shown_name
from wrackline.schemas.settings import overrides
from wrackline.schemas.settings.host_policy import server_of
from wrackline.schemas.settings.secret_refs import Resolved, may_be_path
from wrackline.schemas.settings.setting import Declared, Setting, placeholders
from wrackline.schemas.settings.value_kinds import Value

UNKNOWN = define("settings.unknown", Definite, "there is no setting {name}", hint="{nearest}")
MISSING = define(
    "settings.missing",
    Definite,
    "the setting {name} is required but not given",
    hint="give it a value; what it means: wrackline settings {name}",
)
INVALID = define(
    "settings.invalid",
    Definite,
    "the value of {name} can't be used: {reason}",
    hint="what it takes: wrackline settings {name}",
)
EXCLUSIVE = define(
    "settings.exclusive",
    Definite,
    "{name} and {other} exclude each other",
    hint="keep one of the two lines",
)
NOT_HONOURED = define(
    "settings.not_honoured",
    Definite,
    "{name} has no effect here: {why}",
    hint="{instead}",
)
NOT_YET = define(
    "settings.not_yet",
    Definite,
    "{name} has no effect yet: {now}",
    hint="{instead}",
)
LEFT_OUT = define(
    "settings.left_out",
    OperatorNeeded,
    "{name} is not given, so it is {default}",
    hint="{meant}; what it means: wrackline settings {name}",
)
REFUSED = define("settings.refused", Definite, "{name} is refused: {why}", hint="{instead}")
TOO_LARGE = define(
    "settings.too_large",
    Definite,
    "{name} must not be larger than {limit}",
    hint="lower {name} or raise {limit}",
)
NEEDED = define(
    "settings.needed",
    Definite,
    "{name} has no effect without {needed}",
    hint="set {needed} as well{among}; what it means: wrackline settings {needed}",
)
UNDECLARED_GROUP = define(
    "settings.undeclared_group",
    Definite,
    "{name} belongs to the group {group}, which {groups} does not list",
    hint="add {group} to {groups}, or remove the line",
)

GROUP_LISTS = {"topic.creation.<group>.": "topic.creation.groups"}
DEFAULT_GROUP = "default"
LONGEST_VALUE = 1 << 20  # letters; one text may name the keys of ten thousand tables
LONGEST_NAME = 1000
MOST_LIKENED = 100  # wrong names that are compared with all known ones: each takes milliseconds

_OF_AN_ADDRESS = re.compile(r"(?:endpoint|uri|url)$")
# what is shown of a setting without effect: words and numbers, under a name that is not a secret's
_PLAIN = re.compile(r"[\w .,:<>-]{0,100}", re.ASCII)
_MAY_BE_SECRET = re.compile(r"passw|secret|token|credential|jaas|oauth|[.]pem$|statements", re.IGNORECASE)
_LOG_IN = re.compile(r"(?P<head>(?:^|[\s,])[^\s:/@,]+:)[^\s@,]+(?=@[^\s@])")  # user:password@host

T = TypeVar("T")


class Resolve(Protocol):
    """What a setting's value may reach: secrets by reference, files by name."""

    def __call__(self, text: str) -> Resolved:
        """Replace the references in a value."""
        ...

    def see_file(self, path: str, given: str, *, authorities: bool, written: bool) -> None:
        """Raise for a file that settings may not name; `given` is how the setting wrote it.

        `authorities`: it is a file of certificate authorities, so it may be the system's own one.  `written`:
        it is not read but written.
        """
        ...

    def see_hosts(self, name: str, value: str) -> None:
        """Raise for a host that settings may not name."""
        ...

    def see_handed_on(self, name: str, why: str | None) -> None:
        """Raise for what a connector may not hand to another program; `why` is the reason, if any."""
        ...


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a configuration; a warning stops nothing."""

    setting: str
    error: WracklineError
    warning: bool = False


class Values(Mapping[str, Value]):
    """The typed values of a configuration, by name; asking for the wrong type is a fault of the caller."""

    __slots__ = ("_hidden", "_secrets", "_values")

    def __init__(self, values: Mapping[str, Value], secrets: Mapping[str, tuple[str, ...]]) -> None:
        self._values = MappingProxyType(dict(values))
        self._hidden = frozenset(secrets)
        self._secrets = frozenset(Secret(text) for texts in secrets.values() for text in texts)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = {shown_name(n): MASK if n in self._hidden else v for n, v in self._values.items()}
        return f"Values({shown})"

    def text(self, name: str) -> str:
        """The text of a STRING or CLASS setting."""
        return self._typed(name, str)

    def integer(self, name: str) -> int:
        """The number of an INT or LONG setting."""
        return self._typed(name, int)

    def number(self, name: str) -> float:
        """The number of a DOUBLE setting."""
        return self._typed(name, float)

    def flag(self, name: str) -> bool:
        """The truth of a BOOLEAN setting."""
        return self._typed(name, bool)

    def listed(self, name: str) -> tuple[str, ...]:
        """The items of a LIST setting."""
        return self._typed(name, tuple)

    def secret(self, name: str) -> Secret:
        """The secret of a PASSWORD setting; `reveal()` it at the driver's call."""
        return self._typed(name, Secret)

    def below(self, prefix: str) -> dict[str, Value]:
        """The settings whose names begin with `prefix`, without it; settings without a value are left out."""
        return {
            name.removeprefix(prefix): value
            for name, value in self._values.items()
            if name.startswith(prefix) and value is not None
        }

    def family(self, declared_name: str) -> Iterator[tuple[Mapping[str, str], Value]]:
        """The values of a family's placeholders, with the setting's value, for each setting of the family."""
        for name, value in self._values.items():
            places = placeholders(declared_name, name)
            if places is not None:
                yield places, value

    def replaced(self, values: Mapping[str, Value]) -> "Values":
        """Return the same settings with these values."""
        made = Values({**self._values, **values}, {})
        made._hidden, made._secrets = self._hidden, self._secrets
        return made

    @property
    def redactor(self) -> Redactor:
        """Takes every secret of these values out of a text."""
        return Redactor(self._secrets)

    def _typed(self, name: str, wanted: type[T]) -> T:
        value = self._values[name]
        other = isinstance(value, bool | Secret) and type(value) is not wanted  # an int or str only to Python
        if other or not isinstance(value, wanted):
            raise TypeError(f"{shown_name(name)} is not a {wanted.__name__}")
        return value


@dataclass(frozen=True, slots=True)
class CheckedSettings:
    """The result of reading a configuration: its values, unless a problem is more than a warning."""

    values: Values | None
    problems: tuple[Problem, ...]


class SettingsRegistry:
    """All settings that one pipeline may have."""

    def __init__(self, *parts: Declared) -> None:
        declared = [setting for part in parts for setting in part.settings]
        self.settings = MappingProxyType({setting.name: setting for setting in declared})
        if len(self.settings) != len(declared):
            twice = {s.name for s in declared if declared.count(s) > 1 or self.settings[s.name] is not s}
            raise ValueError(f"settings declared twice: {sorted(twice)}")
        self.not_honoured = tuple(entry for part in parts for entry in part.not_honoured)
        self._without_effect = frozenset(
            entry.name for entry in self.not_honoured if not _MAY_BE_SECRET.search(entry.name)
        )
        self.not_yet = tuple(entry for part in parts for entry in part.not_yet)
        self._families = tuple(setting for setting in declared if setting.family)
        self._at_most = tuple(pair for part in parts for pair in part.at_most)
        self._exclusive = tuple(pair for part in parts for pair in part.exclusive)
        self._needs = tuple(need for part in parts for need in part.needs)

    def find(self, name: str) -> Setting | None:
        """The setting of this name, or the family it belongs to; an exact name wins."""
        exact = self.settings.get(name)
        if exact is not None and not exact.family:
            return exact
        return next((family for family in self._families if placeholders(family.name, name)), None)

    def nearest(self, name: str, likeness: float = 0.7) -> str | None:
        """The known name that a wrong one was probably meant to be; a likeness of 1 is the same name."""
        known = [*self.settings, *(entry.name for entry in self.not_honoured)]
        near = get_close_matches(shown_name(name).strip().lower(), known, n=1, cutoff=likeness)
        return near[0] if near else None

    def read(self, given: Mapping[str, str], resolve: Resolve) -> CheckedSettings:
        """Read a whole configuration; every problem is found, not the first only."""
        values: dict[str, Value] = {}
        secrets: dict[str, tuple[str, ...]] = {}
        problems: list[Problem] = []
        for name, text in given.items():
            setting = self.find(name)
            if setting is None:
                problems += self._unknown(name, text, likened=len(problems) < MOST_LIKENED)
                continue
            try:
                _refuse_long(name, text)
                if setting.named is not None:
                    setting.named(name)
                resolved = resolve(text)
                value = setting.parse(resolved.text)
                _see_what_it_reaches(setting, name, text, resolved.text, value, resolve)
                values[name] = value
            except WracklineError as error:
                problems.append(Problem(name, error))
            except ValueError as reason:
                problems.append(Problem(name, INVALID(name=shown_name(name), reason=reason)))
            else:
                hidden = (resolved.text,) if setting.hides(name) else ()
                if hidden or resolved.secrets:
                    secrets[name] = (*hidden, *resolved.secrets)
        problems += self._absent(given, values)
        problems += self._excluding(given)
        problems += self._above(values)
        problems += self._needed(given, values)
        problems += _groups(values)
        problems += [Problem(name, error) for name, error in overrides.faults(given, values)]
        problems += self._not_yet(given, values)
        ok = all(problem.warning for problem in problems)
        return CheckedSettings(Values(values, secrets) if ok else None, tuple(problems))

    def validate(self, plugin: str, given: Mapping[str, str], resolve: Resolve) -> dict[str, object]:
        """Answer as Kafka Connect's PUT /connector-plugins/{plugin}/config/validate does."""
        return self.described(plugin, given, self.read(given, resolve).problems)

    def described(
        self, plugin: str, given: Mapping[str, str], problems: Sequence[Problem]
    ) -> dict[str, object]:
        """Return the same for problems that were found already."""
        errors: dict[str, list[str]] = {}
        for problem in problems:
            errors.setdefault(problem.setting, []).append(str(problem.error))
        plain = [setting for setting in self.settings.values() if not setting.family]
        names = dict.fromkeys([*(setting.name for setting in plain), *given])
        groups = list(dict.fromkeys(setting.group for setting in plain))
        order: dict[str, int] = {}
        configs: list[object] = []
        for name in names:
            setting = self.find(name)
            group = setting.group if setting else ""
            order[group] = order.get(group, 0) + 1
            configs.append(
                {
                    "definition": definition(name, setting, order[group]),
                    "value": self._shown_value(name, setting, given.get(name), errors.get(name, [])),
                }
            )
        count = sum(not problem.warning for problem in problems)
        return {"name": plugin, "error_count": count, "groups": groups, "configs": configs}

    def shown(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return settings as they were given, with what is or may be a secret masked."""
        return {shown_name(name): self._masked(name, text, self.find(name)) for name, text in given.items()}

    def _shown_value(
        self, name: str, setting: Setting | None, given: str | None, errors: list[str]
    ) -> dict[str, object]:
        """The value as it was given, a reference as such; masked if undeclared, as it may be a secret."""
        text = given if given is not None or setting is None else setting.default
        return {
            "name": shown_name(name),
            "value": None if text is None else self._masked(name, text, setting),
            "recommended_values": list(setting.recommended) if setting else [],
            "errors": errors,
            "visible": True,
        }

    def _masked(self, name: str, text: str, setting: Setting | None) -> str:
        if setting is None and name in self._without_effect and _PLAIN.fullmatch(text):
            return text
        pasted = setting is not None and setting.file and not may_be_path(text)
        if setting is not None and not setting.hides(name) and not pasted:
            return mask_logins(text)
        return text and MASK

    def left_out(self, given: Mapping[str, str]) -> Iterator[Problem]:
        """Report the settings whose default may surprise a user that did not set them."""
        for setting in self.settings.values():
            if setting.left_out is not None and setting.name not in given:
                error = LEFT_OUT(name=setting.name, default=setting.default, meant=setting.left_out)
                yield Problem(setting.name, error, warning=True)

    def _unknown(self, name: str, text: str, *, likened: bool) -> Iterator[Problem]:
        shown, value = shown_name(name), text.strip()
        for entry in self.not_honoured:
            if placeholders(entry.name, name) is None:
                continue
            stops = entry.refused and value.lower() not in {word.lower() for word in entry.mild}
            done = {word.lower() for word in entry.done}
            if value and value.lower() not in done:  # an empty one has no effect
                code = REFUSED if stops else NOT_HONOURED
                yield Problem(name, code(name=shown, why=entry.why, instead=entry.hint), not stops)
            return
        near = self.nearest(name) if likened else None
        meant = f"did you mean {near}? " if near else ""
        yield Problem(name, UNKNOWN(name=shown, nearest=meant + "all names: wrackline settings"))

    def _absent(self, given: Mapping[str, str], values: dict[str, Value]) -> Iterator[Problem]:
        for setting in self.settings.values():
            if setting.name in given or setting.family:
                continue
            if setting.required and not self._is_replaced(setting.name, given):
                yield Problem(setting.name, MISSING(name=setting.name))
            values[setting.name] = None if setting.default is None else setting.parse(setting.default)

    def _is_replaced(self, name: str, given: Mapping[str, str]) -> bool:
        return any(one == name and given.get(other) for one, other in self._exclusive)

    def _excluding(self, given: Mapping[str, str]) -> Iterator[Problem]:
        for name, other in self._exclusive:
            if self._departs(given, name) and self._departs(given, other):
                yield Problem(other, EXCLUSIVE(name=name, other=other))

    def _departs(self, given: Mapping[str, str], name: str) -> bool:
        """Whether a setting is given as something else than its default."""
        text = given.get(name)
        return bool(text) and text != self.settings[name].default

    def _not_yet(self, given: Mapping[str, str], values: Mapping[str, Value]) -> Iterator[Problem]:
        for entry in self.not_yet:
            if values.get(entry.unless or "") is not None:
                continue
            done = [self.settings[entry.name].parse(text) for text in entry.done]
            for name, value in values.items():
                if name in given and placeholders(entry.name, name) is not None and value not in done:
                    error = NOT_YET(name=shown_name(name), now=entry.now, instead=entry.hint)
                    yield Problem(name, error, warning=True)

    def _needed(self, given: Mapping[str, str], values: Mapping[str, Value]) -> Iterator[Problem]:
        for need in self._needs:
            value = values.get(need.name)
            items = value if isinstance(value, tuple) else (value,)
            asked = need.name in given and (not need.when or any(item in need.when for item in items))
            if need.among:
                missing = str(values.get(need.needed)).lower() not in need.among
            else:
                missing = need.needed not in given
            if asked and missing and need.name in values:
                among = f", as {' or '.join(need.among)}" if need.among else ""
                yield Problem(need.name, NEEDED(name=need.name, needed=need.needed, among=among))

    def _above(self, values: Mapping[str, Value]) -> Iterator[Problem]:
        for name, limit in self._at_most:
            match values.get(name), values.get(limit):
                case int() as number, int() as most if number > most:
                    yield Problem(name, TOO_LARGE(name=name, limit=limit))


def mask_logins(text: str) -> str:
    """Return a text without the passwords of the log-ins that it has."""
    return _LOG_IN.sub(rf"\g<head>{MASK}", redact_by_look(text))


def definition(name: str, setting: Setting | None, order: int) -> dict[str, object]:
    """One setting as Kafka Connect describes it."""
    return {
        "name": shown_name(name),
        "type": setting.type.value if setting else "STRING",
        "required": bool(setting and setting.required),
        "default_value": setting.default if setting else None,
        "importance": setting.importance.value if setting else "HIGH",
        "documentation": setting.doc if setting else "",
        "group": setting.group if setting else "",
        "order_in_group": order,
        "width": "LONG" if setting and setting.type.value in ("LIST", "STRING") else "SHORT",
        "display_name": shown_name(name).replace(".", " ").capitalize(),
        "dependents": [],
    }


def _refuse_long(name: str, text: str) -> None:
    if len(name) > LONGEST_NAME:
        raise ValueError(f"the name is longer than {LONGEST_NAME} characters")
    if len(text) > LONGEST_VALUE:
        raise ValueError(f"it is longer than {LONGEST_VALUE} characters")


def _see_what_it_reaches(
    setting: Setting, name: str, given: str, text: str, value: Value, resolve: Resolve
) -> None:
    """Raise for a file, a host or a thing for another program that the setting may not name."""
    if setting.file:
        resolve.see_file(str(value), given, authorities=setting.authorities, written=setting.written)
    if setting.host and (not setting.family or _OF_AN_ADDRESS.search(name)):
        resolve.see_hosts(name, text)
    server = server_of(text) if setting.located else None
    if server is not None:
        resolve.see_hosts(name, server)
    if setting.judged is not None:
        shown = value.reveal() if isinstance(value, Secret) else str(value)
        resolve.see_handed_on(name, setting.judged(name, shown))


def _groups(values: Mapping[str, Value]) -> Iterator[Problem]:
    for prefix, lists in GROUP_LISTS.items():
        listed = values.get(lists)
        known = {DEFAULT_GROUP, *(listed if isinstance(listed, tuple) else ())}
        for name in values:
            places = placeholders(prefix + "<rest>", name)
            if places and places["group"] not in known:
                yield Problem(name, UNDECLARED_GROUP(name=name, group=places["group"], groups=lists))
