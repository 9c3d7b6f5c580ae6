"""Turns a chart into SVG text: without the network, small, with alternative text and colours for a dark screen."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import vl_convert

from flows.report import chart_style

_SVG = "http://www.w3.org/2000/svg"
_DROPPED = ("class", "role", "pointer-events", "version")  # attributes that draw nothing
_LONG = re.compile(r"\d+\.\d{3,}")  # a hundredth of a pixel is enough
_EMPTY = ("", "M0,0h0v0h0Z")


def drawn(name: str, chart: Any, alternative: str) -> str:
    """The SVG of an Altair chart; ``name`` makes its ids unique in a page. Data comes from the chart alone."""
    text = vl_convert.vegalite_to_svg(chart_style.configured(chart), allowed_base_urls=[])
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(text)  # noqa: S314  (our own converter wrote it)
    _remove_empty(root)
    for element in root.iter():
        _simplify(element, name)
    root.attrib |= {"role": "img", "aria-label": alternative}
    style = ElementTree.Element(f"{{{_SVG}}}style")
    style.text = chart_style.rules()
    root.insert(0, style)
    return ElementTree.tostring(root, encoding="unicode")


def _remove_empty(parent: ElementTree.Element) -> None:
    """Removes what draws nothing: empty paths, and groups that have only such children."""
    for child in list(parent):
        _remove_empty(child)
        is_path, is_group = child.tag == f"{{{_SVG}}}path", child.tag == f"{{{_SVG}}}g"
        if (is_path and (child.get("d") in _EMPTY or child.get("display") == "none")) or (is_group and not len(child)):
            parent.remove(child)


def _simplify(element: ElementTree.Element, name: str) -> None:
    for attribute, value in list(element.attrib.items()):
        if attribute in _DROPPED or attribute.startswith("aria-"):
            del element.attrib[attribute]
        elif attribute == "id":
            element.set("id", f"{name}-{value}")
        else:
            element.set(attribute, _LONG.sub(_rounded, value).replace("url(#", f"url(#{name}-"))


def _rounded(digits: re.Match[str]) -> str:
    return f"{float(digits[0]):.2f}"
