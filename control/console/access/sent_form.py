"""The fields of a form as browsers send it: names and texts, a bounded number of them.

In: a request.  Out: its fields; nothing of a body that is no form.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from fastapi import Request

from wrackline.control.runtime.rest.model.body import body_of

_MOST: Final = 300_000  # bytes: a draft may have nearly so many, and so may the names of many tables
_FIELDS: Final = 2_000
_TYPE: Final = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields; of a name that comes twice, the last one.  It may be read again."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        return {}
    body = (await body_of(request, _MOST))[:_MOST]
    request._body = body  # noqa: SLF001 - from here the framework reads it again; its own reader has no bound
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=_FIELDS, keep_blank_values=True))
    except ValueError:  # it is not as browsers send it
        return {}
