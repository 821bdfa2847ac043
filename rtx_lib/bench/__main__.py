"""``python -m rtx_lib.bench NAME``, or ``all``; with ``--record`` what was measured is kept."""

import argparse
import json
import sys

import torch

import rtx_lib.bench
from rtx_lib.bench import CASES
from rtx_lib.bench.kept import keep
from rtx_lib.experiments.runs import commit
from rtx_lib.training import check_device


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rtx_lib.bench", description=rtx_lib.bench.__doc__)
    parser.add_argument("case", choices=[*sorted(CASES), "all"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.add_argument("--record", action="store_true", help="keep each case in a file, one after the other")
    parser.add_argument("--out", help="folder of these files (default: results/speed of the book)")
    options = parser.parse_args(arguments)
    check_device(options.device)
    torch.set_num_threads(1)
    rows = []
    for case in CASES if options.case == "all" else [options.case]:
        code = commit()  # of the code that runs: the checkout may move on meanwhile
        measured = CASES[case](device=options.device)
        rows += measured
        if options.record and measured:
            path = keep(case, measured, options.device, commit=code, folder=options.out)
            print(f"{path.name} is written", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            line = f"{row['case']}: {row['variant']:24} {row['ratio']:.2f}x of {row['against']}"
            memory = f", {row['memory_ratio']:.2f} of its memory" if "memory_ratio" in row else ""
            error = "" if row["max_error"] is None else f", error {row['max_error']:.1e}"
            print(f"{line}{memory}{error} ({row['device']})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
