"""Sphinx configuration of these pages: `make docs` builds them into build/docs, and a warning ends the build."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "flitgym"
version = release = installed("flitgym")
html_title = f"flitgym {version}"

extensions = [
    "myst_parser",  # pages are Markdown, so they are also readable in a file browser
    "myst_nb",  # notebooks have no outputs in the repository; they run when the pages are built
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",  # docstrings are in Google's style
    "sphinx_copybutton",
    "plain_docstrings",
    "plain_signatures",
    "repository_links",
]
source_suffix = {".md": "markdown", ".ipynb": "myst-nb"}
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
exclude_patterns = ["**/examples/**", "examples/**", "**/README.md", "_ext/**"]
highlight_language = "none"  # for blocks without a language
default_role = "code"  # single backticks in docstrings are code

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# These large packages of extras are not needed to build the pages.
autodoc_mock_imports = ["torch", "ray", "pettingzoo", "stable_baselines3", "sb3_contrib", "tensorboard"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "NDArray": "NDArray"}
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False

# The copy button leaves out prompts and printed lines.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["flitgym.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
