"""How an open page is renewed: nothing is sent while nothing has changed; else its main part, compressed.

In: a page, and the request for it.  Out: the answer.  A page carries a mark of what it says, and its renewal
brings the mark along.  Only renewals are compressed: the length of a compressed page tells whether a guess in
it is right, and no page of another site can send a renewal's header, so none can guess the token of a form.
"""

import gzip
import hashlib
from collections.abc import Mapping
from typing import Final

from fastapi import Request, Response
from starlette.responses import HTMLResponse

MARK: Final = "mark-of-this-page"  # in the template, where the mark goes
MARK_HEADER: Final = "wrackline-mark"
_RENEWAL: Final = "hx-request"
_END: Final = "</main>"
_LEVEL: Final = 6
_CHARACTERS: Final = 22


def page_answer(request: Request, made: str, status: int, headers: Mapping[str, str]) -> Response:
    """Return a page, its main part, or that nothing in that has changed."""
    main = made[made.index("<main") : made.index(_END) + len(_END)]
    mark = hashlib.blake2b(main.encode()).hexdigest()[:_CHARACTERS]
    renews = _RENEWAL in request.headers
    if renews and status == 200 and request.headers.get(MARK_HEADER) == mark:
        return Response(status_code=204, headers=headers)
    body = (main if renews else made).replace(MARK, mark, 1).encode()
    if not renews or "gzip" not in request.headers.get("accept-encoding", ""):
        return HTMLResponse(body, status, headers)
    return HTMLResponse(gzip.compress(body, _LEVEL, mtime=0), status, {**headers, "Content-Encoding": "gzip"})
