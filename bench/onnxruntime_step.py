"""A step of an LSTM by ONNX Runtime, batch 1, its tensors bound once: one line of JSON with the milliseconds of a step.

Usage: python3 onnxruntime_step.py step --width N [--threads N] [--seconds S]     (needs onnxruntime and onnx)
The call from Python is no part of a step: that of a model which only copies x is measured in turns, and stands as call_ms.
"""

import argparse
import json
import time
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

AT_ONCE = 1000


def session(nodes: list[Any], names: dict[str, list[int]], outputs: dict[str, list[int]], weights: list[Any], threads: int) -> Any:
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "step", [value(*n) for n in names.items()], [value(*n) for n in outputs.items()], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    made = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding, rng = made.io_binding(), np.random.default_rng(1)
    for name, shape in names.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(rng.uniform(-1, 1, shape).astype(np.float32)))
    for name, shape in outputs.items():
        binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32)))
    return lambda: made.run_with_iobinding(binding)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["step"])
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    n, rng = args.width, np.random.default_rng(0)
    weight = lambda name, *shape: numpy_helper.from_array(rng.uniform(-0.1, 0.1, shape).astype(np.float32), name)
    lstm = helper.make_node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["y", "next_h", "next_c"], hidden_size=n)
    state = [1, 1, n]
    step = session([lstm], {"x": state, "h": state, "c": state}, {"y": [1, 1, 1, n], "next_h": state, "next_c": state},
                   [weight("w", 1, 4 * n, n), weight("r", 1, 4 * n, n), weight("b", 1, 8 * n)], args.threads)
    call = session([helper.make_node("Identity", ["x"], ["y"])], {"x": state}, {"y": state}, [], args.threads)
    times: dict[str, list[float]] = {"ms": [], "call_ms": []}
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end or len(times["ms"]) < 6:
        for name, run in (("ms", step), ("call_ms", call)):
            start = time.perf_counter()
            for _ in range(AT_ONCE):
                run()
            times[name].append(1000 * (time.perf_counter() - start) / AT_ONCE)
    print(json.dumps({"part": "step", "width": n, "threads": args.threads, "version": onnxruntime.__version__,
                      **{name: values[1:] for name, values in times.items()}}))


if __name__ == "__main__":
    main()
