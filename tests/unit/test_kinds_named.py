"""A text for people that lists sources or targets lists all that are installed with the product."""

import re
from pathlib import Path

from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.settings.declared.core_settings import CORE

WORDS = Path(__file__).parents[2] / "control" / "console" / "templates" / "draft_parts.html"


def test_the_setting_names_all_kinds_of_sources() -> None:
    listed = re.search(r"\((.+?)\)", next(one.doc for one in CORE.settings if one.name == "connector.class"))
    assert listed is not None
    assert set(listed[1].split(", ")) == set(Installed().kinds("source"))


def test_the_console_has_a_word_for_each_kind() -> None:
    words = set(re.findall(r'"(\w+)": "', WORDS.read_text().splitlines()[0]))
    kinds = {*Installed().kinds("source"), *Installed().kinds("target")}
    assert kinds == words, "the macro kind_word"
