"""Equal configurations are the same run; every change that affects a number makes another run."""

from pathlib import Path

import pytest
from flitgym.configs import compose, config_hash, run_id


@pytest.mark.parametrize(
    ("words", "override"),
    [
        *(((), one) for one in ("traffic.load=0.31", "routing.epsilon=0.01", "run.measure_ns=1", "router=sc22")),
        *((("workload=pair",), f"workload.{one}") for one in ("target=lu", "scale=0.5", "target_params.n=10")),
        *((words, "seed=2") for words in ((), ("workload=pair",))),
    ],
)
def test_what_changes_the_numbers_changes_the_hash(words: tuple[str, ...], override: str) -> None:
    assert config_hash(compose([*words, override])) != config_hash(compose(words))


@pytest.mark.parametrize("override", ["run.overwrite=true", "study=other", "run.threads=1024", "traffic.load=0.50"])
def test_what_only_says_where_and_whether_does_not(override: str) -> None:
    assert config_hash(compose([override])) == config_hash(compose())


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["topology=graph", "routing=minimal"], "topology.file"),
        (["routing=table"], "routing.file"),
        (["routing=policy"], "routing.path"),
        (["traffic=permutation"], "traffic.file"),
        (["traffic=matrix"], "traffic.file"),
        (["workload=goal", "workload.job=x"], "workload.file"),
        (["congestion_control=agent"], "congestion_control.path"),
        (["workload=pair"], "workload.noise_trace"),
        ([], "run.load_q_table"),
    ],
)
def test_a_file_counts_by_its_content(tmp_path: Path, words: list[str], key: str) -> None:
    hashes = []
    for name, text in (("a", "a,b\ns0,s1\n"), ("10:30", "a,b\ns0,s1\n"), ("10:30", "a,b\ns0,s1\ns1,s2\n")):
        (tmp_path / name).write_text(text)
        hashes.append(config_hash(compose([*words, f"{key}='{tmp_path / name}'"])))
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["routing=ugal_l", "traffic.load=0.4", "seed=7"], "dragonfly_ugal_l_uniform_load0.4_seed7_"),
        (["routing=ugal_l", "routing.bias_flits=5"], "dragonfly_ugal_group_uniform"),
        (["routing=dqn"], "dragonfly_policy-dqn_uniform"),
        (["routing=table", "topology=torus"], "torus_table-dfsssp_uniform"),
        (["traffic=matrix", f"traffic.file={__file__}"], "dragonfly_q_adaptive_matrix-test_identity_load0.5_"),
    ],
)
def test_folders_name_the_option_of_the_routing(words: list[str], label: str) -> None:
    assert run_id(_root_=compose(words)).startswith(label)


@pytest.mark.parametrize(
    ("words", "key", "drawn"),
    [
        (["topology=random_regular", "routing=minimal"], "topology.graph_seed", True),
        (["topology=dragonfly_72", "topology.arrangement=random"], "topology.arrangement_seed", True),
        (["topology=dragonfly_72"], "topology.arrangement_seed", False),
        (["traffic=permutation"], "traffic.permutation_seed", True),
        (["workload=pair"], "workload.placement_seed", True),
        (["failures.links=0.05"], "failures.seed", True),
        (["failures.events=[0.05@1000]"], "failures.seed", True),
        (["failures.links=[0-1]"], "failures.seed", False),
    ],
)
def test_a_seed_counts_by_what_it_draws(words: list[str], key: str, drawn: bool) -> None:
    """`null` is the run's seed if it draws."""
    hashes = [config_hash(compose([*words, "seed=5", *own])) for own in ([], [f"{key}=5"], [f"{key}=1"])]
    assert (hashes[0] == hashes[1]) == drawn
    assert hashes[1] != hashes[2]
