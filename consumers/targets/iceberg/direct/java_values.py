"""Values between Python and Java in few calls: functions, numbers and bytes.

A call over py4j costs some ten microseconds, so what there is a thousand of goes over as bytes.
"""

import io
import struct
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from pyspark.sql import SparkSession

JavaObject: TypeAlias = Any  # py4j knows its methods when they are called

_LONG: Final = 8  # bytes


class JavaValues:
    """What Java's own classes and Iceberg's offer; each is found once."""

    def __init__(self, session: SparkSession) -> None:
        """Take the session whose Java it is."""
        java: JavaObject = session._jvm  # noqa: SLF001 - PySpark has no other way to Java
        self._java, self._gateway = java, session.sparkContext._gateway  # noqa: SLF001 - as above
        self._members: dict[str, JavaObject] = {}
        self._classes: dict[str, JavaObject] = {}
        self._nothing: JavaObject = None

    def __getitem__(self, name: str) -> JavaObject:
        """Return a class, a static method or a constant; py4j would ask for each part of the name again."""
        if name not in self._members:
            found = self._java
            for part in name.split("."):
                found = getattr(found, part)
            self._members[name] = found
        return self._members[name]

    def longs(self, numbers: Sequence[int]) -> JavaObject:
        """Return Java's stream of these numbers."""
        count = len(numbers)
        array = self._gateway.new_array(self["long"], count)  # type: ignore[union-attr]  # it is there
        self["java.nio.ByteBuffer.wrap"](struct.pack(f">{count}q", *numbers)).asLongBuffer().get(array)
        return self["java.util.stream.LongStream.of"](array)

    def numbers(self, longs: JavaObject) -> Sequence[int]:
        """Return the numbers of a stream of Java's."""
        array = longs.toArray()
        count = len(array)
        buffer = self["java.nio.ByteBuffer.allocate"](count * _LONG)
        buffer.asLongBuffer().put(array)
        return struct.unpack(f">{count}q", buffer.array())

    def nothing(self) -> JavaObject:
        """Return a function that has null for everything."""
        if self._nothing is None:
            map_, thing = self.class_of("java.util.Map"), self.class_of("java.lang.Object")
            form, empty = "java.util.function.Function", self["java.util.HashMap"]()
            self._nothing = self.function(form, empty, "get", map_, thing, thing)
        return self._nothing

    def class_of(self, name: str, beside: JavaObject | None = None) -> JavaObject:
        """Return Java's own object of a class; `beside` is of the jar that has it."""
        if name not in self._classes:
            self._classes[name] = (
                self["java.lang.Class.forName"](name)
                if beside is None
                else beside.getClass().getClassLoader().loadClass(name)
            )
        return self._classes[name]

    def function(
        self, form: str, bound: JavaObject, name: str, of: JavaObject, takes: JavaObject, returns: JavaObject
    ) -> JavaObject:
        """Return a method of an object as one of Java's functional interfaces: Java calls no Python."""
        kind = self["java.lang.invoke.MethodType.methodType"](returns, takes)
        look = self["java.lang.invoke.MethodHandles.publicLookup"]()
        method = look.findVirtual(of, name, kind).bindTo(bound)
        return self["java.lang.invoke.MethodHandleProxies.asInterfaceInstance"](self.class_of(form), method)


class JavaFile(io.RawIOBase):
    """A file of Java's, to be read by Python."""

    def __init__(self, stream: JavaObject, size: int) -> None:
        """Take an open stream that can seek."""
        super().__init__()
        self._stream, self._size, self._at = stream, size, 0

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def seekable(self) -> bool:
        """Whether it has places."""
        return True

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or all."""
        count = max(0, self._size - self._at) if size < 0 else min(size, max(0, self._size - self._at))
        self._stream.seek(self._at)
        found = bytes(self._stream.readNBytes(count))
        self._at += len(found)
        return found

    def close(self) -> None:
        """Close Java's stream."""
        if not self.closed:
            self._stream.close()
        super().close()
