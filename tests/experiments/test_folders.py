"""The name of a study is the name of a folder in `results/`; a path is refused."""

from pathlib import Path

import pytest
from conftest import SMALL, Command
from flitgym.configs.identity import study_folder
from flitgym.simcore import ConfigError

COMMANDS = {
    "simulate": [*SMALL],
    "train": ["rounds=1", "track.to=none", "evaluation.every=0"],
    "evaluate": ["routing=minimal", "traffic=uniform", "traffic.load=0.1", "seed=1"],
    "route": ["topology=dragonfly_72", "patterns=0"],
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_study_that_is_a_path_is_refused(command: Command, tmp_path: Path, verb: str) -> None:
    above = sorted(tmp_path.parent.iterdir())
    done = command(*verb.split(), *COMMANDS[verb], "study=../../outside")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "study: '../../outside' is a path" in line
    assert "study=outside" in line
    assert sorted(tmp_path.parent.iterdir()) == above
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "..", "/a", "a\n"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="study: "):
        study_folder(_root_={"study": name})
    assert study_folder(_root_={"study": "größer v0.1_b"}) == "größer v0.1_b"
