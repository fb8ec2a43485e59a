"""`flitgym.simulate`, `flitgym.sweep` and `flitgym.configuration`: runs and sweeps from Python."""

from __future__ import annotations

import hashlib
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ...configs import GROUPS, core_sections, explain, plot_formats
from ...configs.identity import study_folder
from ...simcore import ConfigError
from ...simcore._files import atomic_path
from ..conclusion.conclude import conclude
from ..running.launcher import launcher_of
from ..running.one_run import obtain, simulated
from ..running.plan import PlannedRun, expand
from ..running.sweep import run_all
from ..terminal.progress import RunBar, has_bars, quiet
from .result import Result
from .runs import Runs

_BAR_AFTER_SECONDS = 1.0  # a short run shows none


def simulate(
    *overrides: str,
    directory: str | Path | None = None,
    results: str | Path | None = None,
    progress: bool = True,
    **values: Any,
) -> Result:
    """Run one simulation.

        flitgym.simulate("topology=dragonfly_72", "routing=par", **{"run.measure_ns": 5000})

    Args:
        overrides: As on the command line of `flitgym simulate`, such as `"traffic.load=0.3"`.
        directory: Folder for the result. Without it and without `results`, the run leaves no files.
        results: Folder of all results. The run goes to `results/<study>/<run>`, as with the command.
        progress: Whether to show a bar on a terminal or in a notebook, if the run takes more than a second.
        values: Keys with values, such as `seed=2`, which are applied after the overrides. `traffic.file` also takes a
            matrix of rates, [terminals, terminals], as an array or a SciPy sparse matrix.

    Returns:
        The result in the folder if the run is finished there, otherwise the result of a new run.

    Raises:
        ConfigError: the configuration cannot run. The message names the key, its value and the valid choices.
        CoreError: the simulation stopped with an error, such as a deadlock.
        OSError: a file cannot be read or written.
    """
    if directory is not None and results is not None:
        raise ConfigError(f"directory: {directory} and results: {results}; give one of them")
    kept = directory if directory is not None else results
    with ExitStack() as stack:
        folder = Path(kept or "")
        if kept is None and any(map(_is_matrix, values.values())):
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="flitgym-")))
        run = _planned(overrides, {key: [_settled(key, value, folder)] for key, value in values.items()}, folder)[0]
        if kept is None and run.plain["run"]["save_q_table"]:
            raise ConfigError("run.save_q_table: the run leaves no files; name its folder with directory=...")
        where = folder if directory is not None else run.directory
        report = stack.enter_context(RunBar(progress and has_bars(), after=_BAR_AFTER_SECONDS)).report
        stack.enter_context(explained())
        if kept is None:
            fields, tables, _ = simulated(run.plain, report)
            result = Result(fields, None, tables)
        else:
            result = Result(obtain(run.plain, where, report)[0], where)
    for text in (result.get("warnings") or {}).values():
        warnings.warn(text, stacklevel=2)
    return result


def sweep(
    overrides: Sequence[str] = (),
    *,
    seeds: int | Iterable[int] | None = None,
    results: str | Path = "results",
    study: str | None = None,
    workers: int | None = None,
    launcher: str | None = None,
    keep_going: bool = False,
    progress: bool = True,
    **values: Any,
) -> Runs:
    """Run every combination of values. A repeated call reads the finished runs and executes the others.

        flitgym.sweep(["topology=dragonfly_72"], routing=["par", "ugal_l"], **{"traffic.load": [0.1, 0.3]}, seeds=3)

    Args:
        overrides: The overrides of every run, as on the command line. Words of `hydra.launcher` go to the launcher.
        seeds: The number of seeds, which start at 1, or a list of seeds.
        results: Folder of all results. A run goes to `results/<study>/<run>`. The folder of the study also gets
            `rows.parquet`, a picture in the formats of `plot.format`, and `report.html`.
        study: Name of the study; None: that of the overrides, otherwise `default`.
        workers: Number of parallel runs; None: one per core, or as many as the cluster takes.
        launcher: `ray`, `submitit_slurm` or `submitit_local`; None: processes of this machine.
        keep_going: Whether to continue after a failure.
        progress: Whether to show messages and a bar on stderr or in the notebook.
        values: Keys with values. A list, a tuple, a range or an array of one dimension has one value per run. A value
            that is itself a list needs a second list around it: `**{"topology.sizes": [[4, 4]]}`.

    Returns:
        The results, in the order of the values. Groups such as `routing` come before other keys, and the last key
        changes fastest.

    Raises:
        ConfigError: a configuration cannot run. Nothing ran.
        RunFailedError: a run failed. Finished runs are kept.
        KeyboardInterrupt: Ctrl-C, or the notebook's button. Finished runs are kept.
        OSError: a file cannot be read or written.
    """
    root = Path(results)
    axes = {key: [_settled(key, value, root) for value in _axis(value)] for key, value in values.items()}
    if seeds is not None:
        if "seed" in axes:
            raise ConfigError(f"seeds: {seeds} and seed={values['seed']}; give one of them")
        if not isinstance(seeds, Iterable) and (not isinstance(seeds, int) or seeds < 1):
            raise ConfigError(f"seeds: {seeds} is neither a list of seeds nor their number")
        axes["seed"] = list(range(1, seeds + 1) if isinstance(seeds, int) else seeds)
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: {workers} is less than 1; None = one per core")
    for key, several in axes.items():
        if not several:
            raise ConfigError(f"{key}: the list is empty; give at least one value")
    axes = {key: axes[key] for key in sorted(axes, key=lambda key: key not in GROUPS)}
    swept = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    words = [overrides] if isinstance(overrides, str) else list(overrides)
    with explained():
        where, words = launcher_of([*words, *([f"hydra/launcher={launcher}"] if launcher else [])])
    runs = _planned(words, {**axes, **({} if study is None else {"study": [study]})}, root)
    pictures = {run.directory.parent: plot_formats(run.plain["plot"]["format"]) for run in runs}
    with nullcontext() if progress else quiet(), explained():
        run_results = run_all(runs, runs[0].directory.parent.name, workers, keep_going, where, check=True)
        for folder, formats in pictures.items():
            conclude(folder, formats, "flitgym.sweep")
    found = [Result(result, run.directory) for result, run in zip(run_results, runs, strict=True)]
    several = [{key: value for key, value in chosen.items() if len(axes[key]) > 1} for chosen in swept]
    return Runs(found, several)


