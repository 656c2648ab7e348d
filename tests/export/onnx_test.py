#!/usr/bin/env python3
"""Gives exported models to ONNX Runtime: its values are the layers' own, over 200 steps with state, within 1e-5 of float32.

onnx_test.py CASES BUILD TIMESERIES     CASES: the program onnx_cases; BUILD: the build's folder, where packages go; TIMESERIES: the program

Packages: onnx and onnxruntime, of the interpreter's own, or else from PyPI into BUILD/onnx-packages. Skipped if neither has them.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

PACKAGES = ["onnx", "onnxruntime"]


def with_packages(build):
    """Runs this again in an interpreter that has the packages; returns if this one does."""
    probe = "import numpy, onnx, onnxruntime"
    has = lambda python: subprocess.run([python, "-c", probe], capture_output=True).returncode == 0
    if has(sys.executable):
        return
    folder = build / "onnx-packages"
    python = folder / "bin" / "python"
    if not (python.exists() and has(python)):
        for command in ([sys.executable, "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                words = (done.stderr or done.stdout).strip().splitlines()
                print(f"skipped: no {' or '.join(PACKAGES)} here, and {' '.join(command[1:4])} failed: {words[-1] if words else '?'}")
                sys.exit(77)
    sys.exit(subprocess.run([str(python), *sys.argv]).returncode)


def tensors(path):
    """Of a safetensors file: calls, each {"in": {name: values}, "out": …}."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    calls = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32", entry
        values = np.frombuffer(data[8 + size + begin : 8 + size + end], np.float32).reshape(entry["shape"])
        call, side, of = name.split(".", 2)
        calls.setdefault(int(call), {"in": {}, "out": {}})[side][of] = values
    return [calls[k] for k in sorted(calls)]


def largest_error(model, calls):
    """Of all outputs that are told, in shares of 1, or of a value above it; and its place."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    names = [o.name for o in session.get_outputs()]
    worst, last = (0.0, "none"), {}
    for k, call in enumerate(calls):
        given = {**{name.removesuffix("_next"): values for name, values in last.items() if name.endswith("_next")}, **call["in"]}
        found = session.run(names, {i.name: given[i.name].astype(types[i.type]) for i in session.get_inputs()})
        last = dict(zip(names, found))
        for name, expected in call["out"].items():
            if last[name].shape != expected.shape:
                return 1e30, f"{name} {last[name].shape}, not {expected.shape}"
            error = float(np.max(np.abs(last[name] - expected) / np.maximum(1, np.abs(expected))))
            if not error <= worst[0]:
                worst = error, f"{name} in call {k}"
    return worst


def planted(path):
    """The model with one mistake each: (what it is, bytes)."""
    def changed(change):
        model = onnx.load(path)
        change(model.graph)
        return model.SerializeToString()

    def weight(graph, name, change):
        tensor = next(t for t in graph.initializer if t.name == name)
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(change(onnx.numpy_helper.to_array(tensor))), name))

    def drop_state(graph):
        del next(n for n in graph.node if n.op_type == "LSTM").input[5:7]

    hidden = 12
    swapped = lambda w: np.concatenate([w[:, :hidden], w[:, 2 * hidden : 3 * hidden], w[:, hidden : 2 * hidden], w[:, 3 * hidden :]], 1)
    yield "two gates swapped", changed(lambda g: weight(g, "lstm.weight_ih_l0.onnx", swapped))
    yield "a gate's weights transposed", changed(lambda g: weight(
        g, "lstm.weight_hh_l0.onnx", lambda w: np.concatenate([w[:, :hidden].transpose(0, 2, 1), w[:, hidden:]], 1)))
    yield "the state dropped", changed(drop_state)


def main(cases, timeseries):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([cases, name], check=True)
        paths, failed = sorted(folder.glob("*.onnx")), 0
        assert len(paths) > 45, paths
        for path in paths:
            model = onnx.load(path)
            onnx.checker.check_model(model, full_check=True)
            for graph_input in model.graph.input:
                fixed = [d.dim_value for d in graph_input.type.tensor_type.shape.dim]
                assert 0 in fixed, f"{path.stem}: {graph_input.name} has no dimension that is free"
            error, place = largest_error(path.read_bytes(), tensors(path.with_suffix(".safetensors")))
            ops = {n.op_type for n in model.graph.node} & {"LSTM", "GRU", "RNN", "Scan"}
            print(f"{path.stem:28} {error:.1e} {place:32} {' '.join(sorted(ops))}")
            failed += not error <= 1e-5
        subprocess.run([timeseries, "export", "pretrained", "--to", "onnx", "--out", folder / "by-program"], check=True)
        assert (folder / "by-program").read_bytes() == (folder / "pretrained.onnx").read_bytes(), "the program's forecaster is another"
        for what, model in planted(folder / "lstm.onnx"):
            error, _ = largest_error(model, tensors(folder / "lstm.safetensors"))
            print(f"planted, {what}: {error:.1e}")
            failed += error <= 1e-3
    print(f"{len(paths)} models, {failed} failed")
    return failed > 0


with_packages(pathlib.Path(sys.argv[2]))
import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort

sys.exit(main(sys.argv[1], sys.argv[3]))
