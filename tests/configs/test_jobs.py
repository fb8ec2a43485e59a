"""The jobs of each option of the group `workload`, and the identity of workloads."""

from pathlib import Path
from typing import Any

import pytest
from flitgym.configs import compose, config_hash, core_sections, workload_label
from flitgym.configs.jobs import core_jobs
from flitgym.configs.schema import WORKLOADS
from flitgym.simcore import ConfigError, registered
from omegaconf import OmegaConf


def jobs(available: int, *overrides: str) -> list[dict[str, Any]]:
    section: Any = OmegaConf.to_container(compose(overrides).workload)
    return core_jobs(section, available)


def sizes(available: int, *overrides: str) -> dict[str, int]:
    return {job["name"]: job["ranks"] for job in jobs(available, *overrides)}


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "none"])
def test_every_option_has_the_core_s_parameters_and_defaults(name: str) -> None:
    section = compose([f"workload={name}"]).workload
    for key, spec in registered("workload")["workload"]["params"].items():
        other = {"scheduler": "backfilling", "blame": False} if name == "queue" else {}
        assert section[key] == other.get(key, spec["default"])
    longest_ns = 2e9 if name in ("queue", "trace") else 100e6  # recorded jobs last longer
    series_ns = 0 if name == "queue" else 10_000
    assert (section.name, section.max_ns, section.series_interval_ns) == (name, longest_ns, series_ns)


def test_the_study_s_numbers() -> None:
    assert sizes(1056, "workload=pair") == {"fft3d": 528, "halo3d": 528}
    assert sizes(1056, "workload=pair", "workload.target=lulesh") == {"lulesh": 512, "halo3d": 528}
    mixed = {"fft3d": 140, "cosmoflow": 138, "lu": 140, "ur": 139, "lqcd": 256, "stencil5d": 243}
    assert sizes(1056, "workload=mixed") == mixed
    assert list(sizes(1056, "workload=mixed")) == list(mixed)
    assert sizes(4096, "workload=stencil27") == {"stencil27": 4096}


def test_a_pair_may_be_one_motif_twice_or_one_alone() -> None:
    twice = sizes(72, "workload=pair", "workload.background=fft3d")
    assert twice == {"fft3d": 36, "fft3d_background": 36}
    assert sizes(72, "workload=pair", "workload.background=none") == {"fft3d": 36}


def test_parameters_of_the_motifs() -> None:
    target, background = jobs(
        72, "workload=pair", "workload.scale=0.5", "workload.target_params={n: 10, ranks: 4}", "workload.size_scale=2"
    )
    assert (target["n"], target["ranks"], target["scale"], target["size_scale"]) == (10, 4, 0.5, 2)
    assert "n" not in background
    (stencil,) = jobs(64, "workload=stencil27", "workload.phase=halo", "workload.ranks=27")
    assert (stencil["phase"], stencil["ranks"]) == ("halo", 27)


def test_jobs_stand_in_the_place_of_traffic() -> None:
    sections = core_sections(compose(["workload=pair", "workload.placement=linear"]))
    assert "traffic" not in sections
    assert sections["workload"]["placement"] == "linear"
    assert set(core_sections(compose())) == {"topology", "router", "routing", "traffic", "seed"}


def test_the_hash_of_a_run_is_what_it_was() -> None:
    # A change of the hash makes every earlier result run again.
    assert config_hash(compose(["routing=par", "seed=7"])) == "a897d821040c"
    assert config_hash(compose(["routing=par", "seed=7", "congestion_control=dctcp"])) == "84faacb296fe"


def test_a_matrix_file_becomes_what_its_rows_exchange(tmp_path: Path) -> None:
    path = tmp_path / "line.mtx"
    # A line of six points: each sends to the next.
    entries = "".join(f"{k + 1} {k} 1\n" for k in range(1, 6))
    path.write_text(f"%%MatrixMarket matrix coordinate real symmetric\n6 6 5\n{entries}")

    def first(available: int, more: str = "") -> dict[str, Any]:
        (job,) = jobs(available, "workload=jobs", f"workload.jobs=[{{matrix_file: {path}{more}}}]")
        return job

    job = first(8)
    assert (job["name"], job["program"].ranks) == ("line", 6)
    assert job["program"].totals() == {**job["program"].totals(), "messages": 10, "bytes": 80}
    assert first(4)["program"].ranks == 4  # 2, 2, 1 and 1 rows
    three = first(8, ", ranks: 3, bytes_per_value: 100, iterations: 2")["program"]
    assert (three.ranks, three.totals()["messages"], three.totals()["bytes"]) == (3, 8, 800)
    assert first(8, ", terminals: [3, 1]")["program"].ranks == 2
    for wrong, message in (
        (", ranks: 7", r"workload\.jobs\.line: ranks: 7.* 6 rows"),
        (", iterations: 0", r"workload\.jobs\.line\.iterations: 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            first(8, wrong)
    config = [compose(["workload=jobs", f"workload.jobs=[{{name: x, matrix_file: {path}}}]"]) for _ in range(2)]
    before = config_hash(config[0])
    path.write_text(path.read_text().replace(" 1\n", " 2\n"))
    assert config_hash(config[1]) != before


@pytest.mark.parametrize(
    ("overrides", "label"),
    [
        (["workload=pair", "workload.background=none"], "pair-fft3d-none"),
        (["workload=mixed"], "mixed"),
        (["workload=stencil27"], "stencil27-both"),
        (["workload=goal", "workload.file=some/where/tree.goal"], "goal-tree"),
        (["workload=jobs", "workload.jobs=[{motif: ur},{name: a/b, motif: lu}]"], "jobs-ur-a_b"),
        (["workload=jobs", "workload.jobs=[{name: a},{name: b},{name: c},{name: d},{name: e}]"], "jobs-5"),
    ],
)
def test_label(overrides: list[str], label: str) -> None:
    assert workload_label(compose(overrides).workload) == label
