"""Print every generated page of docs/ again: `./run pages`."""

from pathlib import Path

from wrackline.control.pages import (
    errors_page,
    metrics_page,
    openapi_page,
    settings_page,
    stages_section,
    types_page,
)
from wrackline.control.runtime.ground.installed import registries

DOCS = Path("docs")
CODES = Path("control/console/errors/error_codes.jsonl")


def main() -> None:
    """Write the pages."""
    pages = {
        "errors.md": errors_page.of_everything(),
        "metrics.md": metrics_page.page(),
        "settings.md": settings_page.page(registries()),
        "types.md": types_page.page(),
        "openapi.json": openapi_page.page(),
        "snapshots.md": stages_section.in_page((DOCS / "snapshots.md").read_text(encoding="utf-8")),
    }
    CODES.write_text(errors_page.code_lines(), encoding="utf-8")
    for name, text in pages.items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
