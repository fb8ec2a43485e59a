"""`flitgym list cost routing=<list>`: the cost of routings in the hardware of a router.

    flitgym list cost routing=par,q_adaptive,dqn topology=dragonfly_1056 router=hpdc21

`docs/hardware_cost.md` has the assumptions and a table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from ...simcore import ConfigError
from ..evaluation.plan import Policy, policies_of
from ..evaluation.study import as_list
from ..results.files import write_text
from ..terminal.commandline import CommandError, run_command
from ..terminal.tables import console, terminal_table
from .measure import cost_of, rows_of

NAME = "flitgym list cost"
_OWN = ("routing", "decisions", "out")
_DECISIONS = 20_000
_WIDTH = 160  # columns of a table that does not go to a terminal
_USAGE = f"""usage: {NAME} routing=<list> [<key>=<value> ...] [decisions=<number>] [out=<file.json>]

Print the cost of routing decisions in a router: arithmetic, memory and feedback. Counts per decision and packet are
measured in a run. The keys are those of flitgym simulate, and

  routing    routings, *.safetensors files, or {{name: label, routing: ..., params: {{weights: 8bit}}}}
  decisions  decisions to measure after the warm-up (default {_DECISIONS})
  out        also write the numbers as JSON
"""


def run(words: Sequence[str]) -> None:
    """Execute a command line: print the table."""
    own, rest = split(words)
    count = own.get("decisions", str(_DECISIONS))
    if not count.isdecimal() or not int(count):
        raise ConfigError(f"decisions={count}: not a whole number from 1 on")
    costs = []
    for policy in policies(own):
        if sys.stderr.isatty():
            print(f"{NAME}: measuring {policy.name} ...", file=sys.stderr, flush=True)
        costs.append(cost_of(policy, rest, int(count)))
    table = terminal_table(["", *(cost["policy"] for cost in costs)], [""])
    for name, cells in rows_of(costs):
        table.add_row(name, *cells)
    console(_WIDTH).print(table)
    if "out" in own:
        write_text(Path(own["out"]), json.dumps(costs, indent=1) + "\n")
        print(own["out"])


def split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The keys of the command, and the overrides of the runs."""
    own = {key: value for key, _, value in (word.partition("=") for word in words) if key in _OWN}
    return own, [word for word in words if word.partition("=")[0] not in _OWN]


def policies(own: Mapping[str, str]) -> list[Policy]:
    """The policies of the command line."""
    if not own.get("routing"):
        raise CommandError("routing: give at least one, routing=par")
    word = as_list(f"routing={own['routing']}", {"routing": "routing"})
    entries: Any = OverridesParser.create().parse_override(word).value()
    return policies_of(entries)


def main(words: Sequence[str]) -> int:
    """Execute the command with its arguments, and return its status."""
    if not words or {"-h", "--help"} & set(words):
        print(_USAGE, end="")
        return 0 if words else 2
    return run_command(NAME, lambda: run(words))
