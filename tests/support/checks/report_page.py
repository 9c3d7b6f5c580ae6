"""The page of a report, parsed: what it shows, links to and loads, and where it is not well formed."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


class ReportPage(HTMLParser):
    """A page as a browser sees it: ids, links, tables by the id of their article, what is loaded, what is unclosed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.images: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}  # id -> class and text of each cell
        self.styles: list[str] = []
        self._row = ""
        self.feed(text)
        self.mistakes += self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if tag == "a" else []
        self.loads += [f"{tag} {name}" for name, value in attrs if name in ("src", "srcset", "data", "xlink:href")]
        self.loads += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        self.loads += [tag] if tag in ("script", "link", "iframe", "img", "object", "embed", "image", "use") else []
        if tag == "svg":
            self.images.append(values.get("aria-label") or "")
        if tag == "tr":
            self._row = values.get("id") or ""
            self.rows.setdefault(self._row, [])
        if tag in ("td", "th"):
            self.rows[self._row].append([values.get("class") or "", ""])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        if "tr" in self.open and self.rows[self._row]:
            self.rows[self._row][-1][1] += data.strip("\n")
