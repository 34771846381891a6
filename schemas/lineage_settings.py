"""Settings of OpenLineage events: where they go, and in which namespace the jobs are."""

from wrackline.schemas.setting import Importance, Need, Setting
from wrackline.schemas.setting_kinds import Kind, matching, not_empty

GROUP = "Lineage"

LINEAGE = (
    Setting(
        "lineage.url",
        Kind.STRING,
        "Where OpenLineage events are posted, as http://marquez:5000/api/v1/lineage; without it and without"
        " lineage.file there are none. An answer that sends on elsewhere is not followed.",
        None,
        Importance.LOW,
        GROUP,
        validator=matching(
            r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?(?:/[!-\"$-?A-~]*)?",
            "an http:// or https:// address; a log-in stands in lineage.api.key",
        ),
    ),
    Setting(
        "lineage.file",
        Kind.STRING,
        "The file to which OpenLineage events are appended, one a line, instead of lineage.url. It lies in"
        " one of secrets.allow.folders.",
        None,
        Importance.LOW,
        GROUP,
        validator=not_empty,
        file=True,
    ),
    Setting(
        "lineage.api.key",
        Kind.PASSWORD,
        "Sent to lineage.url as a bearer token.",
        None,
        Importance.LOW,
        GROUP,
        validator=not_empty,
    ),
    Setting(
        "lineage.namespace",
        Kind.STRING,
        "The namespace of the jobs, which are named <name>.run and <name>.consume.",
        "wrackline",
        Importance.LOW,
        GROUP,
        validator=matching(r"[^\s\x00-\x1f]{1,200}", "1 to 200 characters without a blank"),
    ),
)
LINEAGE_EXCLUSIVE = ("lineage.url", "lineage.file")
LINEAGE_NEEDS = (Need("lineage.api.key", "lineage.url"),)
