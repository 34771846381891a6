"""What the user of a page may do and see, so that no page shows a button that would be refused.

In: a request behind the log-in.  Out: permissions, and the token that its forms carry.  Where nobody logs in,
everybody may do all of it.
"""

from dataclasses import dataclass

from fastapi import Request

from wrackline.control.runtime.rest.access.login import Login
from wrackline.control.runtime.rest.access.roles import Role


@dataclass(frozen=True, slots=True)
class Permissions:
    """Of one user."""

    act: bool  # pause, resume, restart, ask for rows
    admin: bool
    values: bool  # see values of rows


def permissions_of(request: Request) -> Permissions:
    """Return what the user may."""
    user = request.scope.get("user")
    if user is None:
        open_to_all = "login" not in request.scope
        return Permissions(open_to_all, open_to_all, open_to_all)
    return Permissions(user.role >= Role.OPERATOR, user.role >= Role.ADMIN, user.data)


def form_token(request: Request) -> str:
    """Return what this user's forms must bring along; nothing where nobody logs in."""
    login: Login | None = request.scope.get("login")
    user = request.scope.get("user")
    return (
        "" if login is None or user is None else login.sessions.form_token(user, request.scope.get("session"))
    )
