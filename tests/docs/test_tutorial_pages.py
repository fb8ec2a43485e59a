"""The tutorials in short form: their commands in order, in a checkout with their files in place."""

import json
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
from extending_checkout import REPOSITORY, Checkout

pytestmark = pytest.mark.deep

TUTORIALS = REPOSITORY / "docs" / "tutorials"
# Overrides that shorten a command. The replacement for the interference study has the same form and four runs.
SHORT = {
    "train": ["rounds=12", "agent.networks=2", "agent.episode_ns=20000"],
    "evaluate": ["loads=[0.3]", "seeds=[1]", "patterns=[mixed]", "run.warmup_ns=3000", "run.measure_ns=3000"],
    "reproduce": ["study=neighbours", "preset=quick", "workers=1"],
}


def commands(page: Path) -> list[list[str]]:
    """The commands of a page, split into words. A backslash at the end of a line joins it with the next."""
    text = page.read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    return [shlex.split(line) for line in lines if line.split()[0].startswith(("flitgym", "cp", "python", "make"))]


def test_own_agent_from_top_to_bottom(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    checkout = Checkout(tmp_path)
    checkout.add("neighbours")
    done = []
    for words in commands(TUTORIALS / "own_agent.md"):
        if words[0] == "cp" and words[1].startswith("docs/"):
            assert words == ["cp", "docs/extending/examples/linear.py", "agents/"]
            checkout.add("linear.py")
        elif words[0] == "cp":
            (source,) = checkout.path.glob(words[1])
            (checkout.path / words[2]).write_bytes(source.read_bytes())
        else:
            name = words[1]
            given = [word for word in words[2:] if word.split("=")[0] not in {w.split("=")[0] for w in SHORT[name]}]
            ran = checkout.run(name, *given, *SHORT[name])
            assert ran.returncode == 0, f"{words}\n{ran.stderr}"
            done.append(name)
    assert done == ["train", "evaluate", "reproduce"]
    table = (tmp_path / "results" / "linear" / "evaluation.csv").read_text()
    for name in ("ugal_l", "linear", "dqn_dragonfly"):
        assert f"\n{name},mixed" in table
    assert (tmp_path / "results" / "linear" / "evaluation.png").stat().st_size > 5000
    (progress,) = tmp_path.glob("results/training/*/progress.jsonl")
    assert [json.loads(line)["round"] for line in progress.read_text().splitlines()] == list(range(1, 13))
    study = tmp_path / "results" / "neighbours_quick"
    assert "| linear |" in (study / "differences.md").read_text()
    for name in ("communication_times.png", "who_delays_halo3d.png", "report.html"):
        assert (study / name).stat().st_size > 5000


def test_own_routing_in_numpy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ["python", "docs/tutorials/own_routing/two_choices.py"] in commands(TUTORIALS / "own_routing.md")
    monkeypatch.setattr(sys, "argv", ["two_choices.py", "--loads", "0.7", "--ns", "1500"])
    runpy.run_path(str(TUTORIALS / "own_routing" / "two_choices.py"), run_name="__main__")
    one, two = (float(x) for x in re.findall(r"accepted ([0-9.]+)", capsys.readouterr().out))
    assert 0.55 < two < one < 0.7  # as the page states, two choices are worse than one with this router
