"""The form that asks for existing rows.  Pure.

In: the fields as a browser sends them.  Out: a signal, as the command line would send it, or why not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from wrackline.control.runtime.services.signalling import WantedRows, signal_body
from wrackline.schemas.kafka.signals import NOTHING_TO_DO, RejectedSignal, SignalReason


@dataclass(frozen=True, slots=True)
class RequestForm:
    """What stands in the form, and why it was refused."""

    tables: str = ""
    where: str = ""
    keys: str = ""
    first: str = ""
    last: str = ""
    refusal: SignalReason | None = None

    def wanted(self) -> WantedRows:
        """Return what it asks for."""
        return WantedRows(
            [one.strip() for one in re.split(r"[\n;]", self.tables) if one.strip()],
            self.where.strip() or None,
            [one.strip() for one in self.keys.splitlines() if one.strip()],
            self.first.strip() or None,
            self.last.strip() or None,
        )


def signal_of(form: RequestForm, request: str) -> bytes | RejectedSignal:
    """Return the signal to send, or why the task would refuse it, or would do nothing."""
    wanted = form.wanted()
    if not wanted.tables:
        nothing = NOTHING_TO_DO()
        return RejectedSignal(request, SignalReason(nothing.code, nothing.sentence, nothing.hint))
    return signal_body(request, "execute-snapshot", wanted.data())


def form_of(sent: Mapping[str, str]) -> RequestForm:
    """Return the form with what was sent."""
    tables, where, keys, first, last = (
        sent.get(name, "") for name in ("tables", "where", "keys", "first", "last")
    )
    return RequestForm(tables, where, keys, first, last)
