"""The code blocks of the pages work: Python blocks run, and shell commands compose if they need no run.

A comment above any other block gives the reason (`docs_pages.Block`).
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from docs_pages import ROOT, Block, blocks, blocks_in, commands, pages_that_run
from flitgym.configs import GROUPS, compose
from flitgym.configs.composition import compose_root
from flitgym.configs.jobs import has_workload
from flitgym.configs.routes import TABLE
from flitgym.experiments import evaluate, export, plot, saturate
from flitgym.experiments.entry import VERBS
from flitgym.experiments.evaluation.study import as_list
from flitgym.experiments.hardware import table
from flitgym.experiments.plotting.schedule import COLOURS
from flitgym.experiments.record import keys_of
from flitgym.experiments.running.one_run import prepare
from flitgym.experiments.terminal.commandline import parse
from flitgym.simcore.pictures.loads import QUANTITIES
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

# Runs the blocks of a page and reports their output. Each block has a new namespace unless it continues.
_RUN = """
import contextlib, io, json, sys, traceback
namespace, told = {}, []
for name, text, given, goes_on in json.load(sys.stdin):
    if not goes_on:
        namespace = {"__name__": "__main__"}
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(given, name + ", given", "exec"), namespace)
            exec(compile(text, name, "exec"), namespace)
    except BaseException:
        told.append([name, None, traceback.format_exc()])
        break
    told.append([name, out.getvalue(), ""])
