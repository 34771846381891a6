"""What is posted of a notice, in two forms, and its signature.  Pure.

json     {"version", "pipeline", "kind", "about", "code", "sentence", "hint", "at_ms"}
slack    {"text"}: one line for a channel, and the hint below it
"""

import hmac
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from wrackline.control.runtime.notices.notice_rules import RECOVERED, Notice
from wrackline.schemas.redaction import Secret

SIGNATURE: Final = "X-Wrackline-Signature"
_VERSION: Final = 1
_MARKUP: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def as_json(notice: Notice) -> bytes:
    """Return it for a program."""
    told = {name: notice.error[name] for name in ("code", "sentence", "hint")}
    of = {"pipeline": notice.pipeline, "kind": notice.kind, "about": notice.about, "at_ms": notice.at_ms}
    return orjson.dumps({"version": _VERSION, **of, **told})


def as_slack(notice: Notice) -> bytes:
    """Return it for a channel of Slack; names and texts of others are no markup."""
    head = f"{notice.pipeline}: {notice.kind}, {notice.about}: {notice.error['sentence']}"
    hint = "" if notice.kind == RECOVERED else f"\n{notice.error['hint']}"
    return orjson.dumps({"text": (head + hint).translate(_MARKUP)})


FORMS: Final[Mapping[str, Callable[[Notice], bytes]]] = {"json": as_json, "slack": as_slack}


def signature(secret: Secret | None) -> Callable[[bytes], Mapping[str, str]]:
    """Return what signs a body, so that its reader knows who sent it."""

    def sign(body: bytes) -> Mapping[str, str]:
        if secret is None:
            return {}
        return {SIGNATURE: f"sha256={hmac.digest(secret.reveal().encode(), body, 'sha256').hex()}"}

    return sign
