"""A folder for an artifact evaluation: the runs of a study, and a program that runs them again and compares."""

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from ...configs.policies import shipped_policy
from ...simcore import ConfigError
from ..report.again import simulate_again
from ..results.files import results_below
from ..results.rows import is_number, write_rows
from ..terminal.tables import write_csv

_SHIPPED = Path(shipped_policy("")).resolve().parent  # these policies need no copy
_FILES = ("path", "file", "demand", "trace_file", "load_q_table")  # keys with paths of input files
_CHANGING = ("_seconds", "_mb")  # ends of the names of numbers that differ between runs
_PICTURES = (".png", ".svg", ".pdf", ".html", ".md", ".tex")
_CHECK = '''\
"""Runs all commands of this folder again, and says whether the numbers are equal. Status 1: some differ."""

import json
import os
import sys
import warnings
from pathlib import Path

import flitgym

os.chdir(Path(__file__).parent)
warnings.simplefilter("ignore")
differing = 0
for run in json.loads(Path("runs.json").read_text()):
    found = flitgym.simulate(*run["words"], progress=False)
    pairs = [(key, found.get(key), value) for key, value in run["numbers"].items()]
    wrong = [f"{key}: {now} instead of {then}" for key, now, then in pairs if now != then]
    differing += bool(wrong)
    print(f"{'DIFFERENT' if wrong else 'equal'}: {run['name']}", *wrong, sep="\\n    ", flush=True)
print(f"{differing} runs differ" if differing else "all numbers are equal")
sys.exit(differing > 0)
'''


def write_artifact(directory: Path, out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the folder `out` for the runs of a study that the rows describe.

    Raises:
        ConfigError: `out` exists, or a run was made by a command other than `flitgym simulate`.
        OSError: a file cannot be read or written.
    """
    if out.exists():
        raise ConfigError(f"out: {out} exists; remove it, or name another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as temporary:
        _fill(directory, Path(temporary) / out.name, rows)
        (Path(temporary) / out.name).rename(out)


def _fill(directory: Path, out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    wanted = {row.get("config_hash") for row in rows}
    runs = []
    for result, where in results_below(directory)[0]:
        if result["config_hash"] in wanted:
            config = _with_copies(result["config"], out)
            simulated = {"run", "traffic"} <= set(config) and "state_hash" in result
            again = simulate_again(config) if simulated else None
            if again is None:
                raise ConfigError(f"{where}: no flitgym simulate command gives this run; leave it out by filter=...")
            numbers = {key: x for key, x in result.items() if is_number(x) and not key.endswith(_CHANGING)}
            numbers |= {"state_hash": result["state_hash"]}
            runs.append({"name": where.name, "words": shlex.split(again)[2:], "numbers": numbers})
            (out / "configs").mkdir(parents=True, exist_ok=True)
            (out / "configs" / f"{where.name}.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
            version = f"{result['version']} (results {result['results_version'] or 'of uncommitted files'})"
    commands = "".join(f"flitgym simulate {shlex.join(run['words'])}\n" for run in runs)
    (out / "commands.sh").write_text(commands)
    (out / "runs.json").write_text(json.dumps(runs, indent=1) + "\n")
    (out / "check.py").write_text(_CHECK)
    installed = sorted({f"{one.metadata['Name']}=={one.version}" for one in distributions()}, key=str.lower)
    (out / "versions.txt").write_text("\n".join(installed) + "\n")
    write_rows(out / "rows.parquet", rows)
    write_csv(out / "rows.csv", rows, list(dict.fromkeys(key for row in rows for key in row)))
    for picture in directory.iterdir():
        if picture.suffix in _PICTURES:
            shutil.copy2(picture, out)
    (out / "README.md").write_text(
        f"# Runs of {directory.resolve().name}\n\n{len(runs)} runs of flitgym {version}. `python check.py` runs all of "
        "them again and compares\ntheir numbers and final states. `configs` has the resolved configurations, "
        "`commands.sh` the commands, and\n`versions.txt` the installed packages.\n"
    )


def _with_copies(config: Any, out: Path, key: str = "") -> Any:
    """The configuration with copies of its input files in the folder `files`, whose names contain a hash."""
    if isinstance(config, Mapping):
        return {name: _with_copies(value, out, str(name)) for name, value in config.items()}
    if isinstance(config, list):
        return [_with_copies(value, out, key) for value in config]
    if key not in _FILES or not isinstance(config, str) or not config or not (path := Path(config).resolve()).exists():
        return config
    if path.is_relative_to(_SHIPPED):
        return config
    name = f"files/{sha256(str(path).encode()).hexdigest()[:6]}/{path.name}"
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, out / name, dirs_exist_ok=True)
    else:
        shutil.copy2(path, out / name)
    return name
