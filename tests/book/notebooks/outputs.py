"""What an executed notebook says: its errors, its warnings, and what must be the same in every run."""

import json
import re
from collections.abc import Mapping
from typing import Any

from notebooks.structure import code_cells, source, tags

PROGRESS = re.compile(r"\d+%\|.*?\| *[\d.]+\w?/[\d.]+\w? \[|^\s*\d+\w*it \[")  # tqdm writes to stderr
LINK = re.compile(r"""(?:\bhref=\\?["']|\]\()(?:\.\.?/|[\w/-]+\.(?:csv|html|ipynb|md))[^\s"')\\]*""")


def streams(cell: Mapping[str, Any], name: str) -> str:
    return "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream" and o["name"] == name)


def errors(notebook: Mapping[str, Any]) -> list[str]:
    """Cells that ended in an error."""
    return [
        f"cell {number}: {output['ename']}: {output['evalue']}"
        for number, cell in enumerate(code_cells(notebook), start=1)
        for output in cell["outputs"]
        if output["output_type"] == "error"
    ]


def not_run(notebook: Mapping[str, Any]) -> list[str]:
    """Cells with code that were not run, and a run without the injected parameters."""
    faults = [
        f"cell {number} was not run"
        for number, cell in enumerate(code_cells(notebook), start=1)
        if source(cell).strip() and cell.get("execution_count") is None
    ]
    injected = [source(cell) for cell in code_cells(notebook) if "injected-parameters" in tags(cell)]
    if len(injected) != 1 or 'profile = "smoke"' not in injected[0]:
        faults.append('profile = "smoke" was not injected')
    return faults


def warnings(notebook: Mapping[str, Any]) -> list[str]:
    """What cells wrote to stderr, without progress bars."""
    return [
        f"cell {number} wrote to stderr: {line.strip()[:200]}"
        for number, cell in enumerate(code_cells(notebook), start=1)
        for line in re.split(r"[\r\n]+", streams(cell, "stderr"))
        if line.strip() and not PROGRESS.search(line)
    ]


def addresses(notebook: Mapping[str, Any]) -> list[str]:
    """Cells whose last value is shown as a place in memory: nothing to a reader, and another one in each run."""
    return [
        f"cell {number} shows {text}"
        for number, cell in enumerate(code_cells(notebook), start=1)
        for output in cell["outputs"]
        if re.search(r" at 0x[0-9a-f]+>", text := "".join(output.get("data", {}).get("text/plain", "")))
        and set(output["data"]) == {"text/plain"}
    ]


def links(notebook: Mapping[str, Any]) -> list[str]:
    """Links into the site, which nobody can follow who has the notebook alone."""
    return LINK.findall(json.dumps([cell["outputs"] for cell in code_cells(notebook)]))


def results(notebook: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every cell's code with all that it showed, without progress bars and without cells tagged `timing`.

    A widget is named by a random id; what it shows is not compared.
    """

    def shown(cell: Mapping[str, Any]) -> list[Any]:
        every = (output.get("data", {}) for output in cell["outputs"])
        return [streams(cell, "stdout"), *(data for data in every if data and "jupyter.widget" not in " ".join(data))]

    return [(source(c), shown(c)) for c in code_cells(notebook) if not tags(c) & {"timing", "injected-parameters"}]


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Cells that showed something else in the second run."""
    a, b = results(one), results(other)
    if len(a) != len(b):
        return [f"{len(a)} cells against {len(b)}"]
    return [
        f"this cell showed something else in the second run:\n{first[0][:300]}"
        for first, second in zip(a, b, strict=True)
        if first != second
    ]
