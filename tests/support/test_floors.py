"""Imports go down only."""

import pytest
from support.floors import violations
from support.helpers import ROOT


def test_the_library_keeps_its_floors():
    assert violations(ROOT / "rtx_lib") == []


@pytest.mark.parametrize(
    "file, line, complaint",
    [
        ("layers/cells.py", "from rtx_lib.models.jordan import JordanRNN", "layers may not import models"),
        ("models/a.py", "from rtx_lib.tasks import AddingProblem", "models may not import tasks"),
        ("tasks/a.py", "import rtx_lib.models", "tasks may not import models"),
        ("plots/a.py", "from rtx_lib import training", "plots may not import training"),
        ("layers/a.py", "from ..models import jordan", "layers may not import models"),
        ("plots/a.py", "from .. import style, training", "plots may not import training"),
        ("training.py", "from .models import jordan", "training may not import models"),
        ("training.py", "def f():\n    import matplotlib.pyplot", "only plots may import matplotlib"),
        ("tasks/a.py", "import official", "nothing imports official"),
        ("attic/a.py", "import math", "no floor is known for attic"),
    ],
)
def test_a_planted_import_is_named_with_its_line(tmp_path, file, line, complaint):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"import math\n{line}\n")
    (found,) = violations(tmp_path)
    assert file in found and complaint in found
