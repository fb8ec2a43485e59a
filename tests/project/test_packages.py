"""The conda recipe and the other metadata files state what pyproject.toml states."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONTENT["project"]


def conda(requirements: list[str]) -> set[str]:
    """The requirements of pip as those of conda-forge: `matplotlib>=3.8` becomes `matplotlib-base >=3.8`."""
    return {requirement.replace("matplotlib", "matplotlib-base").replace(">=", " >=") for requirement in requirements}


def test_the_recipe_agrees_with_pyproject() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/recipe.yaml").read_text())
    needs, tools = recipe["requirements"], CONTENT["tool"]
    assert set(needs["run"]) == conda([*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"])
    assert set(needs["host"]) == {"python", "pip"} | conda(CONTENT["build-system"]["requires"])
    assert f"cmake {tools['scikit-build']['cmake']['version']}" in needs["build"]
    assert recipe["package"] == {key: PROJECT[key] for key in ("name", "version")}
    assert recipe["about"]["license"] == PROJECT["license"]
    assert [recipe["about"]["license_file"]] == PROJECT["license-files"]
    assert (ROOT / "packaging" / recipe["source"]["path"] / "pyproject.toml").samefile(ROOT / "pyproject.toml")
    (tried,) = (line for test in recipe["tests"] for line in test["script"])
    assert tried == tools["cibuildwheel"]["test-command"]
    assert tried in " ".join((ROOT / "Makefile").read_text().replace("\\\n", " ").split())


def test_license_and_version_are_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")
    changed = re.search(rf"^## \[{re.escape(PROJECT['version'])}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert changed is not None
    assert changed[1] in ("unreleased", str(citation["date-released"]))
