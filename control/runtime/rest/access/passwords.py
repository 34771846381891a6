"""Passwords and tokens as a file may hold them: what is kept can be checked, but not read back.

    password  scrypt with its own salt; slow on purpose, because people choose passwords
    token     SHA-256; it is 256 random bits, which nobody guesses at any speed

In: the password or token of a request.  Out: whether it is the one that is kept.  All passwords cost the same
to try, so there is one set of scrypt's numbers; the kept text contains it, so that a later set is detected.
"""

import hmac
import re
import secrets
from base64 import b64decode, b64encode
from hashlib import scrypt, sha256
from typing import Final

SHORTEST: Final = 12  # characters of a password
LONGEST: Final = 1024  # bytes of what is tried

# 16 MB and some 0.2 s of one core; of OWASP's equivalent choices, the one that needs little memory
_COST: Final = {"n": 1 << 14, "r": 8, "p": 5, "maxmem": 32 << 20, "dklen": 32}
_HEAD: Final = "scrypt-14-8-5"
_KEPT: Final = re.compile(rf"{_HEAD}:[A-Za-z0-9+/]{{22}}==:[A-Za-z0-9+/]{{43}}=")
_BEGINS: Final = "wrackline_"  # of a token: its finder can see which product it belongs to
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def hash_password(password: str) -> str:
    """Return what a file keeps of a password."""
    salt = secrets.token_bytes(16)
    return f"{_HEAD}:{b64encode(salt).decode()}:{b64encode(_slow(password, salt)).decode()}"


def is_hashed_password(text: str) -> bool:
    """Whether a file's text is what `hash_password` makes."""
    return _KEPT.fullmatch(text) is not None


def is_password(tried: str, text: str) -> bool:
    """Whether this password is the one that is kept; it takes the same time in both cases."""
    _, salt, digest = text.split(":")
    return hmac.compare_digest(_slow(tried, b64decode(salt)), b64decode(digest))


def new_token() -> str:
    """Make a token; only its `digest` is to be kept."""
    return _BEGINS + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """Return what a file keeps of a token; a token is also looked up by it."""
    return sha256(token.encode()).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a file's text is what `digest` makes."""
    return _DIGEST.fullmatch(text) is not None


def _slow(password: str, salt: bytes) -> bytes:
    return scrypt(password.encode(), salt=salt, **_COST)


# tried for a name that no user has, so that such a name takes as long as a user's
NOBODYS: Final = f"{_HEAD}:{b64encode(bytes(16)).decode()}:{b64encode(bytes(32)).decode()}"
