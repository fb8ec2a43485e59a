"""The stub (`_core.pyi`) matches the compiled module in names, kinds, parameters and defaults."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import flitgym.simcore
import pytest
from flitgym.simcore import _core

STUB = ast.parse((Path(flitgym.simcore.__file__).parent / "_core.pyi").read_text())
Parameters = list[tuple[str, str | None]]  # name, default as text


def functions() -> Iterator[tuple[str, type | ModuleType, ast.FunctionDef]]:
    """Every function and method of the stub, with its class or module."""
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, _core, node
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", getattr(_core, node.name), part


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list)


def declared(node: ast.FunctionDef) -> Parameters:
    """The parameters in the stub without `self`. `...` stands for a default that the stub does not show."""
    names = [argument.arg for argument in node.args.args]
    defaults = [None] * (len(names) - len(node.args.defaults)) + [ast.unparse(value) for value in node.args.defaults]
    return [pair for pair in zip(names, defaults, strict=True) if pair[0] != "self"]


def compiled(signature: str) -> Parameters:
    """The parameters of a signature line of pybind11: `name(self: X, key: dict[str, int] = 3) -> None`."""
    inner = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    pieces, depth = [""], 0
    for letter in inner:
        depth += (letter in "[({") - (letter in "])}")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    found: Parameters = []
    for piece in filter(None, map(str.strip, pieces)):
        name, _, rest = piece.partition(":")
        found.append((name, rest.rpartition(" = ")[2] if " = " in rest else None))
    return [pair for pair in found if pair[0] != "self"]


def test_every_name_is_in_both() -> None:
    stub: dict[str, set[str]] = {"": set()}
    for node in STUB.body:
        if isinstance(node, ast.ClassDef) and node.body and not isinstance(node.body[0], ast.Expr):
            stub[node.name] = {
                part.name if isinstance(part, ast.FunctionDef) else ast.unparse(part.target)
                for part in node.body
                if isinstance(part, ast.FunctionDef | ast.AnnAssign)
            }
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            stub[""].add(node.name)
        if isinstance(node, ast.AnnAssign):
            stub[""].add(ast.unparse(node.target))

    def names(of: Any) -> set[str]:
        return {name for name in vars(of) if name == "__init__" or not re.match(r"__|_pybind11", name)}

    assert names(_core) == stub.pop("") - {"__version__"}
    for name, members in stub.items():
        assert names(getattr(_core, name)) == members, name


@pytest.mark.parametrize(("name", "owner", "node"), [pytest.param(*found, id=found[0]) for found in functions()])
def test_parameters_are_the_same(name: str, owner: type | ModuleType, node: ast.FunctionDef) -> None:
    made = vars(owner)[node.name]
    assert isinstance(made, property) == is_property(node)
    if isinstance(made, property):
        return
    text = getattr(owner, node.name).__doc__
    signatures = [line for line in text.splitlines() if re.match(rf"(\d+\. )?{node.name}\((?!\*args)", line)]
    wanted = declared(node)
    for signature in signatures:
        real = compiled(signature)
        if [key for key, _ in real] == [key for key, _ in wanted]:
            for (key, default), (_, stated) in zip(real, wanted, strict=True):
                assert (default is None) == (stated is None), f"{name}({key})"
                assert stated in (default, "...", None) or ast.literal_eval(stated) == ast.literal_eval(str(default))
            return
    pytest.fail(f"{name}: _core.pyi has {wanted}, the module {signatures}")
