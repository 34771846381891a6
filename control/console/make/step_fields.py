"""The settings of a step as fields of a form, and back.  Pure.

In: a draft's settings and the registry of its kinds.  Out: fields; or, of what was sent, the settings that
follow and what is wrong with each.  What is wrong never repeats a value: it may be a password.

A step shows what a pipeline needs and what is set, folds the rest that matters by group, and takes all
others as lines `name = value`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.setting import Importance, Setting
from wrackline.schemas.settings.settings_registry import SettingsRegistry
from wrackline.schemas.settings.value_kinds import SettingKind, words_of

SOURCE: Final = "source"
TABLES: Final = "tables"
TARGET: Final = "target"
START: Final = "start"
STEPS: Final[Mapping[str, str]] = {
    SOURCE: "Source",
    TABLES: "Tables",
    TARGET: "Target",
    START: "Assess and start",
}
OTHERS: Final = "others"  # the field of lines
_FIELD: Final = "set:"
_OWN: Final = frozenset(
    {"name", "connector.class", "table.include.list", "target.kind"}
)  # asked for elsewhere
_OF_TARGET: Final = ("target.", "consume.", "spark.", "auto.cdc.")
_OF_TABLES: Final = ("table.", "schema.include", "schema.exclude", "column.", "message.key.columns")
_OF_CORE: Final = frozenset(one.name for one in CORE.settings)
_LONGEST: Final = 8_192


class FormField(NamedTuple):
    """One setting of a form."""

    name: str
    doc: str
    text: str
    default: str
    words: tuple[str, ...]  # what it may be; empty: anything
    secret: bool
    required: bool
    fault: str
    of_group: bool = False  # whether the group's file gives a value

    @property
    def key(self) -> str:
        """The field's name in the form."""
        return field_key(self.name)


class FieldGroup(NamedTuple):
    """Settings that are folded."""

    title: str
    fields: tuple[FormField, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class StepFields:
    """What a step shows."""

    first: tuple[FormField, ...]
    groups: tuple[FieldGroup, ...]
    others: str
    others_fault: str


class SentStep(NamedTuple):
    """What was sent of a step: settings as they would be, and what is wrong, by setting or OTHERS."""

    settings: Mapping[str, str]
    faults: Mapping[str, str]


def field_key(name: str) -> str:
    """Return the name of a setting's field in the form."""
    return _FIELD + name


def step_of(name: str) -> str:
    """Return the step that a setting belongs to."""
    if name.startswith(_OF_TARGET):
        return TARGET
    return TABLES if name.startswith(_OF_TABLES) else SOURCE


def show_step(
    step: str,
    settings: Mapping[str, str],
    registry: SettingsRegistry,
    faults: Mapping[str, str],
    missing: frozenset[str],
) -> StepFields:
    """Return the fields of a step; one for Kafka or the registry may be in the group's file."""
    first, folded = [], defaultdict(list)
    for one in _shown_settings(step, registry):
        field = _field(one, settings.get(one.name, ""), faults.get(one.name, ""))
        if one.required and one.name in _OF_CORE and not field.text and one.name not in missing:
            field = field._replace(required=False, of_group=True)
        if one.required or field.text or (one.importance is Importance.HIGH and one.name not in _OF_CORE):
            first.append(field)
        else:
            folded[one.group].append(field)
    groups = (
        FieldGroup(title, tuple(fields), open=any(one.text or one.fault for one in fields))
        for title, fields in folded.items()
    )
    lines = "\n".join(f"{name} = {text}" for name, text in _others(step, settings, registry))
    return StepFields(tuple(first), tuple(groups), lines, faults.get(OTHERS, ""))


def read_step(
    step: str, sent: Mapping[str, str], before: Mapping[str, str], registry: SettingsRegistry
) -> SentStep:
    """Read what was sent of a step; settings of other steps stay as they are."""
    settings, faults = dict(before), {}
    for setting in _shown_settings(step, registry):
        text = sent.get(_FIELD + setting.name)
        if text is None:
            continue
        settings.pop(setting.name, None)
        if text := text.strip():
            settings[setting.name] = text
            if fault := _fault(setting, text):
                faults[setting.name] = fault
    if OTHERS in sent:
        for name, _ in list(_others(step, before, registry)):
            settings.pop(name, None)
        given, wrong = _read_lines(sent[OTHERS], step, registry)
        settings |= given
        if wrong:
            faults[OTHERS] = wrong
    return SentStep(settings, faults)


def _shown_settings(step: str, registry: SettingsRegistry) -> Iterator[Setting]:
    """Yield the settings of a step, those of the source or target first."""
    for setting in sorted(registry.settings.values(), key=lambda one: one.name in _OF_CORE):
        shown = setting.required or setting.importance is not Importance.LOW
        if shown and not setting.family and setting.name not in _OWN and step_of(setting.name) == step:
            yield setting


def _others(step: str, settings: Mapping[str, str], registry: SettingsRegistry) -> Iterator[tuple[str, str]]:
    asked = {one.name for one in _shown_settings(step, registry)}
    for name, text in settings.items():
        if name not in asked and name not in _OWN and step_of(name) == step:
            yield name, text


def _read_lines(text: str, step: str, registry: SettingsRegistry) -> tuple[dict[str, str], str]:
    given: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        where = f"line {number}: "
        if not equals:
            return given, f"{where}expected a name, = and a value"
        setting, near = registry.find(name), registry.nearest(name)
        if setting is None and near != name:  # one that has no effect here is a finding of the assessment
            meant = f"; did you mean {near}?" if near else ""
            return given, f"{where}there is no setting {shown_name(name)}{meant}"
        if name in _OWN or step_of(name) != step:
            return given, f"{where}{name} is set in the step {STEPS[step_of(name)]}"
        if name in given:
            return given, f"{where}{name} is there twice"
        if setting is not None and (fault := _fault(setting, value)):
            return given, f"{where}{fault}"
        given[name] = value
    return given, ""


def _fault(setting: Setting, text: str) -> str:
    if len(text) > _LONGEST or not text.isprintable():
        return "expected one line of text, without control characters"
    if "${" in text:  # a reference is read where the pipeline runs
        return ""
    try:
        setting.parse(text)
    except ValueError as reason:
        return str(reason)
    return ""


def _field(setting: Setting, text: str, fault: str) -> FormField:
    words: tuple[str, ...] = ()
    if setting.type is SettingKind.BOOLEAN:
        words = ("true", "false")
    elif setting.type is SettingKind.STRING:
        words = words_of(setting.validator)
    if text and text not in words:  # a reference, or another spelling
        words = ()
    return FormField(
        setting.name, setting.doc, text, setting.default or "", words, setting.secret, setting.required, fault
    )
