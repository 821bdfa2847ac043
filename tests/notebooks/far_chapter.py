"""Run chapters on a pretended GPU, in `smoke`: `python tests/notebooks/far_chapter.py notebooks/01_*.ipynb`.

Prints a line for each cell that fails there, and for each chapter how many operations ran on the device.
"""

import json
import os
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from IPython.core.interactiveshell import InteractiveShell
from support.far_device import FAR, FarDevice


def run(notebook: dict) -> tuple[list[str], int]:
    """A line for each cell that fails on the device, the first five; and the number of operations there."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.showtraceback = lambda *args, **kwargs: None
    shell.display_formatter.active_types = []  # nobody looks at the figures
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    faults: list[str] = []
    with FarDevice() as device:
        for number, cell in enumerate(cells, start=1):
            text = "".join(cell["source"])
            if "parameters" in cell["metadata"].get("tags", []):
                text += f'\nprofile, device = "smoke", "{FAR}"'
            answer = shell.run_cell(text, silent=True)
            if error := answer.error_before_exec or answer.error_in_exec:
                faults.append(f"cell {number}: {type(error).__name__}: {str(error)[:300]}")
            if len(faults) == 5:
                break
    return faults, device.operations


if __name__ == "__main__":
    torch.set_num_threads(1)
    wrong = 0
    for name in sys.argv[1:]:
        faults, operations = run(json.loads(Path(name).read_text(encoding="utf-8")))
        print(f"{Path(name).stem}: {len(faults)} faults, {operations} operations on the device", *faults, sep="\n  ")
        wrong += bool(faults)
    sys.exit(wrong)
