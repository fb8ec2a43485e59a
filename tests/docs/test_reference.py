"""The tables of docs/reference match the core and the code, and results hold the listed keys."""

import importlib
import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from conftest import executed
from docs_pages import DOCS
from flitgym.agents import trainable
from flitgym.configs import CONFIG_DIR, compose
from flitgym.configs.composition import compose_root
from flitgym.configs.routes import register_routes
from flitgym.configs.training import register_training
from omegaconf import OmegaConf

sys.path.insert(0, str(DOCS / "_ext"))
tables = importlib.import_module("reference_tables")
fields = importlib.import_module("result_fields")
keys = importlib.import_module("command_keys")


@pytest.mark.parametrize("name", tables.MAKERS)
def test_page_is_up_to_date(name: str) -> None:
    assert (tables.PAGES / f"{name}.md").read_text() == tables.page(name), f"docs/reference/{name}.md: make reference"


def _flat(config: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """Values by key. A value of a section has the key `section.key`."""
    found = {}
    for key, value in config.items():
        if key not in left_out:
            found |= (
                {f"{key}.{own}": inner for own, inner in value.items()}
                if value and isinstance(value, dict)
                else {key: value}
            )
    return found


@pytest.mark.parametrize("root", keys.ROOTS)
def test_every_key_of_a_command_is_listed_with_its_default(root: str) -> None:
    register_training(trainable())
    register_routes()
    composed: Any = OmegaConf.to_container(compose_root(root, []))
    path = CONFIG_DIR / f"{root}.yaml"
    groups = {option.name for option in keys.options_of(path)}
    listed = {key.name: yaml.safe_load(key.default) for key in keys.keys_of(path) if key.default}
    elsewhere = {"failures"} - {name.partition(".")[0] for name in listed}  # `config.yaml` lists its keys
    assert listed == _flat(composed, groups - {"worlds"} | elsewhere)  # `worlds` is a group whose option is a key
    assert {key.name for key in keys.keys_of(CONFIG_DIR / "run" / "standard.yaml")} == set(compose([]).run)


def _of(names: Sequence[str], found: Sequence[str]) -> None:
    """Every listed name matches a found name, and every found name is listed."""
    patterns = [
        re.compile(
            re.escape(name)
            .replace(r"\*", "(mean|p50|p95|p99|max)")
            .replace("<job>", r"\w+")
            .replace("<class>", r"\w+")
            .replace("<v>", r"\w+")
            .replace("<c>", r"\w+")
        )
        for name in names
    ]
    unknown = [key for key in found if not any(pattern.fullmatch(key) for pattern in patterns)]
    assert not unknown, f"docs/_ext/result_fields.py does not have {', '.join(unknown)}"
    idle = [name for name, pattern in zip(names, patterns, strict=True) if not any(map(pattern.fullmatch, found))]
    assert not idle, f"no result has {', '.join(idle)}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Path]]:
    """Two runs of a traffic pattern, one of flows, one of jobs with all optional outputs, and one of a trace."""
    words = (
        [
            "routing=ugal_l",
            "congestion_control=dctcp",
            "run.series_interval_ns=1000",
            "run.channels=true",
            "run.warmup_ns=1000",
            "run.measure_ns=3000",
        ],
        ["routing=minimal", "traffic=flows", "traffic.sizes=storage", "run.measure_ns=5000"],
        ["routing=minimal", "run=steady", "run.warmup_ns=2000", "run.measure_ns=2000", "run.precision=0.2"],
        [
            *("router=sc22", "routing=q_adaptive", "workload=pair", "workload.target=ur", "workload.background=lu"),
            *("workload.scale=0.01", "workload.size_scale=0.1", "workload.ranks_per_node=2"),
            *("workload.series_interval_ns=1000", "workload.map_interval_ns=1000", "workload.classes={lu: high}"),
        ],
        ["router=sc22", "routing=minimal", "workload=queue", "workload.count=2", "workload.motifs=[dl]"],
        [
            "routing=minimal",
            "congestion_control=dcqcn",
            "workload=trace",
            f"workload.file={Path(__file__).parents[1] / 'data' / 'goal' / 'tree.goal'}",
        ],
    )
    done = []
    for own in words:
        folder = tmp_path_factory.mktemp("run")
        executed(folder, "topology=dragonfly_72", *own)
        done.append((json.loads((folder / "result.json").read_text()), folder))
    return done


def test_results_hold_the_listed_keys(runs: list[tuple[dict[str, Any], Path]]) -> None:
    keys = sorted({key for result, _ in runs for key in result})
    _of([name for name, _ in fields.FIELDS], keys)
    jobs = sorted({key for result, _ in runs for job in result["jobs"].values() for key in job})
    _of([name for name, _ in fields.JOB_FIELDS], jobs)


def test_tables_have_the_columns_that_are_listed(runs: list[tuple[dict[str, Any], Path]]) -> None:
    for file, (_, columns) in fields.COLUMNS.items():
        found = {name for _, folder in runs if (folder / file).exists() for name in pq.read_schema(folder / file).names}
        assert found, f"no run has written {file}"
        _of([name for name, _ in columns], sorted(found))
