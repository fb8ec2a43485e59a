"""Mutated traces are read as they were written, or refused with a message that names the file."""

from pathlib import Path

import pytest
from flitgym.simcore import ConfigError, CoreError, Program
from flitgym.simcore.traces import read_trace
from mutations import fuzz

pytestmark = pytest.mark.deep

DATA = Path(__file__).parents[1] / "data"
# By format: small files, and words that change the meaning of a file.
CORPUS = {
    "goal": (sorted((DATA / "goal").glob("*.goal")), [b"num_ranks", b"rank 1 {", b"requires", b"-1", b"4294967295"]),
    "goal_binary": (
        [DATA / "traces" / "goal_binary" / "binary_tree_32.bin"],
        [(4223).to_bytes(8, "little"), b"\xff" * 4, b"\0" * 39, (1).to_bytes(4, "little")],
    ),
}


@pytest.mark.parametrize("form", CORPUS)
def test_fuzz_trace(form: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    files, words = CORPUS[form]
    accepted = 0

    def read(content: bytes) -> None:
        nonlocal accepted
        path.write_bytes(content)
        trace = read_trace(path, format=form)
        assert isinstance(trace.program, Program)
        trace.program.check()
        trace.program.to_goal_binary()
        accepted += 1

    corpus = [file.read_bytes() for file in files]
    fuzz(corpus, words, 1500, read, (ConfigError, CoreError))
    # A cut file is refused, and the message names the file.
    path.write_bytes(corpus[0][: len(corpus[0]) // 2])
    with pytest.raises(ConfigError, match=str(path)):
        read_trace(path, format=form)
    assert accepted > len(files)


def test_fuzz_recognition(tmp_path: Path) -> None:
    # The recognition of a format raises nothing but a refusal, whatever the file holds.
    path = tmp_path / "trace"

    def read(content: bytes) -> None:
        path.write_bytes(content)
        read_trace(path)

    corpus = [files[0].read_bytes()[:4000] for files, _ in CORPUS.values() if files]
    fuzz(corpus[:1], [b"{", b"num_ranks 1", b"\x0a"], 400, read, (ConfigError, CoreError))
