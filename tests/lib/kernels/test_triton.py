"""Triton's kernels where there is no GPU: in its interpreter, and compiled without being run."""

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
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=inherited | environment, capture_output=True, text=True, timeout=600
    )


def test_in_the_interpreter():
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/lib/kernels/interpreted.py"]
    answer = in_a_process(*command, TRITON_INTERPRET="1")
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-1000:]


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from rtx_lib.kernels import triton_kernels as ours

for name, real, one in (
    ("_steps_forward", "fp64", ""), ("_steps_backward", "fp64", ""), ("_steps_backward", "fp32", "steps")
):
    kernel, signature, constants = getattr(ours, name), {}, {}
    for argument in kernel.arg_names:
        if argument in ("WIDTH", "DEPTH", one):  # triton compiles a size of 1 in
            signature[argument] = "constexpr"
            constants[argument] = {"WIDTH": ours.COLUMNS, "DEPTH": 4}.get(argument, 1)
        else:
            signature[argument] = "i32" if argument in ("count", "steps", "neurons") else "*" + real
    options = {"num_warps": 1, "enable_fp_fusion": False}
    print(triton.compile(ASTSource(kernel, signature, constants), GPUTarget("cuda", 80, 32), options).asm["ptx"])
"""


def test_compiles_for_a_gpu(tmp_path):
    """And fuses no multiply-add, which would miss the zero of z_t = -u h_{t-1}."""
    answer = in_a_process("-c", COMPILE, TRITON_CACHE_DIR=str(tmp_path))
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "mul.rn.f32" in answer.stdout and "mul.rn.f64" in answer.stdout and "fma." not in answer.stdout


COMPILE_LINEAR = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from rtx_lib.kernels import triton_linear as ours

for real, reverse, complex_, one in (("fp32", 0, 0, ""), ("fp64", 1, 1, ""), ("fp32", 1, 1, "steps")):
    fixed = {"WIDTH": ours.COLUMNS, "DEPTH": 4, "REVERSE": bool(reverse), "COMPLEX": bool(complex_), one: 1}
    names = [name for name in ours._steps.arg_names if name not in fixed]
    signature = {name: "i32" if name in ("count", "steps", "width") else "*" + real for name in names}
    constants = {name: value for name, value in fixed.items() if name}
    signature |= dict.fromkeys(constants, "constexpr")
    signature = {name: signature[name] for name in ours._steps.arg_names}
    options = {"num_warps": 1, "enable_fp_fusion": False}
    source = ASTSource(ours._steps, signature, constants)
    print(triton.compile(source, GPUTarget("cuda", 80, 32), options).asm["ptx"])
"""


def test_the_linear_recurrence_compiles_for_a_gpu(tmp_path):
    answer = in_a_process("-c", COMPILE_LINEAR, TRITON_CACHE_DIR=str(tmp_path))
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "mul.rn.f32" in answer.stdout and "mul.rn.f64" in answer.stdout and "fma." not in answer.stdout
