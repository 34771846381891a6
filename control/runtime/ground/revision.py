"""Which commit this program was made from, as far as it can be known.

In: the file that a build puts into a package (setup.py), or the clone that this runs from.  Out: a commit's
name, or `unknown`, as Kafka Connect reports it.
"""

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from wrackline.schemas import versions

UNKNOWN: Final = "unknown"
BUILT: Final = "COMMIT"
_PATIENCE: Final = 5.0


@cache
def commit() -> str:
    """Return the commit."""
    folder = Path(versions.__file__).resolve().parent
    built = folder / BUILT
    if built.is_file():
        return built.read_text().strip() or UNKNOWN
    if not (folder.parent / ".git").exists():
        return UNKNOWN
    asked = ["git", "-C", str(folder.parent), "rev-parse", "HEAD"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return said.stdout.strip()
