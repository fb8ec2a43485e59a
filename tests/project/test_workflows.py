"""The workflows of the hosted CI agree with the files that they use."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Interpreters such as "cp311", in the order of pyproject.toml.
INTERPRETERS = [pattern.removesuffix("-*") for pattern in PYPROJECT["tool"]["cibuildwheel"]["build"].split()]


def jobs(name: str) -> dict[str, Any]:
    found = yaml.safe_load((FOLDER / name).read_text())["jobs"]
    assert found
    return found


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def actions(job: dict[str, Any]) -> list[str]:
    return [step["uses"].split("@")[0] for step in job["steps"] if "uses" in step]


def test_wheels_begin_at_the_oldest_supported_python():
    oldest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert INTERPRETERS[0] == "cp" + oldest.replace(".", "")
    assert len(INTERPRETERS) > 1


def test_the_workflows_run_the_local_checks():
    checks = jobs("ci.yml")["checks"]
    assert commands(checks) == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "actions/checkout" in actions(checks)


def test_each_supported_python_makes_a_wheel_on_every_push():
    wheel = jobs("ci.yml")["wheel"]
    versions = wheel["strategy"]["matrix"]["python"]
    assert ["cp" + version.replace(".", "") for version in versions] == INTERPRETERS
    assert commands(wheel) == ["make wheel"]
    assert re.search(r"^wheel:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_released_wheels_are_built_for_each_supported_python_and_kept():
    wheels = jobs("wheels.yml")["wheels"]
    assert wheels["strategy"]["matrix"]["python"] == INTERPRETERS
    build = next(step for step in wheels["steps"] if step.get("uses", "").startswith("pypa/cibuildwheel@"))
    assert build["env"]["CIBW_BUILD"] == "${{ matrix.python }}-*"
    assert actions(wheels)[-1] == "actions/upload-artifact"


@pytest.mark.parametrize("name", ["ci.yml", "wheels.yml"])
def test_actions_have_a_version_and_no_host_is_named(name: str):
    text = (FOLDER / name).read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert all(re.search(r"@v\d", action) for action in used)
    assert "://" not in text
