"""A virtual environment with flitgym as in a wheel, made without a compiler.

Compiled files come from the environment of the tests, and the others from this checkout; or all come from the wheel in
FLITGYM_WHEEL. The dependencies are those of the environment of the tests.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import flitgym.simcore

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "extending" / "example_plugin"


class Environment:
    """A new virtual environment with flitgym at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        venv.create(path / "venv", symlinks=True)
        self.bin = path / "venv" / "bin"
        self.packages = Path(self.ask("import sysconfig; print(sysconfig.get_path('purelib'))"))
        wheel = os.environ.get("FLITGYM_WHEEL")
        if wheel:
            self.pip(wheel)
        else:
            self._copy()
        # Last, so that packages of the new environment come first.
        others = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        (self.packages / "dependencies.pth").write_text("\n".join(others) + "\n")

    def _copy(self) -> None:
        compiled = Path(flitgym.simcore._core.__file__).parents[1]
        shutil.copytree(compiled, self.packages / "flitgym", ignore=shutil.ignore_patterns("__pycache__"))
        build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]
        for package, folder in build["packages"].items():
            left_out = {
                Path(word.removesuffix("/**")).name for word in build["exclude"] if word.startswith(f"{package}/")
            }
            shutil.copytree(
                ROOT / folder,
                self.packages / package,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__", *left_out),
            )

    def pip(self, *words: str) -> None:
        """Install a package without network access."""
        command = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install", "--quiet"]
        self.checked([*command, "--no-deps", "--no-index", "--no-build-isolation", *words])

    def run(self, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the folder of this environment, with the environment on the path."""
        environment = {
            k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "HYDRA_FULL_ERROR", "FLITGYM_PLUGINS")
        }
        return subprocess.run(
            command,
            cwd=self.path,
            env={**environment, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def checked(self, command: list[str], **variables: str) -> str:
        """The output of a command that must succeed."""
        done = self.run(*command, **variables)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, code: str, **variables: str) -> str:
        """The output of a Python program."""
        return self.checked([str(self.bin / "python"), "-c", code], **variables).strip()

    def flitgym(self, command: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """`flitgym <command> <arguments>`."""
        return self.run(str(self.bin / "python"), "-m", "flitgym", command, *arguments, **variables)
