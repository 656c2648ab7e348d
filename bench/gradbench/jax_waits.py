"""GradBench's tool for JAX, but each call ends when its result is there. Without that the tool times the call, not the work.

compare.py … --tool jax="PYTHON …/bench/gradbench/jax_waits.py"      PYTHON has jax; runs in the checkout of GradBench
"""
import pathlib
import runpy
import sys

import jax
from gradbench import wrap

tool = pathlib.Path("python/gradbench/gradbench/tools/jax")
runs = wrap.multiple_runs
wrap.multiple_runs = lambda **how: lambda function: runs(**how)(lambda input: jax.block_until_ready(function(input)))
sys.path.insert(0, str(tool))
runpy.run_path(str(tool / "run.py"), run_name="__main__")
