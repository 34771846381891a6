"""What is posted of a notice, in three forms, and its signature.  Pure.

json       {"version", "pipeline", "kind", "about", "code", "sentence", "hint", "at_ms"}
slack      {"text"}: one line for a channel, and the hint below it
pagerduty  an event of PagerDuty's Events API v2.  A pipeline has one incident for each kind: a table that
           fails beside another adds to it, and it is resolved when nothing of its kind stands
"""

import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import orjson

from wrackline.control.runtime.notices.notice_rules import (
    AT_RISK,
    FAILED,
    LETTERS,
    RECOVERED,
    SLO,
    UNSUPPORTED_DDL,
    Notice,
)
from wrackline.schemas.redaction import Secret

SIGNATURE: Final = "X-Wrackline-Signature"
_VERSION: Final = 1
_LONGEST_SUMMARY: Final = 1_024  # PagerDuty's bound
_SEVERITIES: Final = {
    FAILED: "critical",
    UNSUPPORTED_DDL: "error",
    AT_RISK: "error",
    LETTERS: "warning",
    SLO: "error",
}
_MARKUP: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def as_json(notice: Notice) -> bytes:
    """Return it for a program."""
    told = {name: notice.error[name] for name in ("code", "sentence", "hint")}
    of = {"pipeline": notice.pipeline, "kind": notice.kind, "about": notice.about, "at_ms": notice.at_ms}
    return orjson.dumps({"version": _VERSION, **of, **told})


def as_slack(notice: Notice) -> bytes:
    """Return it for a channel of Slack; names and texts of others are no markup."""
    hint = "" if notice.kind == RECOVERED else f"\n{notice.error['hint']}"
    return orjson.dumps({"text": (_head(notice) + hint).translate(_MARKUP)})


def as_pagerduty(notice: Notice, routing_key: Secret, installation: str) -> tuple[bytes, str] | None:
    """Return it as an event, and the key of its incident; None: others of its kind still stand.

    `installation` is short, and differs where a pipeline of the same name is another one.
    """
    kind = notice.over if notice.kind == RECOVERED else notice.kind
    if not kind:
        return None
    incident = f"wrackline:{installation}:{notice.pipeline}:{kind}"
    event: dict[str, object] = {"routing_key": routing_key.reveal(), "dedup_key": incident}
    if notice.kind == RECOVERED:
        return orjson.dumps({**event, "event_action": "resolve"}), incident
    payload = {
        "summary": _head(notice)[:_LONGEST_SUMMARY],
        "source": notice.pipeline,
        "severity": _SEVERITIES[kind],
        "timestamp": datetime.fromtimestamp(notice.at_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        "component": notice.about,
        "class": kind,
        "custom_details": {name: notice.error[name] for name in ("code", "sentence", "hint")},
    }
    return orjson.dumps(
        {**event, "event_action": "trigger", "client": "Wrackline", "payload": payload}
    ), incident


def signature(secret: Secret | None) -> Callable[[bytes], Mapping[str, str]]:
    """Return what signs a body, so that its reader knows who sent it."""

    def sign(body: bytes) -> Mapping[str, str]:
        if secret is None:
            return {}
        return {SIGNATURE: f"sha256={hmac.digest(secret.reveal().encode(), body, 'sha256').hex()}"}

    return sign


def _head(notice: Notice) -> str:
    return f"{notice.pipeline}: {notice.kind}, {notice.about}: {notice.error['sentence']}"
