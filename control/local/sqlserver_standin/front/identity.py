"""Who a client is: by a password, a token, or an exchange of security messages ([MS-TDS] 3.3.5.5, 3.3.5.6).

A client that speaks NTLM is judged by pyspnego, with the passwords of the file that NTLM_USER_FILE names.
Any other exchange has its shape, a name, a challenge and a response, and is no mechanism: it shows that the
messages travel.
"""

import hashlib
import hmac
import os
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.login import TdsLogin, token_of
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

_NTLM = b"NTLMSSP\0"  # how each of its messages begins
_NAMELESS = "<token-identified principal>"  # as a server writes it


def user_of(
    login: TdsLogin, model: ModelServer, exchange: Callable[[bytes], bytes], *, announced: bool
) -> str:
    """Return the client's user; `exchange` sends a message and waits for the client's."""
    token = token_of(login, announced=announced)
    if token is not None:
        return _of_token(model, token)
    if login.integrated and login.security.startswith(_NTLM):
        return _of_ntlm(model, login.security, exchange)
    if login.integrated:
        return _of_exchange(model, login.security, exchange)
    if not model.logs_in(login.user, login.password, login.database):
        _refuse(f"'{login.user}'.")
    return login.user


def response_to(challenge: bytes, password: str) -> bytes:
    """Return what a client with this password answers."""
    return hmac.digest(password.encode(), challenge, hashlib.sha256)


def _of_token(model: ModelServer, token: str) -> str:
    if token not in model.tokens:
        _refuse(f"'{_NAMELESS}'.")
    user, expires = model.tokens[token]
    if model.now >= expires:
        _refuse(f"'{_NAMELESS}'. Token is expired.", state=233)
    return user


def _of_exchange(model: ModelServer, first: bytes, exchange: Callable[[bytes], bytes]) -> str:
    user, challenge = first.decode(), os.urandom(16)
    response = exchange(challenge)
    password = model.passwords.get(user.lower())
    if password is None or not hmac.compare_digest(response, response_to(challenge, password)):
        _refuse(f"'{user}'.")
    return user


def _of_ntlm(model: ModelServer, first: bytes, exchange: Callable[[bytes], bytes]) -> str:
    acceptor = import_module("spnego").server(protocol="ntlm")  # only who tests NTLM has it
    try:
        acceptor.step(exchange(acceptor.step(first)))
    except import_module("spnego.exceptions").SpnegoError:
        _refuse(
            "''. The login is from an untrusted domain and cannot be used with Integrated authentication."
        )
    user = str(acceptor.client_principal)
    if user.lower() not in model.passwords:
        _refuse(f"'{user}'.")
    return user


def _refuse(whom: str, *, state: int = 1) -> NoReturn:
    raise ServerError(18456, f"Login failed for user {whom}", severity=14, state=state)
