"""Settings of OpenLineage events: where they go, and in which namespace the jobs are."""

from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import SettingKind, http_address, matching, not_empty

GROUP = "Lineage"

LINEAGE = (
    Setting(
        "lineage.url",
        SettingKind.STRING,
        "Where OpenLineage events are posted, such as http://marquez:5000/api/v1/lineage; without it and"
        " without lineage.file none are sent. Redirects are not followed.",
        None,
        Importance.LOW,
        GROUP,
        validator=http_address("an http:// or https:// address; a login goes into lineage.api.key"),
        host=True,
    ),
    Setting(
        "lineage.file",
        SettingKind.STRING,
        "The file to which OpenLineage events are appended, one per line, instead of lineage.url. It must"
        " be in one of secrets.allow.folders; in a group of workers, in one of the group's"
        " lineage.allow.folders.",
        None,
        Importance.LOW,
        GROUP,
        validator=not_empty,
        file=True,
        written=True,
    ),
    Setting(
        "lineage.api.key",
        SettingKind.PASSWORD,
        "Sent to lineage.url as a bearer token.",
        None,
        Importance.LOW,
        GROUP,
        validator=not_empty,
    ),
    Setting(
        "lineage.namespace",
        SettingKind.STRING,
        "The namespace of the jobs, which are named <name>.run and <name>.consume.",
        "wrackline",
        Importance.LOW,
        GROUP,
        validator=matching(r"[^\s\x00-\x1f]{1,200}", "1 to 200 characters without a space"),
    ),
)
LINEAGE_EXCLUSIVE = ("lineage.url", "lineage.file")
LINEAGE_NEEDS = (Requirement("lineage.api.key", "lineage.url"),)
