"""Print every generated page of docs/ anew: `./run pages`."""

from pathlib import Path

from wrackline.control.installed import registries
from wrackline.control.pages import errors_page, metrics_page, openapi_page, settings_page, types_page

DOCS = Path("docs")


def main() -> None:
    """Write the pages."""
    pages = {
        "errors.md": errors_page.of_everything(),
        "metrics.md": metrics_page.page(),
        "settings.md": settings_page.page(registries()),
        "types.md": types_page.page(),
        "openapi.json": openapi_page.page(),
    }
    for name, text in pages.items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
