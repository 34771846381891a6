"""The Java objects of one Iceberg table: what is read of it, the files that are written, and the commit.

In: a session whose Java is at hand, and a table's name.  Out: a commit on top of the snapshot that was
current when the table was loaded, or Iceberg's refusal.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa
from pyspark.sql import SparkSession

from wrackline.consumers.lake.table_format import FAILED
from wrackline.consumers.targets.iceberg.direct.java_values import JavaFile, JavaObject, JavaValues
from wrackline.consumers.targets.iceberg.direct.snapshot_history import (
    APPLIED_PROPERTY,
    SIZE,
    IcebergApplied,
    IcebergSnapshot,
    walk_snapshots,
)
from wrackline.consumers.targets.iceberg.direct.table_memory import RememberedFile

_ICEBERG: Final = "org.apache.iceberg"
_DELETION_VECTORS: Final = 3  # the format version that has them
_PLAIN_FILES: Final = {  # settings of a table that only Spark's writer honours
    "write.format.default": "parquet",
    "encryption.key-id": None,
    "write.wap.enabled": "false",
}
_LOCAL: Final = "file:/"
_AT_ONCE: Final = 4 << 20  # bytes of a call
_MOST_FILES: Final = 2_000
_VECTOR: Final = "PUFFIN"


class JavaTable:
    """A table as it was when it was loaded."""

    def __init__(self, values: JavaValues, session: SparkSession, name: str) -> None:
        """Load it."""
        self._values = values
        load = values[f"{_ICEBERG}.spark.Spark3Util.loadIcebergTable"]
        self._table: JavaObject = load(session._jsparkSession, name)  # noqa: SLF001 - PySpark has no other way to it
        self._spec, self._snapshot = self._table.spec(), self._table.currentSnapshot()

    @property
    def snapshot_id(self) -> int:
        """The snapshot that everything is based on; a new table has none, and does not fit."""
        return int(self._snapshot.snapshotId())

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's own properties."""
        return dict(self._table.properties())

    @property
    def schema_text(self) -> str:
        """The schema, in JSON."""
        return str(self._static("SchemaParser.toJson")(self._table.schema()))

    def progress(self, name: str, known: MutableMapping[int, IcebergSnapshot]) -> IcebergApplied:
        """Return what the table's history says; `known` has the snapshots that were read before."""
        if self._snapshot is None:
            return walk_snapshots({}, None, name)
        if self.snapshot_id not in known:
            known.clear()  # somebody else has committed, and may have let old snapshots go
        there: dict[int, IcebergSnapshot] = {}
        number: int | None = self.snapshot_id
        while number is not None and number not in there:
            if number not in known:
                one = self._table.snapshot(number)
                if one is None:
                    break
                known[number] = _snapshot(one)
            there[number] = known[number]
            number = known[number].parent
        return walk_snapshots(there, self.snapshot_id, name)

    def fits(self, properties: Mapping[str, str]) -> bool:
        """Whether files that are written here are as Spark would write them, by the table's properties."""
        return bool(
            self._snapshot is not None  # a new table has none
            and self._spec.isUnpartitioned()
            and self._static("TableUtil.formatVersion")(self._table) >= _DELETION_VECTORS
            and all(properties.get(name, plain) == plain for name, plain in _PLAIN_FILES.items())
        )

    def files(self, key_number: int) -> dict[str, RememberedFile] | None:
        """Return the table's data files; None: they are too many, or of other kinds."""
        found: dict[str, RememberedFile] = {}
        kind = self._table.schema().findType(key_number)
        tasks = self._table.newScan().useSnapshot(self.snapshot_id).includeColumnStats().planFiles()
        try:
            walk = tasks.iterator()
            while walk.hasNext():
                one = self._file(walk.next(), key_number, kind)
                if one is None or len(found) == _MOST_FILES:
                    return None
                found[one.location] = one
        finally:
            tasks.close()
        return found

    def opened(self, one: RememberedFile) -> BinaryIO:
        """Open a data file."""
        if one.location.startswith(_LOCAL):
            return _local_path(one.location).open("rb")
        stream = self._table.io().newInputFile(one.location).newStream()
        return cast("BinaryIO", JavaFile(stream, one.size))

    def read_marks(self, one: RememberedFile) -> None:
        """Read which rows of a data file are marked as gone."""
        if one.vector is None or one.marks is not None:
            return
        values = self._values
        names = ("io.FileIO", "DeleteFile", "io.InputFile")
        of, takes, returns = (values.class_of(f"{_ICEBERG}.{name}", self._table) for name in names)
        load = values.function(
            "java.util.function.Function", self._table.io(), "newInputFile", of, takes, returns
        )
        reader = self._static("data.BaseDeleteLoader")(load)
        marks = reader.loadPositionDeletes([one.vector], one.location)
        of_marks = values.class_of(f"{_ICEBERG}.deletes.PositionDeleteIndex", self._table)
        number, truth = values["java.lang.Long.TYPE"], values["java.lang.Boolean.TYPE"]
        is_gone = values.function(
            "java.util.function.LongPredicate", marks, "isDeleted", of_marks, number, truth
        )
        every = values["java.util.stream.LongStream.range"](0, one.count)
        one.mark(values.numbers(every.filter(is_gone)))
        one.marks = marks

    def prepare(
        self,
        content: pa.Buffer | None,
        gone: Mapping[str, list[int]],
        files: Mapping[str, RememberedFile],
        summary: Mapping[str, str],
    ) -> "PreparedCommit":
        """Write a data file and the marks of rows that are gone; nothing of it is in the table yet."""
        done = PreparedCommit(self._table.newRowDelta())
        change = done.change
        try:
            if content is not None:
                done.data_file = self._data_file(content, done.written)
                change.addRows(done.data_file)
            if gone:
                self._mark(change, gone, files, done)
            for name, text in summary.items():
                change.set(name, text)
            change.validateFromSnapshot(self.snapshot_id)
            change.validateDeletedFiles()
            change.validateNoConflictingDataFiles()
            change.validateNoConflictingDeleteFiles()
        except BaseException:
            self._remove(done.written)
            raise
        return done

    def commit(self, done: "PreparedCommit", is_refused: Callable[[Exception], bool]) -> bool:
        """Commit what is prepared; False: Iceberg has refused it, and the files are removed.

        After any other error it may have been committed, so its files stay.
        """
        try:
            done.change.commit()
        except FAILED as exc:
            if not is_refused(exc):
                raise
            self._remove(done.written)
            return False
        made = self._table.currentSnapshot()
        if made.parentId() == self.snapshot_id:  # nobody came in between
            done.snapshot = (int(made.snapshotId()), _snapshot(made))
            done.first_row_id = made.firstRowId()
        return True

    def _file(self, task: JavaObject, key_number: int, kind: JavaObject) -> RememberedFile | None:
        file, vectors = task.file(), list(task.deletes())
        if str(file.format()) != "PARQUET" or len(vectors) > 1:
            return None
        if file.firstRowId() is None or (vectors and str(vectors[0].format()) != _VECTOR):
            return None  # a table that was upgraded gives its rows identities with the next commit of Spark's

        def bound(bounds: JavaObject) -> Any:  # noqa: ANN401 - of the key's type
            given = None if bounds is None else bounds.get(key_number)
            found = None if given is None else self._static("types.Conversions.fromByteBuffer")(kind, given)
            return found if found is None or isinstance(found, int) else str(found)

        one = RememberedFile(
            *(file.location(), file.fileSizeInBytes(), file.recordCount(), file.firstRowId()),
            *(bound(file.lowerBounds()), bound(file.upperBounds())),
        )
        if vectors:
            one.vector, one.vector_name = vectors[0], vector_name(vectors[0])
        return one

    def _data_file(self, content: pa.Buffer, written: list[str]) -> JavaObject:
        place = self._new_files("PARQUET").newOutputFile().encryptingOutputFile()
        location = place.location()
        written.append(location)
        if location.startswith(_LOCAL):
            _write_file(_local_path(location), content)
        else:
            with closing(place.create()) as stream:
                for start in range(0, content.size, _AT_ONCE):
                    stream.write(content.slice(start, min(_AT_ONCE, content.size - start)).to_pybytes())
        metrics = self._static("parquet.ParquetUtil.fileMetrics")(
            place.toInputFile(), self._static("MetricsConfig.forTable")(self._table)
        )
        made = self._static("DataFiles.builder")(self._spec)
        made.withPath(place.location()).withFormat("PARQUET").withFileSizeInBytes(content.size)
        return made.withMetrics(metrics).build()

    def _mark(
        self,
        change: JavaObject,
        gone: Mapping[str, list[int]],
        files: Mapping[str, RememberedFile],
        done: "PreparedCommit",
    ) -> None:
        """Write deletion vectors, which replace those that the same data files have."""
        to_marks = self._static("deletes.Deletes.toPositionIndex")
        closeable = self._static("io.CloseableIterable.withNoopClose")
        writer = self._static("deletes.BaseDVFileWriter")(self._new_files(_VECTOR), self._values.nothing())
        for location, positions in gone.items():
            one = files[location]
            boxed = self._values.longs(positions).boxed().toList()
            marks = to_marks(closeable(boxed))
            if one.marks is not None:
                marks.merge(one.marks)
            done.marks[location] = marks
            writer.delete(location, marks, self._spec, None)
            if one.vector is not None:
                change.removeDeletes(one.vector)
        writer.close()
        result = writer.result()
        for vector in result.deleteFiles():
            done.written.append(vector.location())
            done.vectors[vector.referencedDataFile()] = vector
            change.addDeletes(vector)
        change.validateDataFilesExist(result.referencedDataFiles())

    def _static(self, name: str) -> JavaObject:
        return self._values[f"{_ICEBERG}.{name}"]

    def _new_files(self, form: str) -> JavaObject:
        made = self._static("io.OutputFileFactory.builderFor")(self._table, 0, 0)
        return made.format(self._static("FileFormat.fromString")(form)).operationId(str(uuid.uuid4())).build()

    def _remove(self, written: Iterable[str]) -> None:
        for place in set(written):
            with suppress(Exception):  # an upkeep removes what is left
                self._table.io().deleteFile(place)


def _local_path(location: str) -> Path:
    return Path("/" + location.removeprefix(_LOCAL).lstrip("/"))


def _write_file(path: Path, content: pa.Buffer) -> None:
    """Write a file of this machine; Hadoop would start programs to set its rights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(memoryview(content))


class PreparedCommit:
    """Files that are written, and what the commit has made of them."""

    def __init__(self, change: JavaObject) -> None:
        self.change = change
        self.written: list[str] = []
        self.marks: dict[str, JavaObject] = {}
        self.vectors: dict[str, JavaObject] = {}
        self.data_file: JavaObject = None
        self.snapshot: tuple[int, IcebergSnapshot] | None = None  # None: somebody has committed in between
        self.first_row_id: int | None = None


def vector_name(vector: JavaObject) -> str:
    """Return what distinguishes a deletion vector."""
    return f"{vector.location()}:{vector.contentOffset()}"


def _snapshot(one: JavaObject) -> IcebergSnapshot:
    summary = one.summary()
    size = summary.get(SIZE)
    return IcebergSnapshot(
        one.parentId(),
        one.timestampMillis(),
        summary.get(APPLIED_PROPERTY),
        None if size is None else int(size),
    )
