"""The runbooks of docs/runbooks as pages, so that an alert links to what to do, also where no clone is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

PATH = "/runbook"
_FOLDER = "docs/runbooks"  # of the repository


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
    for token in tokens:
        token.children = list(_linked(token.children, names)) if token.children else token.children
    title = text.partition("\n")[0].removeprefix("# ")
    return Runbook(title, Html(markdown.renderer.render(tokens, markdown.options, {})))


def anchor(heading: str) -> str:
    """The name of a heading in links, as other renderers of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _name_headings(tokens: list[Token]) -> None:
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", anchor(content.content))


def _linked(tokens: Iterable[Token], names: set[str]) -> Iterator[Token]:
    """Links to other runbooks lead to their pages. After one to another document stands its path: it is not here."""
    elsewhere = ""
    for token in tokens:
        if token.type == "link_open":
            document, hash_sign, place = str(token.attrs["href"]).partition("#")
            name = document.removesuffix(".md")
            if name in names:
                token.attrs["href"] = f"{PATH}/{name}{hash_sign}{place}"
            elif document:
                elsewhere = document if ":" in document else posixpath.normpath(f"{_FOLDER}/{document}")
                continue
        elif token.type == "link_close" and elsewhere:
            yield from (_text(" ("), Token("code_inline", "code", 0, content=elsewhere), _text(")"))
            elsewhere = ""
            continue
        yield token


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
