"""AICB workloads: bytes per group by an independent sum, the groups of ranks, and the order of a step."""

from collections import Counter
from pathlib import Path

import pytest
from flitgym.simcore import ConfigError
from flitgym.simcore.traces import TraceOptions, read_trace
from trace_files import DATA, finish_ns

AICB = DATA / "aicb"
HEAD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} ga: {ga} all_gpus: {all} "


def workload(
    path: Path, *layers: str, tp: int = 1, ep: int = 1, pp: int = 1, ga: int = 1, ranks: int = 8, more: str = ""
) -> Path:
    head = HEAD.format(tp=tp, ep=ep, pp=pp, ga=ga, all=ranks) + "checkpoints: 0 checkpoint_initiates: 0 " + more
    path.write_text("\n".join([head, str(len(layers)), *layers]) + "\n")
    return path


def test_bytes_of_the_llama_step() -> None:
    path = AICB / "L65B_D1_C08_Llama65B_deepspeed_zero3_A100.txt"
    read = read_trace(path, options=TraceOptions(replicate=4, collective="ring"))
    rows = [line.split() for line in path.read_text().splitlines()[2:]]
    # The tensor-parallel groups have one rank, so only the weight gradients communicate, over all ranks.
    scattered = sum(int(row[10]) for row in rows if row[9] == "REDUCESCATTER")
    assert read.program.totals()["bytes"] == 3 * scattered
    assert read.program.totals()["calc_ns"] == 4 * sum(int(row[k]) for row in rows for k in (2, 5, 8)) + 4 * 100
    assert any("12 collectives of a rank send nothing" in note for note in read.notes)


