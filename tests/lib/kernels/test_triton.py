"""Triton's kernels where there is no GPU: in its interpreter, and compiled without being run."""

import json
import os
import subprocess
import sys

import pytest
from support.helpers import ROOT

if os.environ.get("RTX_REQUIRE_ALL") != "1":  # where nothing may be missing, the tests below fail without it
    pytest.importorskip("triton")


def in_a_process(*arguments, **environment):
    # What is asked of the whole run is not asked of the small one in the other process.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RTX_REQUIRE")}
    how = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 600}
    return subprocess.run([sys.executable, *arguments], env=inherited | environment, **how)


def test_in_the_interpreter():
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/lib/kernels/interpreted.py"]
    answer = in_a_process(*command, TRITON_INTERPRET="1")
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-1000:]


COMPILE = """
import importlib, json, sys, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ours = importlib.import_module("rtx_lib.kernels." + sys.argv[1])
for name, real, fixed in json.loads(sys.argv[2]):
    kernel, fixed = getattr(ours, name), {"WIDTH": ours.COLUMNS, "DEPTH": 4} | fixed
    whole = ("count", "steps", "neurons", "width")
    signature = {name: "i32" if name in whole else "*" + real for name in kernel.arg_names}
    constants = {name: fixed[name] for name in kernel.arg_names if name in fixed}
    source = ASTSource(kernel, signature | dict.fromkeys(constants, "constexpr"), constants)
    options = {"num_warps": 1, "enable_fp_fusion": False}
    print(triton.compile(source, GPUTarget("cuda", 80, 32), options).asm["ptx"])
"""
PLAIN, COMPLEX = {"REVERSE": False, "COMPLEX": False}, {"REVERSE": True, "COMPLEX": True}
ONE = {"steps": 1}  # triton compiles a size of 1 in
KERNELS = {
    "triton_kernels": [
        ("_steps_forward", "fp64", {}),
        ("_steps_backward", "fp64", {}),
        ("_steps_backward", "fp32", ONE),
    ],
    "triton_linear": [("_steps", "fp32", PLAIN), ("_steps", "fp64", COMPLEX), ("_steps", "fp32", COMPLEX | ONE)],
}


@pytest.mark.parametrize("module", KERNELS)
def test_compiles_for_a_gpu(tmp_path, module):
    """And fuses no multiply-add, which would miss the zero of z_t = -u h_{t-1}."""
    answer = in_a_process("-c", COMPILE, module, json.dumps(KERNELS[module]), TRITON_CACHE_DIR=str(tmp_path))
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "mul.rn.f32" in answer.stdout and "mul.rn.f64" in answer.stdout and "fma." not in answer.stdout
