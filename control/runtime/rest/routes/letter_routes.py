"""Dead letters by REST.

    GET    /connectors/{name}/letters           what is set aside, and why
    POST   /connectors/{name}/letters/replay    merge those of a table, ?table=, or all
    DELETE /connectors/{name}/letters/{id}      forget one

In: the desk that works on letters.  Out: routes.  All of them ask the target in a process of its own, so
they take seconds, with Spark some twenty, and an operator has to ask.  Bytes are shown to users that may see
values.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Query, Request, Response

from wrackline.control.runtime.letters.letter_desk import LetterDesk
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.schemas.errors import OperatorNeeded, define

_FRESH_S: Final = 10.0
_OUTCOME_S: Final = 60.0  # a client that has to ask again gets what its request did
_VALUES: Final = ("key", "value")

NOT_WORKED = define(
    "letters.not_worked",
    OperatorNeeded,
    "the letters of {name} can't be reached: {why} [{code}]",
    hint="{hint}",
)


class LetterService(Protocol):
    """Knows pipelines, and works on their letters."""

    letters: LetterDesk

    def brokers(self, name: str) -> str:
        """Raise NO_CONNECTOR for an unknown name."""
        ...


def routes(looks: LetterService, once: AnswerCache | None = None) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}/letters", default_response_class=Answer)
    asked = once or AnswerCache()

    async def work(request: Request, name: str, wanted: LetterWork, fresh: float) -> Response:
        looks.brokers(name)
        user, by = request.scope.get("user"), user_of(request)

        def do() -> Mapping[str, Any]:
            state = looks.letters.begin(name, wanted, by).result()
            if state.outcome is None:
                error = state.error or {}
                raise NOT_WORKED(name=name, why=error["sentence"], code=error["code"], hint=error["hint"])
            return state.outcome

        changes = (
            wanted.verb is not LetterVerb.LOOK
        )  # which is done again, unless nobody has heard what it did
        found = await asked.answer((name, wanted), do, fresh, ask_again=changes)
        return Answer(found if user is None or user.data else without_values(found))

    @made.get("")
    async def letters(request: Request, name: str) -> Response:
        """Return what is set aside."""
        return await work(request, name, LetterWork(LetterVerb.LOOK), _FRESH_S)

    @made.post("/replay")
    async def replay(
        request: Request, name: str, table: Annotated[str, Query(max_length=1_000)] = ""
    ) -> Response:
        """Merge what can be read by now; the rest stays."""
        return await work(request, name, LetterWork(LetterVerb.REPLAY, table), _OUTCOME_S)

    @made.delete("/{id}")
    async def drop(request: Request, name: str, id: str) -> Response:  # noqa: A002 - as the path has it
        """Forget a letter: its row never arrives, unless it is read again."""
        return await work(request, name, LetterWork(LetterVerb.DROP, ids=frozenset({id})), _OUTCOME_S)

    return made


def without_values(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an outcome without the bytes of records."""
    letters = [{name: it for name, it in one.items() if name not in _VALUES} for one in found["letters"]]
    return {**found, "letters": letters}
