"""The first two messages of a client: PRELOGIN ([MS-TDS] 2.2.6.5) and LOGIN7 (2.2.6.4)."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from wrackline.control.local.sqlserver_standin.wire.byte_reader import ByteReader
from wrackline.control.local.sqlserver_standin.wire.server_error import protocol_error

_VERSION, _ENCRYPTION, _INSTANCE, _THREAD, _MARS = range(5)
_FEDERATED = 6
_TEXTS = ("host", "user", "password", "program", "server", "extension", "library", "language", "database")
_READ_ONLY = 0x20  # of TypeFlags
_EXTENDED = 0x10  # of OptionFlags3
_INTEGRATED = 0x80  # of OptionFlags2
FEDERATED_FEATURE = 0x02  # of FEATUREEXT: a token of an identity provider
_SECURITY_TOKEN = 0x01  # its library: the token itself is in LOGIN7
_ODBC = 0x02  # likewise: the settings of a session are those that ODBC defines


class Encryption(IntEnum):
    """What a side says of TLS."""

    OFF = 0
    """The log-in is encrypted, the rest is not."""
    ON = 1
    NOT_SUPPORTED = 2
    REQUIRED = 3


def read_prelogin(body: bytes) -> Mapping[int, bytes]:
    """Read the options of a PRELOGIN: a list of number, place and length, then what they point at."""
    reader, options = ByteReader(body), {}
    while (number := reader.byte()) != 0xFF:
        place, length = struct.unpack(">HH", reader.take(4))
        if place + length > len(body):
            raise protocol_error("an option of PRELOGIN lies outside of it")
        options[number] = body[place : place + length]
    return options


def print_prelogin(
    encryption: Encryption, version: tuple[int, int, int], *, federated: bool = False
) -> bytes:
    """Write the server's PRELOGIN; several results at a time (MARS) are not offered."""
    options = {
        _VERSION: struct.pack(">BBHH", *version, 0),
        _ENCRYPTION: bytes([encryption]),
        _INSTANCE: b"\x00",
        _THREAD: b"",
        _MARS: b"\x00",
        **({_FEDERATED: b"\x01"} if federated else {}),
    }
    head, data = b"", b""
    for number, value in options.items():
        head += struct.pack(">BHH", number, 5 * len(options) + 1 + len(data), len(value))
        data += value
    return head + b"\xff" + data


def wanted(options: Mapping[int, bytes]) -> Encryption:
    """Return what a client's PRELOGIN says of TLS."""
    return Encryption(options.get(_ENCRYPTION, b"\x02")[0] & 0x03)


def agreed(client: Encryption, server: Encryption) -> Encryption | None:
    """Return what the server answers, by the table of 2.2.6.5; None if the two can't talk."""
    if client is Encryption.NOT_SUPPORTED:
        return None if server in {Encryption.ON, Encryption.REQUIRED} else Encryption.NOT_SUPPORTED
    if server is Encryption.NOT_SUPPORTED:
        return Encryption.NOT_SUPPORTED if client is Encryption.OFF else None
    if server is Encryption.OFF and client is Encryption.OFF:
        return Encryption.OFF
    return Encryption.REQUIRED if server is Encryption.REQUIRED else Encryption.ON


def asks_for_token(options: Mapping[int, bytes]) -> bool:
    """Return whether a client's PRELOGIN says that it will log in with a token."""
    return options.get(_FEDERATED) == b"\x01"


@dataclass(frozen=True, slots=True)
class TdsLogin:
    """What a client logs in with."""

    version: int
    packet_size: int
    texts: Mapping[str, str] = field(repr=False)
    read_only: bool
    integrated: bool
    is_odbc: bool
    features: Mapping[int, bytes] = field(repr=False)
    security: bytes = field(default=b"", repr=False)
    """The first of an exchange of security messages, of an integrated log-in."""

    @property
    def user(self) -> str:
        """Return the name of a SQL log-in."""
        return self.texts["user"]

    @property
    def password(self) -> str:
        """Return its password."""
        return self.texts["password"]

    @property
    def database(self) -> str:
        """Return the database that is asked for; an empty text is the user's own."""
        return self.texts["database"]


def read_login(body: bytes) -> TdsLogin:
    """Read LOGIN7: fixed fields, then place and length of each text."""
    reader = ByteReader(body)
    length, version, size = struct.unpack("<III", reader.take(12))
    if length != len(body):
        raise protocol_error(f"LOGIN7 says that it has {length} bytes and has {len(body)}")
    reader.take(12)
    _first, second, types, third = reader.take(4)
    reader.take(8)
    texts, extension = {}, b""
    for name in _TEXTS:
        place, units = struct.unpack("<HH", reader.take(4))
        if name == "extension":
            extension = body[place : place + units]
            continue
        coded = body[place : place + 2 * units]
        coded = unscrambled(coded) if name == "password" else coded
        texts[name] = coded.decode("utf-16-le", "surrogatepass")
    reader.take(6)  # the client's network address
    place, size_of_first = struct.unpack("<HH", reader.take(4))
    return TdsLogin(
        version=version,
        packet_size=size,
        texts=MappingProxyType(texts),
        read_only=bool(types & _READ_ONLY),
        integrated=bool(second & _INTEGRATED),
        is_odbc=bool(second & _ODBC),
        features=_features(body, extension) if third & _EXTENDED else {},
        security=body[place : place + size_of_first],
    )


def _features(body: bytes, extension: bytes) -> Mapping[int, bytes]:
    """Read FEATUREEXT, to which the extension has a pointer."""
    reader, found = ByteReader(body), {}
    reader.take(int.from_bytes(extension[:4], "little"))
    while (number := reader.byte()) != 0xFF:
        found[number] = reader.take(reader.unpack("I"))
    return MappingProxyType(found)


def token_of(login: TdsLogin, *, announced: bool) -> str | None:
    """Return the token of a log-in that has one; it repeats what both PRELOGINs said (3.3.5.5)."""
    if FEDERATED_FEATURE not in login.features:
        return None
    reader = ByteReader(login.features[FEDERATED_FEATURE])
    options = reader.byte()
    if options >> 1 != _SECURITY_TOKEN or bool(options & 1) != announced:
        raise protocol_error(f"the options of a token are {options:02x}")
    return reader.take(reader.unpack("I")).decode("utf-16-le", "surrogatepass")


def scrambled(coded: bytes) -> bytes:
    """Hide a password as LOGIN7 does: the halves of each byte change places, then 0xA5 is laid over."""
    return bytes(((one & 0x0F) << 4 | one >> 4) ^ 0xA5 for one in coded)


def unscrambled(coded: bytes) -> bytes:
    """Show a password."""
    return bytes(((one ^ 0xA5) & 0x0F) << 4 | (one ^ 0xA5) >> 4 for one in coded)
