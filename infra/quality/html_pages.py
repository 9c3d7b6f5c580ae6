"""Makes the pages of Great Expectations plain: nothing of the web, from which theirs take styles and scripts."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_STYLE = """<style>
body { font-family: sans-serif; margin: 1em; }
table { border-collapse: collapse; }
td, th { border: 1px solid #bbb; padding: .3em .6em; text-align: left; vertical-align: top; }
.row { display: flex; gap: 1em; } .alert { background: #eee; padding: .6em; }
.d-none, .collapse, .modal, .sticky, .navbar .btn, a[data-toggle] { display: none; }
.breadcrumb { display: flex; gap: 1em; list-style: none; padding: 0; }
.fas { font-style: normal; font-weight: bold; }
.fa-check-circle::before { content: "held "; color: #176f2c; }
.fa-times::before { content: "failed "; color: #b00020; }
.fa-exclamation-triangle::before { content: "crashed "; color: #b00020; }
</style>
"""
# What would be fetched from other servers, what needs it, and an invitation to a newsletter.
_REMOTE = re.compile(
    r"<script\b.*?</script>|<style\b.*?</style>|<link\b[^>]*>|<img\b[^>]*>|<footer\b.*?</footer>", re.DOTALL
)


@dataclass(frozen=True)
class Page:
    """One suite on the first page: its name, how many questions it has, and the names of those that failed."""

    name: str
    questions: int
    failed: tuple[str, ...]


def finish(folder: Path, title: str, pages: Sequence[Page]) -> Path:
    """Gives every page plain styles and nothing that is not in it, and writes the first page."""
    for path in folder.rglob("*.html"):
        text = _REMOTE.sub("", path.read_text("utf-8"))
        path.write_text(text.replace("<head>", f"<head>\n{_STYLE}", 1), "utf-8")
    shutil.rmtree(folder / "static", ignore_errors=True)
    rows = "\n".join(_row(folder, page) for page in pages)
    head = f'<html><head><meta charset="UTF-8"><title>{html.escape(title)}</title>\n{_STYLE}</head>'
    columns = "<tr><th>view</th><th>checks</th><th>failed</th></tr>"
    first = folder / "index.html"
    body = f"<h1>{html.escape(title)}</h1><table>{columns}\n{rows}\n</table>"
    first.write_text(f"{head}<body>{body}</body></html>", "utf-8")
    return first


def _row(folder: Path, page: Page) -> str:
    found = sorted((folder / "validations" / page.name).rglob("*.html"))
    link = found[-1].relative_to(folder).as_posix() if found else ""
    name = f'<a href="{html.escape(link)}">{html.escape(page.name)}</a>' if found else html.escape(page.name)
    return f"<tr><td>{name}</td><td>{page.questions}</td><td>{html.escape(', '.join(page.failed)) or 'none'}</td></tr>"
