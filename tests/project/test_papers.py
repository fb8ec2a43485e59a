"""The metadata files at the top of the repository agree with each other."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))


def test_hooks_run_the_pinned_releases():
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in repo["hooks"]
    ]
    pins = [pin.split("==") for hook in hooks for pin in hook["additional_dependencies"]]
    assert {name for name, _ in pins} >= {"ruff", "clang-format"}
    for name, release in pins:
        assert CONSTRAINTS.get(name, release) == release, name
    assert f"clang-format=={CONSTRAINTS['clang-format']}" in PROJECT["optional-dependencies"]["dev"]


def test_every_c_plus_plus_file_is_formatted_by_its_hook():
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in repo["hooks"]
    ]
    (pattern,) = (hook["files"] for hook in hooks if hook["id"] == "clang-format")
    files = [
        path for folder in ("simcore", "docs") for kind in ("cpp", "hpp") for path in (ROOT / folder).rglob(f"*.{kind}")
    ]
    missed = [str(path) for path in files if not re.match(pattern, path.relative_to(ROOT).as_posix())]
    assert len(files) > 300
    assert not missed


def test_license_and_version_are_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")
    changed = re.search(rf"^## \[{re.escape(PROJECT['version'])}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert changed is not None
    assert changed[1] in ("unreleased", str(citation["date-released"]))
