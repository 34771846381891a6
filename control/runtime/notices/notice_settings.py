"""A pipeline's settings of notices, as the notifier needs them."""

from typing import NamedTuple, Self

from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values


class NoticeSettings(NamedTuple):
    """Where notices go, and of what."""

    url: Secret  # often a secret itself, as Slack's are
    secret: Secret | None
    form: str
    wanted: frozenset[str]
    again_ms: int
    routing_key: Secret | None = None  # of pagerduty

    @classmethod
    def of(cls, values: Values) -> Self | None:
        """Read them; None: nobody is told."""
        if values.get("notify.url") is None:
            return None
        return cls(
            values.secret("notify.url"),
            None if values.get("notify.secret") is None else values.secret("notify.secret"),
            values.text("notify.form"),
            frozenset(values.listed("notify.on")),
            values.integer("notify.again.ms"),
            None if values.get("notify.routing.key") is None else values.secret("notify.routing.key"),
        )
