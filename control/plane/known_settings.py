"""Which settings a draft may have, by its kinds of source and target; nothing is read or resolved.

In: kinds, which need not exist.  Out: the settings' registry.
"""

from functools import lru_cache

from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.pipeline import Side
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import may_be_path
from wrackline.schemas.settings.settings_registry import SettingsRegistry


@lru_cache(maxsize=64)
def registry_of(source: str, target: str) -> SettingsRegistry:
    """Return the settings of the core, and of these kinds if they are installed."""
    installed, parts = Installed(), [CORE]
    sides: tuple[tuple[Side, str], ...] = (("source", source), ("target", target))
    for side, kind in sides:
        if kind in installed.kinds(side):
            parts.append(installed.declared(side, kind))
    return SettingsRegistry(*parts)


def hides_in(registry: SettingsRegistry, name: str, text: str) -> bool | None:
    """Whether the text of a setting is a secret; None: there is no such setting."""
    setting = registry.find(name)
    if setting is None:
        return None
    return setting.hides(name) or (setting.file and not may_be_path(text))