def configuration(*overrides: str, **values: Any) -> dict[str, Any]:
    """The configuration of a `Simulation` that a command line describes, with the defaults of the commands.

        flitgym.Simulation(flitgym.configuration("topology=dragonfly_72", "routing=par"))

    Args:
        overrides: As on the command line of `flitgym simulate`.
        values: Keys with values, as for `simulate`, but without arrays.

    Returns:
        The sections `topology`, `router`, `routing`, `traffic` or `workload`, `seed`, and `failures` if there are any.
        The section `run` belongs to the commands.

    Raises:
        ConfigError: an override is not valid.
    """
    run = _planned(overrides, {key: [value] for key, value in values.items()}, Path())[0]
    return deepcopy(core_sections(run.plain))  # since calls share the sections in `plain`


def _planned(words: Sequence[str], axes: Mapping[str, Sequence[Any]], root: Path) -> list[PlannedRun]:
    """The runs of a sweep with the folders that the command would use below a folder of results."""
    with explained():
        for word in words:
            if not isinstance(word, str):
                raise ConfigError(f"{word!r} is not an override; write text such as 'traffic.load=0.3'")
        runs = expand(words, [{"sweep": axes}], root)
        return [replace(run, directory=root / study_folder(_root_=run.plain) / run.directory.name) for run in runs]


@contextmanager
def explained() -> Iterator[None]:
    """Reword errors of the configuration as the commands do."""
    try:
        yield
    except (HydraException, OmegaConfBaseException, ConfigError) as error:
        raise ConfigError(explain(error)) from None


def _axis(value: Any) -> list[Any]:
    if _is_matrix(value):
        return [value]
    if isinstance(value, np.ndarray):
        return list(value.tolist()) if value.ndim else [value.item()]
    return list(value) if isinstance(value, list | tuple | range) else [value]


def _settled(key: str, value: Any, folder: Path) -> Any:
    """A value for the configuration: numbers of Python, and for a matrix the path of its file."""
    if _is_matrix(value):
        if key != "traffic.file":
            raise ConfigError(f"{key}: a matrix belongs to traffic.file, with traffic=matrix")
        return str(_stored(value, folder / "matrices"))
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def _is_matrix(value: Any) -> bool:
    """Whether a value is an array of two dimensions or a SciPy sparse matrix."""
    return hasattr(value, "tocsr") or (isinstance(value, np.ndarray) and value.ndim == 2)


def _stored(matrix: Any, folder: Path) -> Path:
    """The `.npz` file of a matrix, which is written unless it exists.

    Raises:
        OSError: the file cannot be written.
    """
    if hasattr(matrix, "tocsr"):
        rows = matrix.tocsr()
        rows.sum_duplicates()
        # The layout of scipy.sparse.save_npz.
        arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays |= {"shape": np.asarray(rows.shape), "format": np.asarray(b"csr")}
    else:
        arrays = {"matrix": np.ascontiguousarray(matrix)}
    content = b"".join(
        f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes() for name, array in arrays.items()
    )
    path = folder / f"{hashlib.sha256(content).hexdigest()[:12]}.npz"
    if not path.exists():
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
    return path
