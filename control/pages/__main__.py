"""Print every generated page of docs/ anew: `./run pages`."""

from pathlib import Path

from wrackline.control.installed import registries
from wrackline.control.pages import errors_page, metrics_page, settings_page, types_page

DOCS = Path("docs")


def main() -> None:
    """Write the pages."""
    pages = {
        "errors": errors_page.of_everything(),
        "metrics": metrics_page.page(),
        "settings": settings_page.page(registries()),
        "types": types_page.page(),
    }
    for name, text in pages.items():
        (DOCS / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
