"""`flitgym-reproduce`: its own errors. What it draws is tested with the figures."""

import pytest
from conftest import Command


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["figure=hpdc21_convergance"], ["figure", "did you mean 'hpdc21_convergence'?"]),
        (["figure=hpdc21_convergence", "preset=quik"], ["preset", "did you mean 'quick'?"]),
        (["figur=hpdc21_convergence"], ["did you mean 'figure'?"]),
        (["preset=quick"], ["name a figure or a study", "hpdc21_load_latency", "study=interference"]),
        (["figure=sc19_stencil", "study=interference"], ["name a figure or a study"]),
        (["study=interferance"], ["study", "did you mean 'interference'?"]),
        (["study=interference", "preset=papr"], ["preset", "did you mean 'paper'?"]),
        (["hpdc21_convergence"], ["key=value"]),
        (["figure=hpdc21_convergence", "workers=0"], ["workers"]),
    ],
)
def test_bad_input(command: Command, arguments: list[str], parts: list[str]) -> None:
    done = command("reproduce", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_help_lists_figures_and_studies(command: Command) -> None:
    done = command("reproduce", "--help")
    assert done.returncode == 0
    assert "hpdc21_load_latency: preset=quick|paper" in done.stdout
    assert "interference: preset=quick|paper" in done.stdout
