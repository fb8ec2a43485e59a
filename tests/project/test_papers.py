"""The metadata files at the top of the repository agree with each other."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONTENT["project"]


def test_license_and_version_are_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")
    changed = re.search(rf"^## \[{re.escape(PROJECT['version'])}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert changed is not None
    assert changed[1] in ("unreleased", str(citation["date-released"]))


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text())
    run = [line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]]
    assert run == [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert set(CONTENT["build-system"]["requires"]) <= {
        line.replace(" ", "") for line in recipe["requirements"]["host"]
    }
    assert recipe["package"]["version"] == PROJECT["version"]
