"""Which kinds of sources and targets are installed, ours and those of other packages.

In: what the finder of plug-ins finds.  Out: each one's settings.  A target is loaded without Spark.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from wrackline.consumers.contract.target import TARGETS, load_target
from wrackline.producers.contract.source_plugin import SOURCES, load
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Side
from wrackline.schemas.pipelines.plugin_finder import (
    OthersPlugin,
    PluginSide,
    list_folders,
    list_kinds,
    list_others,
)
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import SettingsRegistry
from wrackline.schemas.versions import OURS

SIDES: Final[Mapping[Side, PluginSide]] = {"source": SOURCES, "target": TARGETS}


class Installed:
    """The plug-ins of this installation, as `schemas.pipeline.Plugins` requires them."""

    def kinds(self, side: Side) -> Sequence[str]:
        """Name all of them, also those that can't be used."""
        return list_kinds(SIDES[side])

    def declared(self, side: Side, kind: str) -> Declared:
        """Return one's settings, or raise why it can't be used."""
        return load(kind).settings if side == "source" else load_target(kind).settings

    def versions(self, side: Side) -> Mapping[str, str]:
        """Return those that can be used, each with the version of its package."""
        found = dict.fromkeys(list_folders(SIDES[side]), OURS)
        found |= {other.kind: other.version for other in list_others(SIDES[side]) if other.error() is None}
        return dict(sorted(found.items()))


def others() -> Sequence[OthersPlugin]:
    """Return every plug-in of other packages, usable or not."""
    return [other for side in SIDES.values() for other in list_others(side)]


def registries() -> Mapping[str, SettingsRegistry]:
    """The core's settings under an empty name, then those of each usable plug-in under `source <kind>`."""
    found = {"": SettingsRegistry(CORE)}
    installed = Installed()
    for side in SIDES:
        for kind in installed.versions(side):
            try:
                found[f"{side} {kind}"] = SettingsRegistry(installed.declared(side, kind))
            except WracklineError:  # its driver is not installed; a pipeline that names it is told so
                continue
    return found


def is_ours(exc: ModuleNotFoundError) -> bool:
    """Whether the module that is missing is one of our own: that is a fault, and no missing driver."""
    return exc.name is None or exc.name.partition(".")[0] == "wrackline"
