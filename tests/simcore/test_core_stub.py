"""The stub (`_core.pyi`) has the names of the compiled module."""

import ast
import re
from pathlib import Path
from typing import Any

import flitgym.simcore
from flitgym.simcore import _core

STUB = ast.parse((Path(flitgym.simcore.__file__).parent / "_core.pyi").read_text())


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
