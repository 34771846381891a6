"""The settings that a pipeline runs with: each with its value, its origin and its meaning.  Pure.

In: a checked pipeline, and the settings that are its own.  Out: a line for each setting.  A secret is shown
as stars; a reference to one is shown as it is, because it is a name.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.redaction import MASK, shown_name
from wrackline.schemas.settings.secret_refs import is_reference
from wrackline.schemas.settings.setting import Setting, placeholders
from wrackline.schemas.settings.settings_registry import SettingsRegistry


class SettingOrigin(Enum):
    """Where a value comes from."""

    OWN = "pipeline"  # its file, or what REST was sent
    GROUP = "group"  # the file of the group of workers
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """One setting."""

    name: str
    value: str | None  # None: it has none
    origin: SettingOrigin
    default: str | None
    changed: bool  # whether the value is not the default
    group: str
    doc: str

    def document(self) -> Mapping[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "origin": self.origin.value}


def settings_in_force(pipeline: Pipeline, own: Collection[str]) -> Sequence[SettingInForce]:
    """Return all settings, in the order of their groups; `own` names those that the pipeline itself has."""
    registry = pipeline.registry
    plain = [one.name for one in registry.settings.values() if not one.family]
    groups = list(dict.fromkeys(one.group for one in registry.settings.values()))
    order = {group: place for place, group in enumerate(groups)}
    wrong = {problem.setting for problem in pipeline.problems if not problem.warning}
    made = [
        _line(registry, name, pipeline.given, own, wrong) for name in dict.fromkeys([*plain, *pipeline.given])
    ]
    return sorted(made, key=lambda one: (order.get(one.group, len(order)), one.name))


def _line(
    registry: SettingsRegistry,
    name: str,
    given: Mapping[str, str],
    own: Collection[str],
    wrong: Collection[str],
) -> SettingInForce:
    setting, default = registry.find(name), None
    if setting is not None and not setting.family:
        default = setting.default
    text = given.get(name)
    origin = SettingOrigin.OWN if name in own else SettingOrigin.GROUP
    return SettingInForce(
        shown_name(name),
        default if text is None else _shown(registry, name, text, resolved=name not in wrong),
        SettingOrigin.DEFAULT if text is None else origin,
        default,
        text is not None and text != default,
        "" if setting is None else setting.group,
        _doc(registry, name, setting),
    )


def _shown(registry: SettingsRegistry, name: str, text: str, *, resolved: bool) -> str:
    """Show a value; what only looks like a reference may be a password, so it must have been resolved."""
    [shown] = registry.shown({name: text}).values()
    return text if shown == MASK and resolved and is_reference(text) else shown


def _doc(registry: SettingsRegistry, name: str, setting: Setting | None) -> str:
    if setting is not None:
        return setting.doc
    why = (entry.why for entry in registry.not_honoured if placeholders(entry.name, name) is not None)
    return next((f"It has no effect here: {one}" for one in why), "There is no such setting.")
