"""Links from docs/ to files and folders of the repository.

The pages have relative paths, which work in any file browser. On the built pages the links lead to
`flitgym_source_url`. Without this setting they lead to the checkout of the build.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)


class RepositoryLinks(SphinxTransform):
    """Replaces every link to a target outside the pages by a plain reference."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        """Replace MyST's unresolved links to files and folders outside the pages."""
        docs = Path(self.env.srcdir).resolve()
        page = Path(self.env.doc2path(self.env.docname)).resolve()
        left = (addnodes.download_reference, addnodes.pending_xref)
        for node in [node for kind in left for node in self.document.findall(kind)]:
            target, _, anchor = str(node.get("reftarget", "")).partition("#")
            if not target or "://" in target:
                continue
            # The target is relative to the page or, for downloads, to docs/.
            candidates = [page.parent / target, docs / target.lstrip("/")]
            path = next((c.resolve() for c in candidates if c.exists()), None)
            if path is None or (path.suffix == ".md" and path.is_relative_to(docs)):
                continue
            address = self._address(path, docs.parent) + (f"#{anchor}" if anchor else "")
            node.replace_self(nodes.reference("", "", *node.children, refuri=address))

    def _address(self, path: Path, root: Path) -> str:
        if not path.is_relative_to(root):
            logger.warning("%s is outside the repository", path)
        within = path.relative_to(root).as_posix()
        if base := self.config.flitgym_source_url:
            return f"{base.rstrip('/')}/{within}"
        built = Path(self.app.outdir).resolve() / self.app.builder.get_target_uri(self.env.docname)
        return Path(os.path.relpath(path, built.parent)).as_posix()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and its setting."""
    app.add_config_value("flitgym_source_url", "", "html", str)
    app.add_transform(RepositoryLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
