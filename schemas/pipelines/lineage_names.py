"""Where a table or topic is, as OpenLineage names it: the same place has the same name for every tool.

In: what a plug-in knows of its place.  Out: the namespace, which is the server or store, and the name in it.
"""

import re
from typing import NamedTuple, Protocol, runtime_checkable

from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):(?://(?P<host>[^/]*))?/*(?P<path>.*)")
_FOLDERS = ("file", "hdfs", "viewfs")  # whose paths begin with a slash; a bucket's keys do not
_S3 = ("s3a", "s3n")


class Located(NamedTuple):
    """A dataset's two names."""

    namespace: str
    name: str


@runtime_checkable
class Locating(Protocol):
    """A plug-in that can say where its tables are; it may be left out."""

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table of the source's is, or is copied to."""
        ...


def by_address(address: str) -> Located:
    """Return the names of a folder or of a bucket's prefix."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return Located("file", address)
    scheme = "s3" if found["scheme"] in _S3 else found["scheme"]
    path = found["path"].rstrip("/")
    if scheme in _FOLDERS:
        path = f"/{path}"
    host = (found["host"] or "").rpartition("@")[2]  # never a log-in
    return Located(f"{scheme}://{host}" if host else scheme, path)
