"""A report as a browser parses it: balanced elements, and the content of each."""

import json
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "link", "input", "img", "br"}


class Page(HTMLParser):
    """The sections, links and scripts of a page, and the rows of its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.open, self._matrix = text, list[str](), list[float]()
        self.ids, self.sections, self.links, self.fetched = list[str](), list[str](), list[str](), list[str]()
        self.rows, self.images, self.scripts = list[dict[str, str]](), list[str](), list[str]()
        self.matrix: dict[str, list[float]] = {}  # the values of a heat map by routing
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in pairs}
        if tag not in _VOID:
            self.open.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        if tag == "section":
            self.sections.append(given["id"])
        for key in ("src", "href", "data", "srcset", "action", "poster"):
            if given.get(key, "").startswith("#"):
                self.links.append(given[key][1:])
            elif key in given and not given[key].startswith("data:"):
                self.fetched.append(given[key])
        if "data-run" in given:
            self.rows.append({"run": given["data-run"]})
        if tag == "td" and "data-key" in given:
            self.rows[-1][given["data-key"]] = given["data-value"]
        if "data-matrix" in given:
            self._matrix = self.matrix[given["data-routing"]] = []
        elif tag == "td" and "data-value" in given and "data-key" not in given:
            self._matrix.append(float(given["data-value"]))
        if tag == "img":
            self.images.append(given["src"])

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(text)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def data(self) -> Any:
        """The data of the scripts."""
        return next(json.loads(script) for script in self.scripts if script.startswith("{"))
