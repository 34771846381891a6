"""Reads statements about rights: GRANT, log-ins, users, roles."""

from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import PrincipalDefinition, RightGrant
from wrackline.control.local.sqlserver_standin.tsql.reading.word_reader import WordReader

_OF_DATABASE = ("VIEW", "DATABASE", "STATE")
_OF_SERVER = ("VIEW", "SERVER", "STATE")
_OF_TABLES = ("SELECT", "INSERT", "UPDATE", "DELETE")


class RightReader:
    """Reads them at a place."""

    def __init__(self, words: WordReader) -> None:
        self._words = words

    def grant(self) -> RightGrant:
        """Read GRANT; the names of rights are in capitals."""
        self._words.need("GRANT")
        if self._words.skip(*_OF_DATABASE):
            rights, kind, securable = [" ".join(_OF_DATABASE)], "DATABASE", tuple[str, ...]()
        elif self._words.skip("UNMASK"):
            rights, kind, securable = ["UNMASK"], "DATABASE", ()
        elif self._words.skip(*_OF_SERVER):
            rights, kind, securable = [" ".join(_OF_SERVER)], "SERVER", ()
        else:
            rights = [self._right()]
            while self._words.skip(","):
                rights.append(self._right())
            self._words.need("ON")
            kind = "SCHEMA" if self._words.skip("SCHEMA", ":", ":") else "OBJECT"
            self._words.skip("OBJECT", ":", ":")
            securable = self._words.parts()
        self._words.need("TO")
        return RightGrant(tuple(rights), kind, securable, self._words.name())

    def _right(self) -> str:
        for name in _OF_TABLES:
            if self._words.skip(name):
                return name
        raise self._words.wrong()

    def principal(self) -> PrincipalDefinition | None:
        """Read CREATE LOGIN, USER or ROLE and ALTER ROLE; None is another statement."""
        if self._words.skip("CREATE", "LOGIN"):
            name = self._words.name()
            self._words.need("WITH", "PASSWORD", "=")
            return PrincipalDefinition("LOGIN", name, str(self._words.step().value))
        if self._words.skip("CREATE", "USER"):
            name = self._words.name()
            login = self._words.name() if self._words.skip("FOR", "LOGIN") else name
            return PrincipalDefinition("USER", name, login)
        if self._words.skip("CREATE", "ROLE"):
            return PrincipalDefinition("ROLE", self._words.name())
        if self._words.skip("ALTER", "ROLE"):
            role = self._words.name()
            kind = "ADD" if self._words.skip("ADD") else "DROP"
            if kind == "DROP":
                self._words.need("DROP")
            self._words.need("MEMBER")
            return PrincipalDefinition(kind, role, self._words.name())
        return None
