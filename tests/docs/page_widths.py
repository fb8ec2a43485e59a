"""Measures built pages in a headless Chromium: finds pages and tables that are too wide."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Loads every page in a frame of the given width. The theme wraps tables in `.table-wrapper`.
_HARNESS = """<!doctype html><body><script>
const pages = PAGES, found = [];
(async () => {
  for (const page of pages) {
    const frame = document.createElement("iframe");
    frame.width = WIDTH; frame.height = 900; frame.src = page;
    const loaded = new Promise(done => frame.onload = done);
    document.body.append(frame);
    await loaded;
    const inside = frame.contentDocument, root = inside.documentElement;
    const tables = [...inside.querySelectorAll(".table-wrapper")];
    const wide = tables.filter(box => box.scrollWidth > box.clientWidth + 1);
    found.push({page, over: root.scrollWidth - root.clientWidth, tables: tables.length,
                wide: wide.map(box => box.innerText.slice(0, 60))});
    frame.remove();
  }
  document.body.textContent = "";
  const text = document.createElement("pre");
  text.id = "found"; text.textContent = JSON.stringify(found);
  document.body.append(text);
})();
</script></body>"""


def chromium() -> str | None:
    """The path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def measure(folder: Path, pages: Sequence[str], width: int, program: str) -> list[dict[str, object]]:
    """How wide pages and their tables are.

    Args:
        folder: of the built pages.
        pages: their paths below it.
        width: of the window, in px.
        program: Chromium.

    Returns:
        Per page `page`, `over` (px by which it is wider than the window), `tables` and `wide`, the beginnings of the
        tables that do not fit.
    """
    harness = folder / f"widths_{width}.html"
    harness.write_text(_HARNESS.replace("PAGES", json.dumps(list(pages))).replace("WIDTH", str(width)))
    try:
        done = subprocess.run(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             "--virtual-time-budget=120000", f"--window-size={width + 100},1000", "--dump-dom", harness.as_uri()],
            capture_output=True, text=True, timeout=240, check=True,
        )  # fmt: skip
    finally:
        harness.unlink()
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert text, done.stdout[-500:] + done.stderr[-500:]
    found: list[dict[str, object]] = json.loads(
        text[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ")
    )
    return found
