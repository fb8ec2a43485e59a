"""A simulation needs no package of an extra, neither to run nor to draw, and `make` installs only what it needs."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Import names that differ from those of the packages.
IMPORTED_AS = {"stable-baselines3": "stable_baselines3"}

# Packages that are missing: importing one raises ImportError.
WITHOUT = "import sys; sys.modules.update(dict.fromkeys({missing!r})); "


def packages(requirements: list[str]) -> Iterator[str]:
    """Names of required packages without versions. Extras of flitgym are expanded."""
    for requirement in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
        if name == "flitgym":
            for extra in extras.split(","):
                yield from packages(PROJECT["optional-dependencies"][extra])
        else:
            yield name


OF_EXTRAS = sorted({name for extra in PROJECT["optional-dependencies"].values() for name in packages(extra)})


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "topology=dragonfly_72", "routing=dqn_dragonfly", "run.warmup_ns=500", "run.measure_ns=500"],
        ["reproduce", "--help"],
        ["evaluate", "--help"],
        ["benchmark", "--help"],
    ],
    ids=lambda words: words[0],
)
def test_commands_run_without_any_extra(words: list[str], tmp_path: Path) -> None:
    missing = [IMPORTED_AS.get(name, name) for name in OF_EXTRAS]
    assert {"torch", "ray", "wandb", "pytest"} <= set(missing)
    code = WITHOUT.format(missing=missing) + (
        f"sys.argv = {['flitgym', *words]!r}; from flitgym.experiments.entry import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_package_is_pinned() -> None:
    pins = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    wanted = {*packages(PROJECT["dependencies"]), *OF_EXTRAS}
    assert {name.lower() for name in wanted} <= pins
