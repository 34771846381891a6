"""Settings of notices: where they are posted, of what, and how often again."""

from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    at_least,
    each,
    http_address,
    not_empty,
    one_of,
)

_GROUP = "Notices"
_FORMS = ("json", "slack", "pagerduty")
_KINDS = ("failed", "unsupported_ddl", "at_risk", "letters", "slo", "recovered")

NOTIFY = (
    Setting(
        "notify.url",
        SettingKind.PASSWORD,
        "Where a worker posts a notice when the pipeline's state changes; without it nobody is told. It is"
        " shown as stars, because such an address often is a secret. Redirects are not followed.",
        None,
        Importance.MEDIUM,
        _GROUP,
        validator=http_address("an http:// or https:// address without a login"),
        host=True,
    ),
    Setting(
        "notify.secret",
        SettingKind.PASSWORD,
        "Signs each notice: the header X-Wrackline-Signature is sha256= and the body's HMAC-SHA256 in hex.",
        None,
        Importance.LOW,
        _GROUP,
        validator=not_empty,
    ),
    Setting(
        "notify.on",
        SettingKind.LIST,
        "The changes that are noticed. failed: a half or a database has failed, a half says nothing, or a"
        " table has stopped."
        " unsupported_ddl: a table has stopped because of its new shape. at_risk: the log may be lost within"
        " a day. letters: records were set aside. slo: a table had more bad minutes than slo.percent allows."
        " recovered: one of these is over.",
        ",".join(_KINDS),
        Importance.LOW,
        _GROUP,
        validator=each(one_of(*_KINDS)),
        recommended=_KINDS,
    ),
    Setting(
        "notify.again.ms",
        SettingKind.LONG,
        "How often a notice is repeated while its reason stands.",
        "14400000",
        Importance.LOW,
        _GROUP,
        validator=at_least(1_000),
    ),
    Setting(
        "notify.form",
        SettingKind.STRING,
        "What is posted: json for programs, slack for a channel's webhook, pagerduty for PagerDuty's Events"
        " API v2, https://events.pagerduty.com/v2/enqueue.",
        "json",
        Importance.LOW,
        _GROUP,
        validator=one_of(*_FORMS),
        recommended=_FORMS,
    ),
    Setting(
        "notify.routing.key",
        SettingKind.PASSWORD,
        "The integration key of PagerDuty's service, of notify.form = pagerduty.",
        None,
        Importance.LOW,
        _GROUP,
        validator=not_empty,
    ),
)
NOTIFY_NEEDS = (
    Requirement("notify.secret", "notify.url"),
    Requirement("notify.form", "notify.routing.key", when=("pagerduty",)),
)
