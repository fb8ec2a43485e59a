"""Signatures on the API pages come from the stub, without internal names of Python."""

import importlib
import sys

import pytest
from docs_pages import DOCS
from flitgym.simcore import ChannelGraph, Simulation
from flitgym.simcore import _core as core

sys.path.insert(0, str(DOCS / "_ext"))
signatures = importlib.import_module("plain_signatures")


def test_compiled_methods_have_the_signature_of_the_stub() -> None:
    written = "(self: flitgym.simcore._core.Simulation, max_cycles: SupportsInt | SupportsIndex)"
    shown = signatures.signature_of("flitgym.simcore.Simulation.drain", Simulation.drain, written, "bool")
    assert shown == ("(max_cycles: int)", "bool")
    shown = signatures.signature_of("flitgym.simcore.ChannelGraph.arrays", ChannelGraph.arrays, "(self: x)", "dict")
    assert shown == ("()", "dict[str, NDArray[Any]]")


@pytest.mark.parametrize("name", ["Simulation", "ChannelGraph", "ForwardingTable", "Program", "SimulationBatch"])
def test_every_public_method_of_the_core_is_in_the_stub(name: str) -> None:
    methods = [key for key, value in vars(getattr(core, name)).items() if callable(value) and not key.startswith("_")]
    assert methods
    assert [method for method in methods if f"{name}.{method}" not in signatures.declared()] == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("(matrix: TypeAliasForwardRef('ArrayLike') | None = None)", "(matrix: ArrayLike | None = None)"),
        ("~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.float32]]", "NDArray[~numpy.float32]"),
        ("ndarray[tuple[int], dtype[float64]]", "NDArray[float64]"),
        ("(hidden: list[int] = <factory>, seed: int = 1)", "(hidden: list[int] = ..., seed: int = 1)"),
        ("(report: Callable = <function ForwardingTable.<lambda>>)", "(report: Callable = ...)"),
    ],
)
def test_inner_names_are_gone(written: str, shown: str) -> None:
    assert signatures.plain(written) == shown
