"""A table's folder, through the file systems that Spark itself has: a disk, HDFS, a store of objects.

In: a session, and where the folder lies.  Out: what is in it, and less of it.  Spark SQL has no statement for
this.  A session of Spark Connect reaches no file system, so there a folder is None.
"""

from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import SparkSession

from wrackline.schemas.errors import OperatorNeeded, define

FILES_STAY = define(
    "target.files_stay",
    OperatorNeeded,
    "{path} can't be removed: {why}",
    hint="let this role write there, and repeat the command",
)


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder; both values are Java's."""

    _files: Any
    _path: Any

    def names(self, below: str = ".") -> list[str]:
        """Return what lies in it, or in a folder below it."""
        path = self._below(below)
        found = self._files.listStatus(path) if self._files.exists(path) else []
        return [status.getPath().getName() for status in found]

    def holds_no_file(self) -> bool:
        """Whether it is there and holds only folders."""
        if not self._files.exists(self._path):
            return False
        return int(self._files.getContentSummary(self._path).getFileCount()) == 0

    def remove(self, name: str = ".") -> None:
        """Remove it, or what has this name in it, with all below; what is not there is not an error."""
        path = self._below(name)
        why = "nothing says why"
        try:
            self._files.delete(path, True)
        except Py4JJavaError as exc:
            why = kind_of(exc)
        if self._files.exists(path):
            raise FILES_STAY(path=str(path), why=why)

    def move(self, name: str) -> str | None:
        """Give it another name beside its old one; None: that is taken.  Only where a rename is one step."""
        new = self._path.getParent().suffix(f"/{name}")
        if self._files.exists(new):
            return None
        why = "nothing says why"
        try:
            moved = self._files.rename(self._path, new)
        except Py4JJavaError as exc:
            moved, why = False, kind_of(exc)
        if not moved:
            raise FILES_STAY(path=str(self._path), why=why)
        return str(new)

    def _below(self, name: str) -> object:
        return self._path if name == "." else self._path.suffix(f"/{name}")


def folder(session: SparkSession, path: str) -> Folder | None:
    """Return the folder; None: this session reaches no files."""
    java = getattr(session, "_jsparkSession", None)
    if java is None:
        return None
    found = session._jvm.org.apache.hadoop.fs.Path(path)  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no other way to files
    return Folder(found.getFileSystem(java.sessionState().newHadoopConf()), found)


def kind_of(exc: Py4JJavaError) -> str:
    """Name what Java has raised, without its text, which may hold the file system's settings."""
    return str(exc.java_exception.getClass().getSimpleName())
