"""How an open page is renewed: nothing is sent while nothing has changed, else only those sections that have.

In: a page with its sections, and the request for it.  Out: the answer, compressed.  A page carries a mark of
what it says, and its renewal brings the mark along.  What was sent with a mark is remembered: so a page that
would be made of the same board is not made at all.  Where a mark is forgotten, the whole main part is sent.
Each answer says in how many milliseconds to ask again, which is right after new figures have come.

Only renewals are compressed: the length of a compressed page tells whether a guess in it is right, and no
page of another site can send a renewal's header, so none can guess the token of a form.
"""

import gzip
import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Final, NamedTuple

from fastapi import Request, Response
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.responses import HTMLResponse

MARK: Final = "mark-of-this-page"  # stands for the mark until it is known
MARK_HEADER: Final = "wrackline-mark"
ASK_HEADER: Final = "wrackline-ask-ms"
_RENEWAL: Final = "hx-request"
_END: Final = "</main>"
_LEVEL: Final = 6
_BYTES: Final = 11  # of a mark
_REMEMBERED: Final = 128  # marks
_PLACE: Final = re.compile("<!--section:([0-9]+)-->")
_MARKED: Final = Markup('<i id="mark" hidden data-mark="{}"></i>')


PageVersion = tuple[object, ...]  # what a page is made of: where it is equal, so is the page


class Section(NamedTuple):
    """An element that is sent alone where nothing else has changed."""

    id: str
    html: Markup


class MadePage(NamedTuple):
    """A page; comments stand where its sections go."""

    html: str
    sections: Sequence[Section]
    version: PageVersion | None = None  # None: it may be another one at any time


class _Sent(NamedTuple):
    """What a mark stands for."""

    frame: bytes
    sections: Mapping[str, bytes]
    version: PageVersion | None


class Renewals:
    """Answers for pages that are open in browsers; on any thread."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, _Sent] = OrderedDict()
        self._lock = Lock()

    def is_same(self, request: Request, version: PageVersion) -> bool:
        """Whether this is a renewal of a page that need not be made again."""
        sent = self._of(request)
        return sent is not None and sent.version == version

    def answer(self, request: Request, made: MadePage, status: int, headers: Mapping[str, str]) -> Response:
        """Return a page, its main part, those sections that have changed, or that none has."""
        main = made.html[made.html.index("<main") : made.html.index(_END) + len(_END)]
        frame = _hash(main + "\0".join(one.id for one in made.sections))
        now = _Sent(frame, {one.id: _hash(one.html) for one in made.sections}, made.version)
        mark = _hash(frame + b"".join(now.sections.values())).hex()
        before = self._of(request) if status == 200 else None
        if status == 200:
            self._remember(mark, now)
        if before is not None and request.headers[MARK_HEADER] == mark:
            return Response(status_code=204, headers=headers)
        if before is not None and before.frame == frame:
            changed = [one for one in made.sections if before.sections[one.id] != now.sections[one.id]]
            body = "".join(map(_sent_alone, (Section("mark", _MARKED.format(mark)), *changed)))
        else:
            whole = main if _RENEWAL in request.headers else made.html
            body = _PLACE.sub(lambda place: made.sections[int(place[1])].html, whole)
            body = body.replace(marked(), _MARKED.format(mark), 1)
        if _RENEWAL not in request.headers or "gzip" not in request.headers.get("accept-encoding", ""):
            return HTMLResponse(body, status, headers)
        packed = gzip.compress(body.encode(), _LEVEL, mtime=0)
        return HTMLResponse(packed, status, {**headers, "Content-Encoding": "gzip"})

    def _of(self, request: Request) -> _Sent | None:
        if _RENEWAL not in request.headers:
            return None
        with self._lock:
            return self._sent.get(request.headers.get(MARK_HEADER, ""))

    def _remember(self, mark: str, sent: _Sent) -> None:
        with self._lock:
            self._sent[mark] = sent
            self._sent.move_to_end(mark)
            if len(self._sent) > _REMEMBERED:
                self._sent.popitem(last=False)


@pass_context
def section(context: Context, html: Markup, name: str) -> Markup:
    """Take an element with this id as a section of the page, in a template; a comment takes its place."""
    sections: list[Section] = context["sections"]
    sections.append(Section(name, html.strip()))
    return _place(len(sections) - 1)


@lru_cache  # a page has a hundred, and is made again every two seconds
def _place(number: int) -> Markup:
    return Markup("<!--section:{}-->").format(number)


def marked() -> Markup:
    """Return the element that carries the mark."""
    return _MARKED.format(MARK)


def _sent_alone(one: Section) -> str:
    return Markup('<hx-partial id="{}" hx-swap="outerMorph">{}</hx-partial>').format(*one)


def _hash(said: str | bytes) -> bytes:
    return hashlib.blake2b(said.encode() if isinstance(said, str) else said, digest_size=_BYTES).digest()
