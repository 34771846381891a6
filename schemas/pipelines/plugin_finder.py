"""Find a plug-in by its name: a source or a target is a folder, and no list names it.

In: the package that contains the folders, and a name.  Out: the folder's `PLUGIN`.  A folder imports its
driver in the modules that talk to a server, or at its top; if the driver is missing, the error says what to
install.  The name must be an existing folder's, so a setting can't import anything else.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from wrackline.schemas.errors import OperatorNeeded, define

UNKNOWN = define(
    "plugin.unknown",
    OperatorNeeded,
    "there is no {side} named {kind}",
    hint="use one of: {known}",
)
DRIVER_MISSING = define(
    "plugin.driver_missing",
    OperatorNeeded,
    "the {side} {kind} needs the Python package that contains {module}, which is not installed",
    hint="install Wrackline with its extra {kind} (docs/installing.md); in a clone: .venv/bin/python -m pip"
    " install -e '.[{kind}]'",
)


def list_kinds(package: ModuleType) -> tuple[str, ...]:
    """Name the folders of a package, in alphabetical order."""
    return tuple(sorted(found.name for found in iter_modules(package.__path__) if found.ispkg))


def find(package: ModuleType, kind: str, *, side: str) -> object:
    """Return the `PLUGIN` of the folder `kind`; `side` is `source` or `target`, for the message."""
    names = list_kinds(package)
    if kind not in names:
        raise UNKNOWN(side=side, kind=repr(kind), known=", ".join(names) or "none is installed")
    try:
        folder = import_module(f"{package.__name__}.{kind}")
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] == "wrackline":
            raise  # a fault of ours; no pip install would help
        raise DRIVER_MISSING(side=side, kind=kind, module=exc.name) from exc
    return folder.PLUGIN
