"""The hosted CI runs all checks of the project."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_workflow_runs_both_targets_of_checks() -> None:
    checks = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["checks"]
    assert [step["run"] for step in checks["steps"] if "run" in step] == [".ci/run"]
    made = [line.split()[:2] for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make")]
    assert made == [["make", "test"], ["make", "test-deep"]]
