"""The notebooks of the documentation run, draw their figures, and are stored without outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[2]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def run(path: Path, folder: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def test_a_sweep_shows_a_bar_in_a_notebook(tmp_path: Path) -> None:
    pytest.importorskip("ipywidgets")
    words = ["topology=dragonfly_72", "router=input_queued", "run.warmup_ns=200", "run.measure_ns=500"]
    code = f"import flitgym\nflitgym.sweep({words!r}, routing='minimal', study='bars', seeds=3)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    widgets = [output.get("data", {}).get("application/vnd.jupyter.widget-view+json") for output in outputs(notebook)]
    (widget,) = (widget for widget in widgets if widget)
    shown = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"][widget["model_id"]]
    assert "bars 3/3" in json.dumps(shown["state"]["outputs"])


def test_load_latency(tmp_path: Path) -> None:
    notebook = run(ROOT / "docs" / "notebooks" / "load_latency.ipynb", tmp_path)
    shown = outputs(notebook)
    assert sum("image/png" in output.get("data", {}) for output in shown) == 2
    tables = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert len(tables) == 3
    assert "24 runs" in tables[1]
    assert "traffic matrix at load 0.3" in tables[2]
    assert len(list((tmp_path / "results" / "first_curves").glob("*/result.json"))) == 24
    assert not [output for output in shown if output["output_type"] == "stream" and output["name"] == "stderr"]
