"""The conda recipe has the dependencies of pyproject.toml."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, recipe = content["project"], yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text())
    run = [line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]]
    assert run == [f"python{project['requires-python']}", *project["dependencies"]]
    host = {line.replace(" ", "") for line in recipe["requirements"]["host"]}
    assert set(content["build-system"]["requires"]) <= host
    assert recipe["package"]["version"] == project["version"]
