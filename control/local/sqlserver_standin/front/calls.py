"""Procedure calls: `sp_executesql`, prepared statements, and what the session knows by name."""

from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field

from wrackline.control.local.sqlserver_standin.front.answer import AnswerStream
from wrackline.control.local.sqlserver_standin.tsql.reading.parser import declarations
from wrackline.control.local.sqlserver_standin.tsql.session import Outcome, SqlSession
from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.requests import Argument, RemoteCall
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_INT = SqlType("int")


@dataclass(slots=True)
class Calls:
    """The calls of a session; what it has prepared has a number."""

    session: SqlSession
    prepared: dict[int, tuple[str, str]] = field(default_factory=dict)
    next_handle: int = 1

    def run(self, calls: Sequence[RemoteCall], answer: AnswerStream, asked: MutableSequence[str]) -> None:
        """Run calls one behind the other, each with a DONEPROC of its own."""
        for number, call in enumerate(calls, 1):
            failed = False
            values: list[bytes] = []
            try:
                asked.append(self._shown(call))
                for outcome in self._outcomes(call, values):
                    answer.in_transaction = self.session.levels > 0
                    answer.outcome(outcome)
            except ServerError as error:
                answer.in_transaction = self.session.levels > 0
                answer.error(error)
                failed = True
            answer.end_procedure(values, failed=failed, more=number < len(calls))

    def _shown(self, call: RemoteCall) -> str:
        """Return the statement of a call, or the procedure's name."""
        name, given = call.name.lower(), call.arguments
        if name == "sp_execute" and given:
            return self.prepared.get(_handle(given[0]), ("", call.name))[1]
        at = {"sp_executesql": 0, "sp_prepare": 2, "sp_prepexec": 2}.get(name)
        return call.name if at is None or len(given) <= at else _text(given[at])

    def _outcomes(self, call: RemoteCall, values: list[bytes]) -> Iterator[Outcome]:
        given = call.arguments
        match call.name.lower():
            case "sp_executesql":
                text, declared = _text(given[0]), _text(given[1]) if len(given) > 1 else ""
                yield from self._statement(text, declared, given[2:], values, 2)
            case "sp_prepare" | "sp_prepexec":
                handle = self.next_handle
                self.next_handle += 1
                self.prepared[handle] = (_text(given[1]), _text(given[2]))
                values.append(tokens.return_value(0, given[0].name, _INT, handle))
                if call.name.lower() == "sp_prepexec":
                    yield from self._statement(_text(given[2]), _text(given[1]), given[3:], values, 3)
            case "sp_execute":
                handle = _handle(given[0])
                if handle not in self.prepared:
                    raise ServerError(8179, f"Could not find prepared statement with handle {handle}.")
                declared, text = self.prepared[handle]
                yield from self._statement(text, declared, given[1:], values, 1)
            case "sp_unprepare":
                self.prepared.pop(_handle(given[0]), None)
            case _:
                yield from self.session.execute(call.name, [(one.name, one.value) for one in given])

    def _statement(
        self, text: str, declared: str, given: Sequence[Argument], values: list[bytes], first: int
    ) -> Iterator[Outcome]:
        """Run a text with its parameters: each value is made to fit what was declared."""
        types = declarations(declared)
        if len(given) != len(types):
            raise ServerError(8178, "The parameterized query expects parameters which were not supplied.")
        parameters: dict[str, tuple[SqlType, Cell]] = {}
        for (name, of), one in zip(types.items(), given, strict=True):
            parameters[(one.name or name).lower()] = (of, fitted(of, one.value))
        yield from self.session.run(text, parameters)
        for at, ((name, of), one) in enumerate(zip(types.items(), given, strict=True), first):
            if one.output:
                values.append(tokens.return_value(at, one.name or name, of, self.session.variable(name)[1]))


def _text(one: Argument) -> str:
    return "" if one.value is None else str(one.value)


def _handle(one: Argument) -> int:
    return one.value if isinstance(one.value, int) else 0
