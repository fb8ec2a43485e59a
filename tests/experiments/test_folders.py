"""The name of a study is the name of a folder in `results/`; a path is refused."""

from pathlib import Path

import pytest
from conftest import SMALL, Command
from flitgym.configs.identity import study_folder
from flitgym.simcore import ConfigError


def test_a_study_that_is_a_path_is_refused(command: Command, tmp_path: Path) -> None:
    done = command("simulate", *SMALL, "study=../../outside")
    assert done.returncode == 2
    assert "study: '../../outside' is a path" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "..", "/a", "a\n"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="study: "):
        study_folder(_root_={"study": name})
    assert study_folder(_root_={"study": "größer v0.1_b"}) == "größer v0.1_b"
