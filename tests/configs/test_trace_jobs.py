"""Jobs that play a trace: their keys, their identity by content, and the facts for `result.json`."""

import shutil
from pathlib import Path
from typing import Any

from flitgym.configs import compose, config_hash, traces_of, workload_label
from flitgym.configs.jobs import core_jobs
from omegaconf import OmegaConf

DATA = Path(__file__).parents[1] / "data" / "traces" / "goal_binary"
GOAL = Path(__file__).parents[1] / "data" / "goal"


def section(*words: str) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(compose(list(words)).workload, resolve=True)
    return plain


def jobs(*words: str) -> list[dict[str, Any]]:
    return core_jobs(section(*words), 72)


def test_a_trace_is_a_job() -> None:
    (job,) = jobs("workload=trace", f"workload.file={DATA / 'perm64.bin'}", "workload.start_ns=50")
    assert (job["name"], job["start_ns"], job["program"].ranks) == ("perm64", 50.0, 64)
    (job,) = jobs("workload=trace", f"workload.file={GOAL / 'tree.goal'}", "workload.job=mine", "workload.format=goal")
    assert job["name"] == "mine"


def test_traces_run_side_by_side() -> None:
    files = f"{{trace_file: {GOAL / 'tree.goal'}}}, {{trace_file: {DATA / 'binary_tree_32.bin'}, name: b, start_ns: 5}}"
    words = ["workload=jobs", f"workload.jobs=[{files}, {{motif: ur, ranks: 4}}]"]
    first, second, third = jobs(*words)
    assert (first["name"], second["name"], second["program"].ranks, third["motif"]) == ("tree", "b", 32, "ur")
    facts = traces_of(section(*words))
    assert {name: (fact["format"], fact["ranks"]) for name, fact in facts.items()} == {
        "tree": ("goal", first["program"].ranks),
        "b": ("goal_binary", 32),
    }
    assert workload_label(compose(words).workload) == "jobs-tree-b-ur"
    assert traces_of(section("workload=pair")) == {}


def hashes(path: Path, *more: str) -> set[str]:
    listed = f"workload.jobs=[{{name: x, trace_file: {path}}}]"
    return {
        config_hash(compose(["workload=trace", f"workload.file={path}", "workload.job=x", *more])),
        config_hash(compose(["workload=jobs", listed])),
    }


def test_a_trace_counts_by_its_content(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("one")
    (tmp_path / "c").write_text("two")
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")
    assert not hashes(tmp_path / "a") & hashes(tmp_path / "c")
    assert len(hashes(tmp_path / "a") & hashes(tmp_path / "a", "workload.replicate=2")) == 1  # jobs alone


def test_a_folder_counts_by_the_content_and_names_of_its_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    for rank in range(3):
        (one / f"rank.{rank}.et").write_text(f"{rank}")
    shutil.copytree(one, two)
    assert hashes(one) == hashes(two)
    (two / ".DS_Store").write_text("hidden files do not count")
    assert hashes(one) == hashes(two)
    (two / "rank.2.et").rename(two / "rank.3.et")
    assert not hashes(one) & hashes(two)
