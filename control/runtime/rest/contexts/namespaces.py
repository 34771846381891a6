"""The namespaces of CDAP's routes: all of them mean this worker's connectors.

In: a request's namespace.  Out: nothing, or a refusal.  There is `default`, and in a group also its group.id.
"""

from collections.abc import Callable, Iterable
from typing import Final

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.redaction import shown_name

DEFAULT: Final = "default"
NO_NAMESPACE = define(
    "rest.no_namespace",
    Definite,
    "there is no namespace {name}",
    hint="use one of these: {known}",
)


def namespace_check(group: str | None) -> Callable[[str], None]:
    """Return what refuses a namespace that there is not."""
    known: Iterable[str] = (DEFAULT,) if group is None else (DEFAULT, group)

    def check(name: str) -> None:
        if name not in known:
            raise NO_NAMESPACE(name=shown_name(name), known=", ".join(known))

    return check
