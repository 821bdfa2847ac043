"""Run chapters on a pretended GPU, in `smoke`: `python tests/book/notebooks/far_chapter.py notebooks/recurrence.ipynb`.

Prints a line for each cell that fails there, and for each chapter how many operations ran on the device. Each chapter
runs in a process of its own, which begins with the library imported.
"""

import json
import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import matplotlib.pyplot as plt
import torch
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.lines import Line2D
from support.far_device import FAR, FarDevice


def no_picture(fig):
    """In place of `svg_tree`, for nobody looks: all of it that can ask for a number of the device."""
    for line in fig.findobj(Line2D):
        line.recache()
    for ax in fig.axes:
        ax.get_xticklabels(), ax.get_yticklabels()
    plt.close(fig)
    return ET.Element("svg", width="600", height="400")


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


def in_a_process_of_its_own(path: Path) -> bool:
    """Whether the chapter ran without a fault; says so."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 2  # of a process that ends in the middle
    try:
        faults, operations = run(json.loads(path.read_text(encoding="utf-8")))
        print(f"{path.stem}: {len(faults)} faults, {operations} operations on the device", *faults, sep="\n  ")
        code = int(bool(faults))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    # What chapters import, once for all of them.
    import rtx_book.claims.page
    import rtx_book.page.explorer
    import rtx_book.page.figure
    import rtx_book.page.film
    import rtx_book.page.live
    import rtx_book.runs

    torch.set_num_threads(1)
    for user in (rtx_book.page.figure, rtx_book.page.explorer):  # a film is made from its picture
        user.svg_tree = no_picture
    sys.exit(sum(not in_a_process_of_its_own(Path(name)) for name in sys.argv[1:]))
