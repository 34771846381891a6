"""Somebody at a browser, over a real socket: keeps cookies, fills in forms, follows no redirect."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

from tests.unit.control.rest_users import PASSWORD, kept, private
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK

FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Answer:
    """What came."""

    status: int
    headers: Mapping[str, str]
    html: str

    @property
    def to(self) -> str:
        return self.headers["location"]


@dataclass
class Visitor:
    """A browser of its own."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(
        self,
        method: str,
        path: str,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        given = {**(cookie if self.cookies else {}), **({} if form is None else {"Content-Type": FORM})}
        connection = HTTPConnection(LOOPBACK, self.port, timeout=30)
        try:
            body = None if form is None else urlencode(form)
            connection.request(method, path, body, {**given, **(headers or {})})
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            for name, one in SimpleCookie(said.get("set-cookie", "")).items():
                self.cookies[name] = one.value
                if one["max-age"] == "0":
                    del self.cookies[name]
            return Answer(answer.status, said, answer.read().decode())
        finally:
            connection.close()

    def log_in(self, name: str, password: str = PASSWORD) -> Answer:
        return self.ask("POST", "/console/login", {"name": name, "password": password})

    def fields(self, page: str) -> Mapping[str, str]:
        """The hidden fields of a page's forms, of all that look for a session."""
        html = self.ask("GET", page).html
        found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html)
        return {name: unescape(value) for name, value in found}

    def press(self, page: str, action: str, **more: str) -> Answer:
        """Press a button of a page."""
        return self.ask("POST", action, {**self.fields(page), **more})


def users(folder: Path, **of: str) -> Path:
    """Write a users' file: each with the one password, and what else is said of it."""
    made = [f'[users.{name}]\npassword = "{kept()}"\n{more}\n' for name, more in of.items()]
    return private(folder / "users.toml", "\n".join(made))
