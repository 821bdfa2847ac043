"""Imports go down only."""

import subprocess
import sys

import pytest
from support.floors import circles, violations
from support.helpers import PACKAGES, ROOT

LIBRARY, PRESS = ROOT / "rtx_lib", ROOT / "book" / "rtx_book"


@pytest.mark.parametrize("package", [LIBRARY, PRESS], ids=lambda package: package.name)
def test_a_package_keeps_its_floors(package):
    assert violations(package) == []


def test_no_modules_import_each_other():
    assert circles([LIBRARY, PRESS]) == []


@pytest.mark.parametrize(
    "file, line, complaint",
    [
        ("rtx_lib/layers/cells.py", "from rtx_lib.models.jordan import JordanRNN", "layers may not import models"),
        ("rtx_lib/layers/a.py", "from ..models import jordan", "layers may not import models"),
        ("rtx_lib/plots/a.py", "from .. import style, training", "plots may not import training"),
        ("rtx_lib/training.py", "from .models import jordan", "training may not import models"),
        ("rtx_lib/training.py", "def f():\n    import matplotlib.pyplot", "only page, pictures, plots may import"),
        ("rtx_lib/training.py", "def f():\n    from rtx_book import show", "the library imports nothing of the press"),
        ("rtx_lib/tasks/a.py", "import official", "nothing imports official"),
        ("rtx_book/race/a.py", "from rtx_lib.training import fit", "race may not import rtx_lib.training.fit"),
        ("rtx_book/build/a.py", "import sphinx", "only sphinx may import sphinx"),
    ],
)
def test_a_planted_import_is_named_with_its_line(tmp_path, file, line, complaint):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"import math\n{line}\n")
    (found,) = violations(tmp_path / file.partition("/")[0])
    assert file.partition("/")[2] in found and complaint in found


@pytest.mark.parametrize(
    "package, heavy",
    [
        ("rtx_lib", {"matplotlib", "IPython", "scipy", "sklearn", "pooch", "yaml", "safetensors", "rtx_book"}),
        ("rtx_book.records.records", {"torch", "matplotlib", "IPython"}),
    ],
)
def test_a_package_loads_nothing_heavy(package, heavy):
    code = f"import sys, {package}; print({heavy!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": PACKAGES}, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr
