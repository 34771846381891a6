"""The token of a login: the content of a file, read again at each login.

A token of Microsoft Entra expires within the hour, so it is not a setting: something outside renews the file.
A server admits anyone who has a token, so it only goes to a server that has proved its name by TLS.  No error
has any part of the file in it.
"""

import re
from pathlib import Path
from typing import Final

from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.redaction import Secret

_COMMAND: Final = (
    "az account get-access-token --resource https://database.windows.net/ --query accessToken --output tsv"
    " > '{path}.new' && mv '{path}.new' '{path}'"
)
TOKEN_UNPROTECTED = define(
    "sqlserver.token_unprotected",
    OperatorNeeded,
    "a token may not go to a server whose name no certificate proves: {setting} = {value}",
    hint="driver.encrypt = 'true' (or 'strict'), and no driver.trustServerCertificate; if an authority of"
    " your own signed the server: driver.serverCertificate = '<file.pem>'",
    connects=True,
)
TOKEN_UNUSABLE = define(
    "sqlserver.token_unusable",
    OperatorNeeded,
    "the token in {path} can't be used: {reason}",
    hint=f"the file must have the token and nothing else: {_COMMAND}",
    connects=True,
)
TOKEN_EXPIRED = define(
    "sqlserver.token_expired",
    Transient,
    "the server refuses the token in {path}, because it has expired",
    hint="it is retried automatically, and each time the file is read again; to renew it by hand:"
    f" {_COMMAND}",
    connects=True,
)
TOKEN_REFUSED = define(
    "sqlserver.token_refused",
    OperatorNeeded,
    "the server refuses the token in {path} (error {number})",
    hint="the token must be one for https://database.windows.net/, and whom it is for must be a user of the"
    " database: CREATE USER {user} FROM EXTERNAL PROVIDER;",
    connects=True,
)

MOST_CHARACTERS: Final = 15_000  # python-tds writes places in LOGIN7 as 16 bits with a sign
_TOKEN: Final = re.compile(rb"[A-Za-z0-9._~+/=-]+")  # RFC 6750
_EXPIRED: Final = "expired"  # "Login failed for user '<token-identified principal>'. Token is expired."


def read_token(file: str) -> Secret:
    """Read a file's token."""
    token, reason = _read(Path(file))
    if token is None:
        raise TOKEN_UNUSABLE(path=file, reason=reason)
    return token


def token_refusal(number: int, words: str, *, file: str, user: str) -> WracklineError:
    """Return what it means that a server refuses a token; the number is the same for every cause."""
    if _EXPIRED in words:
        return TOKEN_EXPIRED(path=file)
    return TOKEN_REFUSED(path=file, number=number, user=user)


def _read(file: Path) -> tuple[Secret | None, str]:
    """Return the token, or why there is none: an error that is raised here would carry what was read."""
    try:
        if not file.is_file():
            return None, "there is no such file"
        with file.open("rb") as opened:
            content = opened.read(2 * MOST_CHARACTERS).strip()
    except OSError as exc:
        return None, exc.strerror or type(exc).__name__
    if not content:
        return None, "the file is empty"
    if len(content) > MOST_CHARACTERS:
        return None, f"it has more than {MOST_CHARACTERS} characters"
    if not _TOKEN.fullmatch(content):
        return None, "it has characters that no token has, such as quotes or blanks"
    return Secret(content.decode("ascii")), ""
