"""The reader of the ring: each transition once, access by number, and overflow."""

import numpy as np
from flitgym.env.experience import Ring, World
from flitgym.simcore import Simulation

TRIANGLE = {"name": "hyperx", "widths": [3], "terminals_per_router": 2}


def simulation(record: int) -> Simulation:
    world = World({"topology": TRIANGLE, "router": "input_queued", "traffic": {"name": "uniform", "load": 0.3}})
    return world.simulation({"name": "random", "record": record}, 3)


def test_reader_returns_the_rows_of_a_larger_ring() -> None:
    small, large = simulation(64), simulation(1 << 14)
    reader, rows_alone, pieces, turns = Ring(small, without=["mask"]), Ring(small), [], 0
    while small.transition_count < 500:
        small.run(20)
        pieces.append(reader.take())
        turns += len(rows_alone.new()) == 2
    assert turns > 2
    large.run(small.now)
    whole = large.transitions()
    assert "mask" not in pieces[0]
    for name in pieces[0]:
        taken = np.concatenate([rows[name] for rows in pieces])
        np.testing.assert_array_equal(taken, whole[name][: len(taken)])
        assert len(taken) == large.transition_count == small.transition_count
    # The latest ones are available by number.
    kept = reader.kept
    assert len(kept) == reader.capacity == 64
    numbers = np.array([kept.start, kept.stop - 1, kept.start + 5])
    picked = reader.pick(numbers, ["decision", "reward"])
    assert set(picked) == {"decision", "reward"}
    np.testing.assert_array_equal(picked["decision"], whole["decision"][numbers])