print(json.dumps(told))
"""


def _python_pages() -> list[Path]:
    return [page for page in pages_that_run() if any(b.language == "python" and b.note != "skip" for b in blocks(page))]


@pytest.mark.parametrize("page", _python_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page: Path) -> None:
    own = [block for block in blocks(page) if block.note != "skip" and block.language in ("python", "text")]
    work = [
        (block.name, block.text, block.note_text if block.note == "given" else "", block.note == "continues")
        for block in own
        if block.language == "python"
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        cwd=ROOT,
        env=environment,
        input=json.dumps(work),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    told = {name: (printed, error) for name, printed, error in json.loads(done.stdout.splitlines()[-1])}
    for name, _, _, _ in work:
        assert name in told, f"{name} did not run"
        assert told[name][0] is not None, told[name][1]
    before = ""
    for block in own:
        if block.language == "python":
            before = block.name
        elif block.note == "prints":
            assert told[before][0].strip("\n").rstrip() == block.text.strip("\n").rstrip(), (
                f"{block.name} is out of date"
            )


def _shell_blocks() -> list[Block]:
    return [block for block in blocks_in("bash") if block.note != "skip"]


@pytest.mark.parametrize("block", _shell_blocks(), ids=lambda block: block.name)
def test_commands_compose(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for words in commands(block):
        _check(words, block.name)


def _check(words: list[str], where: str) -> None:
    program, arguments = words[0], words[1:]
    if program == "flitgym":
        program, arguments = arguments[0], arguments[1:]
        assert any(program in verbs for verbs in VERBS.values()) or program.startswith("--"), where
    if program == "make":
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert [word for word in arguments if "=" not in word and word not in targets] == [], where
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for named in re.findall(r"\[([\w,]+)\]", " ".join(arguments)):
            assert set(named.split(",")) <= set(extras), where
    elif program == "python":
        assert arguments[0] != "-m" or importlib.util.find_spec(arguments[1]), where
    elif program == "reproduce":
        own = [word for word in arguments if not word.startswith("hydra")]  # keys of launchers, which are plugins
        _check_figure(dict(word.split("=", 1) for word in own), where)
    elif program == "benchmark":
        suite = next((word for word in arguments if word.startswith("suite=")), "suite=quick").removeprefix("suite=")
        assert (ROOT / "experiments/benchmarks/suites" / f"{suite}.yaml").exists(), where
    elif program == "report":
        assert not any(word.startswith("-") for word in arguments), where
    elif program == "list" and arguments[:1] == ["cost"]:
        own, rest = table.split(arguments[1:])
        for policy in table.policies(own):
            compose([*rest, f"routing={policy.routing}"])
    elif program == "list":
        assert arguments in ([], *([group] for group in GROUPS)), where
    elif "--help" in arguments or program.startswith("--"):
        pass
    elif program == "record":
        keys_of([word.removeprefix("record.") for word in arguments if word.startswith("record.")])
        compose([word for word in arguments if not word.startswith("record.")])
    elif program == "draw" and any(word.startswith("result=") for word in arguments):
        color = parse(arguments, ("result", "color", "time", "out"), ())[1].get("color")
        assert color in {None, *QUANTITIES, *COLOURS}, where
    elif program == "draw":
        compose([word for word in arguments if not word.startswith("out=")])
    elif program == "trace" and arguments[0] == "packet":
        compose([word for word in arguments[1:] if word.partition("=")[0] not in ("packet", "max_ns", "out")])
    elif program == "trace":
        count = {"info": 1, "convert": 2, "timeline": 1}[arguments[0]]
        assert len(parse(arguments[1:], ("format", "out", "replicate", "collective"), ("json",))[0]) == count, where
    elif words[0] == "flitgym" and program in ("plot", "compare", "export"):
        keys = {"plot": plot.KEYS, "compare": ("by", "reference", "out"), "export": export.KEYS}[program]
        folders, given, _ = parse(arguments, keys, ("help", "markdown"))
        assert len(folders) + ("study" in given) == 1 + (program == "compare" and "by" not in given), where
    elif words[0] == "flitgym":
        _compose(program, arguments, where)
    # Other words belong to the shell or to other packages.


def _check_figure(given: dict[str, str], where: str) -> None:
    kind = "study" if "study" in given else "figure"
    folder = ROOT / "experiments" / {"study": "studies", "figure": "figures"}[kind] / given[kind]
    presets = OmegaConf.load(folder / "config.yaml").presets
    assert given.get("preset", "quick") in presets, f"{where}: presets are {', '.join(presets)}"
    own = {key for key in given if key.partition(".")[0].partition("/")[0] != "hydra"}
    assert own <= {"figure", "study", "preset", "routing", "results", "workers"}, where


def _compose(program: str, arguments: list[str], where: str) -> None:
    several = "-m" in arguments
    for verb, own in (("evaluate", evaluate), ("saturate", saturate)):  # take lists for the keys of a run
        if program == verb:
            arguments = [as_list(word, own.LISTS) for word in arguments]
    words = []
    for override in OverridesParser.create().parse_overrides([word for word in arguments if word != "-m"]):
        assert several or not override.is_sweep_override(), f"{where}: {override.input_line} is a list, which takes -m"
        # The first value of a list is composed. Hydra's own sections are skipped: launchers and sweepers are plugins.
        if (override.key_or_group).partition(".")[0].partition("/")[0] == "hydra":
            continue
        first = next(override.sweep_string_iterator()) if override.is_discrete_sweep() else None
        if first is None and override.is_sweep_override():
            continue  # an interval, from which a sweeper draws
        words.append(f"{override.get_key_element()}={first}" if first is not None else override.input_line)
    if program == "simulate":
        config = compose(words)
        files = [str(value) for value in (config.routing.get("file"), config.run.load_q_table) if value]
        if any(not Path(file).exists() for file in files) or _large(words):
            return
        prepare(config)
    elif program == "route":
        TABLE.compose(words)
    elif program in ("evaluate", "regret", "saturate"):
        compose_root(program, words)
    elif program == "train":
        from flitgym.agents import trainable
        from flitgym.configs.training import register_training

        register_training(trainable())
        compose_root("train", words)
    else:
        raise AssertionError(f"{where}: there is no {program}")


def _large(words: list[str]) -> bool:
    """Whether a build would take long: the largest presets, and jobs on them."""
    text = " ".join(words)
    return "4096" in text or "8,8,8" in text or ("1056" in text and has_workload(compose(words)))
