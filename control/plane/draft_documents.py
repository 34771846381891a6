"""What drafts are answered with: CDAP's names of fields, and both where its text has two.  Pure.

In: stored drafts, and what a source or a check said.  Out: plain values.  Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wrackline.control.plane.draft_forms import FORMS, DraftForms
from wrackline.control.runtime.rest.model.drafts import NOT_DRAFT
from wrackline.schemas.kafka.draft_records import StoredDraft
from wrackline.schemas.redaction import shown_name

_SHOWN: Final = frozenset(  # of a draft that is sent back
    {"id", "tag", "created", "updated", "by", "form", "ignored"}
)


def sent_config(sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration in a body: under `config`, as the document has it."""
    config = sent.get("config")
    if not isinstance(config, dict):
        raise NOT_DRAFT(why="it has no object config")
    return config


def refuse_unknown(sent: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise for a field that nothing is known of."""
    if unknown := set(sent) - known - _SHOWN:
        raise NOT_DRAFT(why=f"nothing is known of {shown_name(min(unknown))}")


def draft(draft_id: str, stored: StoredDraft, form: str | None = None) -> dict[str, Any]:
    """Describe a draft; without a form, as it was sent."""
    one = stored.draft
    wanted = form or ("stages" if one.staged else "flat")
    if wanted not in FORMS:
        raise NOT_DRAFT(why=f"there is no form {shown_name(wanted)}: {', '.join(FORMS)}")
    forms = DraftForms.of(one.config, one.name)
    return {
        "id": draft_id,
        "tag": stored.tag,
        "name": one.name,
        "created": one.created_ms,
        "updated": one.updated_ms,
        "by": one.by,
        "form": wanted,
        "config": forms.shown(wanted),
        "ignored": ignored(forms),
    }


def ignored(forms: DraftForms) -> list[dict[str, Any]]:
    """Name the properties without effect."""
    return [
        {
            "property": each.place,
            "why": each.reason.why,
            "hint": each.reason.hint,
            "harmless": each.reason.harmless,
        }
        for each in forms.ignored
    ]


def table_page(tables: Sequence[Mapping[str, Any]], search: str, limit: int, after: int) -> dict[str, Any]:
    """Return a page of tables, and the number after which the next one begins; None: there is none."""
    wanted = search.casefold()
    found = [
        one for one in tables if wanted in f"{one['database']}.{one['schema']}.{one['table']}".casefold()
    ]
    end = after + limit
    return {
        "tables": [dict(one) for one in found[after:end]],
        "total": len(found),
        "next": end if end < len(found) else None,
    }


def assessment(found: Mapping[str, Any], more: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Describe an assessment: problems of the connection apart from those of features."""
    findings = [*found["findings"], *more]
    stops = any(one["severity"] == "ERROR" for one in more)
    connectivity = [one for one in findings if one["connects"] and one["severity"] != "INFO"]
    features = [one for one in findings if one not in connectivity]
    return {
        "ok": found["ok"] and not stops,
        "accepted": found["accepted"],
        "trials": found["trials"],
        "tables": found["tables"],
        "features": features,
        "featureProblems": features,
        "connectivity": connectivity,
        "connectivityProblems": connectivity,
        "findings": findings,
        "forecast": found["forecast"] or {},
    }
