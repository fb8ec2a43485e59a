"""`flitgym <verb>`. The module imports nothing at first, so that Ctrl-C ends a command quietly at any time."""

import importlib
import os
import signal
import sys

VERBS = {
    "run": {
        "simulate": "one run, or a sweep with -m",
        "saturate": "the highest load that a network carries",
        "route": "forwarding tables and their quality",
        "trace": "recorded traces, lives of packets, timelines",
        "convert": "graphs of other tools as networks; the check of a machine",
    },
    "learn": {
        "train": "an agent learns on a world",
        "evaluate": "routings and policies over patterns, loads, jobs and seeds",
        "benchmark": "scores on suites of versioned tasks",
        "record": "decisions of a routing as a dataset for offline learning",
    },
    "show": {
        "plot": "any column of a study against any other",
        "compare": "the differences of two studies that exceed noise",
        "draw": "a picture of a network, or of its load in a run",
        "report": "one HTML page of all runs in a folder",
        "export": "the runs of a folder as a table, or as an artifact that repeats them",
    },
    "repeat": {
        "reproduce": "published figures and studies",
        "list": "routings, topologies, patterns and all other choices; the hardware cost of routings",
        "completion": "completion of verbs, groups and options for bash or zsh",
    },
}

_MODULES = {"report": "report.command"}


def main() -> None:
    """`flitgym <verb> [group=option ...] [key=value ...]`."""
    # During imports there is nothing to clean up, so Ctrl-C may end the process directly. A shell without job control
    # starts background jobs with SIG_IGN.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        _run(sys.argv[1] if sys.argv[1:] else "--help")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as in `flitgym simulate --help | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # the convention of shells for a program that SIGPIPE ended


def _run(verb: str) -> None:
    try:
        if verb in ("-h", "--help"):
            print(overview())
            return
        verbs = [one for purpose in VERBS.values() for one in purpose]
        if "--version" in sys.argv and verb in (*verbs, "--version"):
            print(importlib.import_module(".listing", __package__).version_text())
            return
        if verb == "completion":
            sys.exit(importlib.import_module(".completion", __package__).main(sys.argv[2:], verbs))
        if verb in verbs and {"-h", "--help"} & set(sys.argv[2:]):
            text = next(of[verb] for of in VERBS.values() if verb in of)
            print(f"flitgym {verb}: {text}\n\n{importlib.import_module('.examples', __package__).examples_of(verb)}\n")
        if verb == "list":
            sys.exit(importlib.import_module(".listing", __package__).main(sys.argv[2:]))
        if verb not in verbs:
            hint = importlib.import_module("..simcore._words", __package__).nearest(verb, verbs)
            print(f"flitgym: unknown verb '{verb}'{hint}\n{overview()}", file=sys.stderr)
            sys.exit(2)
        sys.argv[:2] = [f"flitgym {verb}"]
        command = importlib.import_module(f".{_MODULES.get(verb, verb)}", __package__).main
    except ValueError as error:
        # The core loads plugins when it is imported, and describes a faulty plugin in one sentence.
        core = sys.modules.get("flitgym.simcore._core")
        if core is None or not isinstance(error, core.ConfigError):
            raise
        print(f"flitgym {verb}: {error}", file=sys.stderr)
        sys.exit(2)
    command()


def overview() -> str:
    """The verbs by purpose, with a line for each."""
    lines = ["usage: flitgym <verb> [group=option ...] [key=value ...]"]
    for purpose, verbs in VERBS.items():
        lines += ["", f"{purpose}:", *(f"  {verb:<11}{text}" for verb, text in verbs.items())]
    return "\n".join([*lines, "", "`flitgym <verb> --help` explains a verb."])