def test_bytes_of_the_microbenchmark() -> None:
    path = AICB / "all_to_all.txt"
    read = read_trace(path, options=TraceOptions(replicate=4, collective="pairwise"))
    sizes = [int(line.split()[10]) for line in path.read_text().splitlines()[2:]]
    assert read.program.totals()["bytes"] == 4 * 3 * sum(size // 4 for size in sizes)
    assert read.counts["collectives"] == {"alltoall": len(sizes)}


def test_groups_follow_header_and_suffixes(tmp_path: Path) -> None:
    layers = [
        "a -1 0 ALLREDUCE 800 0 NONE 0 0 NONE 0 0",
        "b -1 0 ALLTOALL_EP 800 0 NONE 0 0 NONE 0 0",
        "c -1 0 NONE 0 0 NONE 0 0 REDUCESCATTER 800 0",
        "d\t-1\t0 NONE 0 0 NONE 0 0  REDUCESCATTER_DP_EP 800 0",
    ]
    partners = {
        "a": {0: {1}, 5: {4}},  # pairs of neighbours
        "b": {0: {2}, 5: {7}},  # the next pair of the same half
        "c": {0: {2, 4, 6}, 5: {7, 1, 3}},  # all ranks with the same place in their pair
        "d": {0: {4}, 5: {1}},  # the same place in the other half
    }
    for layer in layers:
        path = workload(tmp_path / "w.txt", layer, tp=2, ep=2)
        first, peer, _ = read_trace(path, options=TraceOptions(collective="pairwise")).program.communication()
        name = layer[0]
        if name == "a":
            first, peer, _ = read_trace(path, options=TraceOptions(collective="ring")).program.communication()
        for rank, others in partners[name].items():
            assert set(peer[first[rank] : first[rank + 1]].tolist()) == others, (name, rank)


def test_bytes_per_group(tmp_path: Path) -> None:
    layers = [
        "x -1 5 ALLGATHER 6400 7 REDUCESCATTER 6400 1 NONE 0 100",
        "y -1 5 ALLTOALL_EP 640 7 ALLTOALL_EP 320 1 ALLREDUCE 1600 100",
        "z -1 5 BROADCAST 64 7 NONE 0 1 ALLGATHER_DP_EP 3200 100",
    ]
    path = workload(tmp_path / "w.txt", *layers, tp=2, ep=2, ranks=16)
    sent = read_trace(path, options=TraceOptions(collective="ring")).counts["sent_bytes"]
    tp, ep, dp, dp_ep, ranks = 2, 2, 8, 4, 16
    expected = Counter(
        allgather=ranks * (6400 // tp) * (tp - 1) + ranks * (3200 // dp_ep) * (dp_ep - 1),
        reduce_scatter=ranks // tp * 6400 * (tp - 1),
        alltoall=ranks * (ep - 1) * (640 + 320) // ep,
        allreduce=ranks // dp * 2 * 1600 * (dp - 1),
        bcast=ranks // tp * 64,
    )
    assert sent == expected


def test_a_scale_of_the_bytes(tmp_path: Path) -> None:
    path = workload(tmp_path / "w.txt", "a -1 0 ALLREDUCE 64000 0 ALLREDUCE 8 0 NONE 0 0", tp=2, ranks=2)
    scaled = read_trace(path, options=TraceOptions(collective="ring", size_scale=0.01)).program
    # 2 ranks send 2 halves of each vector; a message has at least one byte.
    assert scaled.totals()["bytes"] == 2 * 2 * 320 + 2 * 2 * 1
    with pytest.raises(ConfigError, match=r"w\.txt: size_scale: 0"):
        read_trace(path, options=TraceOptions(size_scale=0))


def test_the_order_of_a_step(tmp_path: Path) -> None:
    # Forward a, b; backward b, a. Without collectives the times add up.
    layers = ["a -1 1000 NONE 0 200 NONE 0 30 NONE 0 100", "b -1 4000 NONE 0 500 NONE 0 60 NONE 0 100"]
    read = read_trace(workload(tmp_path / "w.txt", *layers, ranks=2))
    assert finish_ns(read.program) == 5790
    # The forward collective blocks: 1,000 ns of message and 100 ns of process time. The reduction of the weights of b
    # overlaps the backward pass of a.
    layers = ["a -1 1000 NONE 0 900 NONE 0 900 NONE 0 100", "b -1 4000 ALLTOALL_EP 8 500 NONE 0 60 REDUCESCATTER 8 100"]
    read = read_trace(workload(tmp_path / "w.txt", *layers, ep=2, ranks=2), options=TraceOptions(collective="pairwise"))
    assert finish_ns(read.program) == 1000 + 4000 + 1100 + 560 + 1800
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 2 checkpoints: 1 0 checkpoint_initiates: 1 1"
    (tmp_path / "w.txt").write_text("\n".join([head, "2", *layers]).replace("ALLTOALL_EP 8", "NONE 0"))
    # Before the backward pass of b, layer a runs forward again.
    assert finish_ns(read_trace(tmp_path / "w.txt").program) == 1000 + 4000 + 1000 + 560 + 1800


def test_pipeline_stages_exchange_a_message_per_micro_batch(tmp_path: Path) -> None:
    path = workload(
        tmp_path / "w.txt", *["a -1 10 NONE 0 10 NONE 0 1 NONE 0 0"] * 4, pp=4, ga=2, ranks=8, more="pp_comm: 500.0"
    )
    read = read_trace(path)
    # Three boundaries between stages of two ranks, two micro-batches, two directions.
    assert read.program.totals()["bytes"] == 3 * 2 * 2 * 2 * 500
    assert any("no pipeline bubble" in note for note in read.notes)


def test_the_number_of_ranks(tmp_path: Path) -> None:
    layer = "a -1 10 ALLREDUCE 64 10 NONE 0 1 NONE 0 0"
    path = workload(tmp_path / "w.txt", layer, tp=4, ranks=64)
    assert read_trace(path).program.ranks == 64
    smaller = read_trace(path, options=TraceOptions(replicate=8))
    assert smaller.program.ranks == 8
    assert any("names 64 GPUs" in note for note in smaller.notes)
    with pytest.raises(ConfigError, match=r"w\.txt: 6 ranks cannot have tensor-parallel groups of 4"):
        read_trace(path, options=TraceOptions(replicate=6))
    huge = workload(tmp_path / "huge.txt", *[layer] * 50, ranks=1 << 20)
    with pytest.raises(ConfigError, match=r"huge\.txt: .*operations.*use fewer ranks"):
        read_trace(huge, options=TraceOptions(collective="auto"))
