"""Draws what a terminal shows, for a page: `tmux capture-pane -e -p | python -m <this module> <title>`.

In: lines with the escape sequences of colours.  Out: an SVG.  It looks the same in every font, because each
run of words has a fixed width, and the lines of boxes are drawn.
"""

import re
import sys
from collections.abc import Iterator
from xml.sax.saxutils import escape

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.style import Style
from rich.text import Text

CELL, LINE, LEFT, TOP = 8.4, 18, 16, 38  # pixels; the first line is below the window's bar
_WORDS = re.compile(r"[^\s─│╭╮╰╯]+(?: [^\s─│╭╮╰╯]+)*")
_CORNERS = {  # and sides, from the middle of a cell
    "│": "m0-9v18",
    "╭": "m0 9v-4q0-5 5-5",
    "╮": "m0 9v-4q0-5-5-5",
    "╰": "m0-9v4q0 5 5 5",
    "╯": "m0-9v4q0 5-5 5",
}
_COLOURS = {1: "#ff7b72", 2: "#56d364", 3: "#e3b341", 5: "#d2a8ff", 6: "#56d4dd"}
_DIM = "#9198a1"
_PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img"
     font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3">
  <title>{title}</title>
  <rect x="0.5" y="0.5" width="{inner:.0f}" height="{below}" rx="8" fill="#0d1117" stroke="#656c76"/>
  <path d="M1 28h{inner:.0f}" stroke="#3d444d"/>
  <path d="M18 14.5h0m18 0h0m18 0h0" stroke="#656c76" stroke-width="10" stroke-linecap="round"/>
  <text x="{middle:.0f}" y="19" text-anchor="middle" fill="#9198a1">{title}</text>
  <path d="{boxes}" fill="none" stroke="#9198a1"/>
{words}
</svg>
"""


def draw_terminal(captured: str, title: str) -> str:
    """Return the picture of what `tmux capture-pane -e -p` printed."""
    texts = [*AnsiDecoder().decode(captured)]
    width = 2 * LEFT + CELL * max(text.cell_len for text in texts)
    height = TOP + LINE * len(texts) + 12
    return _PICTURE.format(
        title=escape(title),
        width=width,
        height=height,
        inner=width - 1,
        below=height - 1,
        middle=width / 2,
        boxes="".join(stroke for row, text in enumerate(texts) for stroke in _draw_boxes(row, text.plain)),
        words="\n".join(words for row, text in enumerate(texts) for words in _draw_words(row, text)),
    )


def _draw_boxes(row: int, line: str) -> Iterator[str]:
    for run in re.finditer("─+|[│╭╮╰╯]", line):
        x, y = LEFT + CELL * run.start(), TOP + LINE * row + LINE // 2
        if corner := _CORNERS.get(run[0]):
            yield f"M{x + CELL / 2:.1f} {y}{corner}"
        else:
            yield f"M{x:.1f} {y}h{CELL * len(run[0]):.1f}"


def _draw_words(row: int, line: Text) -> Iterator[str]:
    column = 0
    for part, style, _ in line.render(Console(color_system="standard")):
        for words in _WORDS.finditer(part):
            x, y = LEFT + CELL * (column + words.start()), TOP + LINE * row + 14
            wide = f'textLength="{CELL * len(words[0]):.1f}" lengthAdjust="spacingAndGlyphs"'
            yield f'  <text x="{x:.1f}" y="{y}" {wide}{_look_of(style)}>{escape(words[0])}</text>'
        column += len(part)


def _look_of(style: Style | None) -> str:
    if style is None:
        return ""
    fill = _DIM if style.dim else _COLOURS.get((style.color and style.color.number) or 0)
    return (' font-weight="700"' if style.bold else "") + (f' fill="{fill}"' if fill else "")


if __name__ == "__main__":
    sys.stdout.write(draw_terminal(sys.stdin.read().rstrip(), " ".join(sys.argv[1:])))
