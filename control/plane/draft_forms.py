"""A draft in its three forms: stages, settings, and the text of a pipeline's file.  Pure.

In: a configuration as it was sent.  Out: the same in any form, with what of it has no effect; and the same
as it may be shown.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from wrackline.control.plane.draft_secrets import starred, typed_secrets, with_secrets, without_secrets
from wrackline.control.plane.known_settings import hides_in, registry_of
from wrackline.control.plane.stages_in import IgnoredProperty, Translation, kinds_of, read_stages
from wrackline.control.plane.stages_out import write_stages
from wrackline.control.runtime.files.file_drafts import settings_text
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model import sent_settings
from wrackline.control.runtime.rest.model.drafts import MASKED, TYPED_SECRET
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.pipelines.pipeline import kind_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import SettingsRegistry

_MOST_PLACES: Final = 5
FORMS: Final = ("stages", "flat", "toml")
IGNORED = rule(
    "cdap.property_ignored",
    Severity.WARNING,
    "A property has no effect",
    "{property} has no effect: {why}",
    "the pipeline runs as if the property were not there",
    "{hint}",
)

ARGUMENT = rule(
    "cdap.runtime_argument",
    Severity.ERROR,
    "A runtime argument",
    "{setting} has the runtime argument {argument}, and pipelines are started without arguments",
    "the argument would stay as it is written",
    "write the value itself, or a reference to a secret: ${{env:NAME}}, ${{secure(key)}}",
)
_ARGUMENT: Final = re.compile(r"\$\{[A-Za-z_][\w.-]{0,100}\}")


@dataclass(frozen=True, slots=True)
class DraftForms:
    """A configuration, and the settings that it means."""

    config: Mapping[str, Any]
    settings: Mapping[str, str]
    ignored: tuple[IgnoredProperty, ...]
    registry: SettingsRegistry
    kind: str  # of the source

    @classmethod
    def of(cls, config: Mapping[str, Any], name: str) -> "DraftForms":
        """Read a configuration; NOT_DRAFT or NOT_SETTINGS: it is none."""
        if "stages" in config:
            kind, target = kinds_of(config)
            registry = registry_of(kind, target)
            read = read_stages(config, partial(_knows, registry, kind), name)
        else:
            numbers = {
                one: str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
                for one, value in config.items()
            }
            read = Translation({"name": name, **sent_settings.read_settings(numbers)})
            kind = kind_of(read.settings.get("connector.class", ""))
            registry = registry_of(kind, read.settings.get("target.kind", ""))
        return cls(config, read.settings, tuple(read.ignored), registry, kind)

    @property
    def findings(self) -> list[Finding]:
        """What has no effect, and what nothing here can fill in, as findings."""
        ignored = [
            IGNORED(property=one.place, why=one.reason.why, hint=one.reason.hint)
            for one in self.ignored
            if not one.reason.harmless
        ]
        arguments = {
            name: found[0] for name, text in self.settings.items() if (found := _ARGUMENT.search(text))
        }
        staged = arguments if "stages" in self.config else {}
        return [*ignored, *(ARGUMENT(setting=shown_name(one), argument=text) for one, text in staged.items())]

    def hides(self, name: str, text: str) -> bool | None:
        """Whether the text of a setting is a secret."""
        return hides_in(self.registry, name, text)

    def form(self, form: str) -> Mapping[str, Any]:
        """Return the configuration as stages or as settings, secrets among them."""
        if form == "stages":
            return self.config if "stages" in self.config else write_stages(self.settings)
        return self.settings

    def shown(self, form: str) -> Any:  # noqa: ANN401 - an object, or a file's text
        """Return it without secrets."""
        shown = without_secrets(self.form(form), self.hides)
        return settings_text(shown, self.registry, self.kind) if form == "toml" else shown


def _knows(registry: SettingsRegistry, kind: str, setting: str) -> bool:
    """Whether there is a setting; of a source that there is not, what every source has."""
    of_any_source = setting.startswith("database.") and kind not in Installed().kinds("source")
    return of_any_source or registry.find(setting) is not None


def storable_config(
    sent: Mapping[str, Any], name: str, stored: DraftForms | None, *, typed: bool
) -> Mapping[str, Any]:
    """Return what is stored of a configuration that was sent: with the secrets that its stars stand for.

    MASKED: nothing is stored that they could stand for.  TYPED_SECRET: only references are taken here.
    """
    forms = DraftForms.of(sent, name)
    before = {} if stored is None else stored.form("stages" if "stages" in sent else "flat")
    hides = partial(hides_in, forms.registry)
    whole: Mapping[str, Any] = with_secrets(before, dict(sent), hides)
    if unknown := list(starred(whole, hides)):
        raise MASKED(places=_some(unknown))
    if not typed and (found := list(typed_secrets(dict(sent), hides))):  # stars stand for what is stored
        last = found[0].rpartition(".")[2]
        key = f"{name}-{last if last.isalnum() else 'secret'}"
        raise TYPED_SECRET(places=_some(found), reference=f"${{secure({key})}}")
    return whole


def _some(places: list[str]) -> str:
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return ", ".join(places[:_MOST_PLACES]) + more
