"""The account that a service of Google's is used with, as the settings want it.

To an address without TLS, as an emulator has, no credentials are sent.
"""

from collections.abc import Sequence

import google.auth
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.exceptions import DefaultCredentialsError

from wrackline.schemas.settings.settings_registry import Values


def credentials(settings: Values, scopes: Sequence[str]) -> Credentials:
    """Return whose rights the client has."""
    if str(settings.get("target.endpoint") or "").startswith("http:"):
        return AnonymousCredentials()  # type: ignore[no-untyped-call]
    file = settings.get("target.credentials.file")
    if file is not None:
        found = _of_file(str(file), scopes)
    else:
        found, _ = google.auth.default(scopes=scopes)
    assert isinstance(found, Credentials)  # noqa: S101 - what Google's functions return
    return found


def _of_file(name: str, scopes: Sequence[str]) -> object:
    """Read them; Google's own function has an error of its own only for a file that is missing or wrong."""
    try:
        found, _ = google.auth.load_credentials_from_file(name, scopes=scopes)  # type: ignore[no-untyped-call]
    except OSError as exc:
        raise DefaultCredentialsError(type(exc).__name__) from None  # type: ignore[no-untyped-call]
    return found
