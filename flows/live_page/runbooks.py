"""The runbooks of docs/runbooks as pages, so that an alert links to what to do, also where no clone is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

PATH = "/runbook"


class Html(str):
    """HTML that a template takes as it is. Its maker has escaped every text."""

    def __html__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Runbook:
    """A page: its title, and its content as HTML in which no text is markup."""

    title: str
    html: Html


def runbook(folder: Path, name: str) -> Runbook | None:
    """The runbook of a name such as ``lag-grows``; None if there is none."""
    names = {path.stem for path in folder.glob("*.md")}
    if name not in names:
        return None
    text = (folder / f"{name}.md").read_text("utf-8")
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    _name_headings(tokens)
    _link_runbooks(tokens, names)
    title = text.partition("\n")[0].removeprefix("# ")
    return Runbook(title, Html(markdown.renderer.render(tokens, markdown.options, {})))


def anchor(heading: str) -> str:
    """The name of a heading in links, as other renderers of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _name_headings(tokens: list[Token]) -> None:
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", anchor(content.content))


def _link_runbooks(tokens: Iterable[Token], names: set[str]) -> None:
    """Links to other runbooks lead to their pages. A link to another document has no target: it is not here."""
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                document, hash_sign, place = str(child.attrs["href"]).partition("#")
                name = document.removesuffix(".md")
                if name in names:
                    child.attrs["href"] = f"{PATH}/{name}{hash_sign}{place}"
                elif document:
                    child.attrs = {"title": f"docs/runbooks/{document}"}
