"""`import flitgym`: light, complete and typed."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import flitgym
import pytest


def loaded(code: str) -> set[str]:
    """The modules that a fresh Python has loaded after it ran `code`."""
    code += "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


def test_importing_flitgym_loads_no_other_package() -> None:
    new = {name.partition(".")[0] for name in loaded("import flitgym") - loaded("pass")}
    assert new <= {"flitgym", "importlib", "typing", "collections", "re", "functools", "warnings", "json"} | set(
        sys.stdlib_module_names
    )
    own = {name for name in loaded("import flitgym") if name.startswith("flitgym")}
    assert own == {"flitgym"}


def test_the_version_does_not_import_the_core() -> None:
    assert flitgym.__version__ == version("flitgym")
    assert "flitgym.simcore" not in loaded("import flitgym; flitgym.__version__; dir(flitgym)")


def test_every_public_name_exists_and_is_listed() -> None:
    for name in flitgym.__all__:
        assert getattr(flitgym, name) is not None
        assert name in dir(flitgym)
    for part in ("simcore", "env", "agents", "configs"):
        assert getattr(flitgym, part).__name__ == f"flitgym.{part}"
    assert flitgym.ConfigError is flitgym.simcore.ConfigError
    with pytest.raises(AttributeError, match=r"no attribute 'simulat'; it has CommandError.*simulate"):
        flitgym.simulat  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_has_a_typing_marker() -> None:
    assert any((Path(folder) / "py.typed").exists() for folder in flitgym.__path__)
