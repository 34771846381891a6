"""Masks for values that must not be published as they are: a value's text comes in, another text goes out.

    hash       the salted digest in hex; equal values stay equal (Debezium's two versions)
    stars      this many stars, whatever the value was
    truncate   its first characters

Null stays null: masks are called only with values.  A mask's repr never shows its salt.
"""

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from wrackline.schemas.errors import Definite, define

STARS_MAX: Final = 10_000

ALGORITHM_UNKNOWN = define(
    "mask.algorithm_unknown",
    Definite,
    "the hash algorithm {algorithm} is not available",
    hint="use one of {known}: column.mask.hash.v2.SHA-256.with.salt.<salt>",
)
LENGTH_REFUSED = define(
    "mask.length_refused",
    Definite,
    "{name} has a length that is not between {least} and {most}",
    hint="change the length in the name of the setting {name}",
)

# Java's names of digests, which Debezium's configurations use.
DIGESTS: Final = {
    "MD5": "md5",
    "SHA": "sha1",
    "SHA-1": "sha1",
    "SHA-224": "sha224",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
    "SHA3-224": "sha3_224",
    "SHA3-256": "sha3_256",
    "SHA3-384": "sha3_384",
    "SHA3-512": "sha3_512",
}
_SHORT_TEXT = 0xFFFF  # the longest that Java's serialization writes with two bytes of length


@dataclass(frozen=True, slots=True)
class HashMask:
    """Version 2 hashes the text's UTF-8; version 1 what Java's serialization makes of the text."""

    digest: str  # as hashlib names it
    salt: bytes = field(repr=False)
    version: int = 2
    length: int | None = None  # the column's own: the hash is cut to it

    def __call__(self, text: bytes) -> bytes:
        """Return the hash in hex."""
        said = text if self.version == 2 else serialize_for_java(text)
        made = hashlib.new(self.digest, self.salt + said, usedforsecurity=False).hexdigest()
        return made[: self.length].encode()

    @property
    def most(self) -> int:
        """The longest text it makes, in bytes."""
        return 2 * hashlib.new(self.digest, usedforsecurity=False).digest_size

    @property
    def whole(self) -> bool:
        """Whether the column has room for all of the hash."""
        return self.length is None or self.length >= self.most


@dataclass(frozen=True, slots=True)
class StarsMask:
    """Always the same text."""

    count: int

    def __call__(self, text: bytes) -> bytes:
        """Return the stars."""
        del text
        return b"*" * self.count

    @property
    def most(self) -> int:
        """The longest text it makes, in bytes."""
        return self.count


@dataclass(frozen=True, slots=True)
class TruncateMask:
    """Characters, not bytes; text that is not UTF-8 is cut as well, not refused with its bytes shown."""

    count: int

    def __call__(self, text: bytes) -> bytes:
        """Return the first characters."""
        if len(text) <= self.count:
            return text
        return text.decode("utf-8", "surrogateescape")[: self.count].encode("utf-8", "surrogateescape")

    @property
    def most(self) -> int:
        """The longest text it makes beyond the one it was given, in bytes."""
        return 0


Mask: TypeAlias = HashMask | StarsMask | TruncateMask


def hash_of(algorithm: str, salt: str, version: int) -> HashMask:
    """Make the mask of `column.mask.hash...`, or refuse its algorithm."""
    digest = DIGESTS.get(algorithm.upper())
    if digest is None:
        raise ALGORITHM_UNKNOWN(algorithm=algorithm, known=", ".join(DIGESTS))
    return HashMask(digest, salt.encode(), version)


def stars_of(name: str, length: int) -> StarsMask:
    """Make the mask of `column.mask.with.<length>.chars`."""
    if length > STARS_MAX:
        raise LENGTH_REFUSED(name=name, least=0, most=STARS_MAX)
    return StarsMask(length)


def truncate_of(name: str, length: int) -> TruncateMask:
    """Make the mask of `column.truncate.to.<length>.chars`."""
    if length < 1:
        raise LENGTH_REFUSED(name=name, least=1, most=999_999_999)
    return TruncateMask(length)


def serialize_for_java(text: bytes) -> bytes:
    """Write a text as Java's ObjectOutputStream writes a String: a header, its length, modified UTF-8."""
    units = text.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")
    chars = "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units)))
    raw = chars.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    if len(raw) <= _SHORT_TEXT:
        return b"\xac\xed\x00\x05\x74" + struct.pack(">H", len(raw)) + raw
    return b"\xac\xed\x00\x05\x7c" + struct.pack(">Q", len(raw)) + raw
