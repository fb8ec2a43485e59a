"""The conda recipe states what pyproject.toml states, and every package is tried by the same command."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def conda(requirements: list[str]) -> set[str]:
    """The requirements of pip as those of conda-forge: `matplotlib>=3.8` becomes `matplotlib-base >=3.8`."""
    return {requirement.replace("matplotlib", "matplotlib-base").replace(">=", " >=") for requirement in requirements}


def test_the_recipe_agrees_with_pyproject() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/recipe.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    about, tools = project["project"], project["tool"]
    needs = recipe["requirements"]
    assert set(needs["run"]) == conda([*about["dependencies"], f"python{about['requires-python']}"])
    assert set(needs["host"]) == {"python", "pip"} | conda(project["build-system"]["requires"])
    assert f"cmake {tools['scikit-build']['cmake']['version']}" in needs["build"]
    assert recipe["package"] == {key: about[key] for key in ("name", "version")}
    assert recipe["about"]["license"] == about["license"]
    assert [recipe["about"]["license_file"]] == about["license-files"]
    assert (ROOT / "packaging" / recipe["source"]["path"] / "pyproject.toml").samefile(ROOT / "pyproject.toml")
    (tried,) = (line for test in recipe["tests"] for line in test["script"])
    assert tried == tools["cibuildwheel"]["test-command"]
    assert tried in " ".join((ROOT / "Makefile").read_text().replace("\\\n", " ").split())
