"""Import paths of earlier versions lead to the same modules, with a warning that names the new path."""

import subprocess
import sys
from importlib import import_module

import pytest
from flitgym.moved import MOVED


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_path_is_another_name_of_the_new_module(old: str) -> None:
    pytest.importorskip("torch")
    if ".rllib_" in old:
        pytest.importorskip("ray")
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        module = import_module(old)
    assert module is import_module(MOVED[old])
    assert module.__spec__.name == module.__name__ == MOVED[old]


@pytest.mark.parametrize(
    "code",
    [
        "from flitgym.experience.world import World; from flitgym.experience import Ring",
        "import flitgym; World, Ring = flitgym.experience.World, flitgym.experience.Ring",
    ],
)
def test_common_imports_of_old_paths_work(code: str) -> None:
    check = "import flitgym.env.experience as new; assert new.World is World and new.Ring is Ring"
    words = [sys.executable, "-W", "always", "-c", f"{code}\n{check}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("DeprecationWarning") == 1
