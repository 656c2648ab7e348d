#!/usr/bin/env python3
"""Gives exported models to ONNX Runtime: its values are the layers' own, over 200 steps with state, within 1e-5 of float32.
C headers of the same models are compiled and step likewise, and what the programs export forecasts and scores as they do.

onnx_test.py CASES BUILD TIMESERIES PTB     CASES: the program onnx_cases; BUILD: the build's folder, where packages go; the programs

Packages: onnx and onnxruntime, of the interpreter's own, or else from PyPI into BUILD/onnx-packages. Skipped if neither has them,
but for the headers.
"""
import csv
import datetime
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

PACKAGES = ["onnx", "onnxruntime"]
METADATA = {  # a text is a part of what stands there
    "ptb_tied": {"vocabulary": ["<eos>", *(f"w{k}" for k in range(1, 23))], "recipe": "tied = true", "program": "unroll ptb"},
    "series_direct_highway": {"inputs": ["a", "b", "c"], "targets": ["c", "a"], "recipe": "highway = 5"},
    "series_direct_known": {"inputs": ["a", "b", "c", "day 0", "day 1"], "targets": ["a", "c"]},
    "series_detector": {"inputs": ["a", "b"], "targets": ["on"], "recipe": 'label = "on"'}}


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
                sys.exit(of_headers(*sys.argv[1:2], *sys.argv[3:5]) or 77)
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


# --- C headers -------------------------------------------------------------------------------------------------------------------

def run(program, words, folder, given=None):
    if os.sep in str(program):
        program = os.path.abspath(program)
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, input=given)
    assert done.returncode == 0, f"{pathlib.Path(program).name} {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


def compiled(folder, source, name="in-c"):
    (folder / "in-c.c").write_text(source)
    run("gcc", ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "in-c.c", "-o", name, "-lm"], folder)
    return folder / name


def errors_in_c(folder):
    """How far the headers that onnx_cases has written lie from RealTimeStep, in shares of the largest value; by case."""
    names = sorted(path.stem for path in folder.glob("*.c"))
    source = "#include <stdio.h>\n" + "".join(f'#include "{name}.c"\n' for name in names) + "int main(void) {\n" + "".join(
        f'  printf("{name} %g\\n", {name}_error());\n' for name in names) + "}\n"
    lines = run(compiled(folder, source), [], folder).splitlines()
    assert len(lines) == len(names) > 60, lines
    return {name: float(error) for name, error in map(str.split, lines)}


# What is set, of models of a series of days: those that are read in another way come with another file.
SERIES = [
    ["model.normalization=window", 'data.known=["promo"]'],
    ["model.normalization=last", 'data.known=["promo"]', "training.loss=quantile", "model.layers=2"],
    ["model.architecture=linear", "model.normalization=window", 'data.known=["promo", "calendar"]', 'data.calendar=["weekday"]'],
    ["model.architecture=segment-rnn", "model.segment=2", "scaling.transform=log", "training.loss=quantile",
     'data.channels=["sales", "other"]'],
    ["model.shared_channels=true", 'data.calendar=["weekday"]', "model.normalization=window", "model.cell=gru"],
    ['data.targets=["other"]', "model.highway=3", "scaling.kind=minmax", "model.projection=3"],
    ["data.file=shops.csv", "data.id=shop", 'data.known=["promo"]', "model.normalization=last"],
    ["data.file=holes.csv", "data.missing=mask", "model.normalization=window", "model.layer_norm=true"],
    ["data.bounds=[29.5, 31.0]", "training.loss=quantile", 'data.targets=["sales"]'],
    ["data.file=large.csv"],
    ["data.label=promo", "model.highway=2", "model.normalization=window"]]
WINDOW, HORIZON, DAYS = 6, 4, 150


def write_series(folder):
    """Of the files by name: their rows, and those to come."""
    lot = random.Random(4)
    days = [datetime.date(2021, 1, 1) + datetime.timedelta(k) for k in range(DAYS + HORIZON)]
    rows = {name: [] for name in ("days", "shops", "holes", "large")}
    for k, day in enumerate(days):
        one = lambda level: {"day": str(day), "sales": round(level + 4 * math.sin(k) + lot.random(), 3),
                             "other": round(900 + 70 * lot.random(), 2), "promo": int(lot.random() < 0.4)}
        rows["days"].append(one(30))
        rows["large"].append({**one(30), "sales": round(1.7e9 + 1000 * math.sin(0.9 * k) + 100 * lot.random(), 3)})
        rows["holes"].append({**one(30), **({"sales": ""} if k % 7 == 3 else {})})
        rows["shops"] += [{"shop": shop, **one(level)} for shop, level in (("north", 20), ("south", 500))]
    for name, all_rows in rows.items():
        ahead = HORIZON * (2 if name == "shops" else 1)
        for file, some, columns in ((f"{name}.csv", all_rows[:-ahead], list(all_rows[0])), (
                f"{name}-ahead.csv", all_rows[-ahead:], [c for c in all_rows[0] if c not in ("sales", "other")])):
            with open(folder / file, "w", newline="") as out:
                writer = csv.DictWriter(out, columns, extrasaction="ignore")
                writer.writeheader(), writer.writerows(some)
    recipe = f"""[model]\nhidden = 6\n[data]\nfile = "days.csv"\nwindow = {WINDOW}\nhorizon = {HORIZON}
period = 7\nets = false\ntheta = false\n[training]\nepochs = 3\n[optimizer]\nlearning_rate = 0.03\n"""
    (folder / "days.toml").write_text(recipe)
    (folder / "labels.toml").write_text(re.sub("(horizon|period|ets|theta) .*\n", "", recipe))
    return rows


def value(name, rows, k):
    """An input of row k: a column, the last value if it has none, whether it has none, or of a calendar."""
    if name.endswith(" missing"):
        return float(rows[k][name.removesuffix(" missing")] == "")
    if name.startswith("weekday_"):
        angle = 2 * math.pi * datetime.date.fromisoformat(rows[k]["day"]).weekday() / 7
        return math.sin(angle) if name.endswith("sin") else math.cos(angle)
    return float(rows[k][name]) if rows[k][name] != "" else value(name, rows, k - 1)


def check_series(timeseries, folder, onnx_too):
    files = write_series(folder)
    for number, keys in enumerate(SERIES):
        sets = [word for key in keys for word in ("--set", key)]
        model, out = f"m{number}/best.safetensors", f"m{number}"
        detects = "data.label=promo" in keys
        run(timeseries, ["train", "labels.toml" if detects else "days.toml", "--out", out, "--threads", "1", "--quiet", *sets], folder)
        for form, file in (("c", f"{out}.h"), ("c8", f"{out}_8bit.h"), ("onnx", f"{out}.onnx")):
            run(timeseries, ["export", model, "--to", form, "--out", file], folder)
        header = (folder / f"{out}.h").read_text()
        assert ("int8_t " + out not in header) and "int8_t " + out in (folder / f"{out}_8bit.h").read_text(), keys
        inputs, targets = (words.split(", ") for words in re.search(r"x: (.*) of each row\. The output: (.*) \*/", header).groups())
        places, size = map(int, re.search(rf"{out}_step\((?:int series, )?const double x\[(\d+)\], (?:float|double) \w+\[(\d+)\]\)", header).groups())
        assert not any(key.startswith("data.bounds") for key in keys) or "Bounds of the output: sales from 29.5 to 31." in header, keys
        several = "data.id=shop" in keys
        source = "#include <stdio.h>\n" + f'#include "{out}.h"\nint main(void) {{\n  static double x[{places}];\n  static {"float" if detects else "double"} y[{size}];\n' + (
            '  int series;\n  if (scanf("%d", &series) != 1) return 1;\n' if several else "") + (
            f'  for (int k = 0; k < {places}; ++k)\n    if (scanf("%lf", x + k) != 1) return 1;\n'
            f"  {out}_step({'series, ' if several else ''}x, y);\n"
            f'  for (int k = 0; k < {size}; ++k) printf("%.17g\\n", (double)y[k]);\n}}\n')
        program = compiled(folder, source, out + "-in-c")
        name = next((key[10:-4] for key in keys if key.startswith("data.file=")), "days")
        known = any(key.startswith("data.known=") for key in keys)
        future = ["--future", f"{name}-ahead.csv"] if known else []
        told = list(csv.DictReader(run(timeseries, [*(["detect", model, "--csv", "days.csv"] if detects else ["forecast", model, *future])], folder).splitlines()))
        for place, shop in enumerate(["north", "south"] if several else [""]):
            rows = [row for row in files[name] if row.get("shop", "") == shop]
            read = range(DAYS - WINDOW, len(rows) if known else DAYS)
            # What is not known ahead may be anything.
            x = [7.0 if k >= DAYS and c in ("sales", "other") else value(c, rows, k) for k in read for c in inputs]
            assert len(x) == places, keys
            answers = {"C": [float(line) for line in run(program, [], folder, " ".join(map(str, [place] * several + x))).split()]}
            if onnx_too:
                session = ort.InferenceSession(folder / f"{out}.onnx", providers=["CPUExecutionProvider"])
                given = {"x": np.array(x, np.float64).reshape(len(read), 1, len(inputs)), **({"series": np.array([place])} if several else {})}
                answers["ONNX"] = session.run(None, given)[0].reshape(-1).tolist()
            own = [row for row in told if row.get("shop", "") == shop]
            if detects:
                right = [float(own[-1]["probability"])]
            else:
                right = [float(row[target]) for row in own for target in targets]
            for form, found in answers.items():
                assert len(found) % len(right) == 0, (keys, form)
                middle = found[(len(found) // len(right)) // 2 * len(right) :][: len(right)]
                error = max(abs(a - b) / min(max(1, abs(b)), 1000) for a, b in zip(middle, right))  # of large values by their waves
                print(f"{form:5} {' '.join(keys):110} {shop:6} {error:.1e}")
                assert error < 1e-4, (keys, form, middle, right)


# Of models of a text.
TEXT = [["model.cell=gru", "model.tied=true"], ["model.softmax=mixture", "model.components=3", "model.projection=6"],
        ["model.architecture=transformer", "model.tied=true", "model.heads=2", "model.memory=4"],
        ["model.architecture=recurrent-attention", "model.heads=2", "model.memory=5", "model.layer_norm=true"],
        ["model.mogrifier=3", "model.zoneout_h=0.1", "model.zoneout_c=0.1", "model.peepholes=true", "model.layers=2"],
        ["model.cell=rnn", "model.nonlinearity=relu", "model.layers=2", "model.residual=true"]]
SCORES_IN_C = """#include <stdio.h>
#include <stdlib.h>
#include "MODEL.h"
int main(void) {
  const int words = (int)(sizeof MODEL_words / sizeof MODEL_words[0]);
  static float y[sizeof MODEL_words / sizeof MODEL_words[0]];
  static MODEL_state state;
  char word[100];
  int last = 0, count = 0;
  double lost = 0;
  MODEL_reset(&state);
  while (last < words && strcmp(MODEL_words[last], "<eos>")) ++last;
  while (scanf("%99s", word) == 1) {
    int next = 0;
    while (next < words && strcmp(MODEL_words[next], word)) ++next;
    if (next == words) return 1;
    MODEL_step(&state, last, y);
    double sum = 0;
    for (int k = 0; k < words; ++k) sum += exp((double)y[k]);
    lost += log(sum) - (double)y[next], last = next, ++count;
  }
  printf("%.9g\\n", exp(lost / count));
  return 0;
}
"""


def check_text(ptb, folder, onnx_too):
    lot = random.Random(4)
    for split, lines in (("train", 150), ("valid", 5), ("test", 20)):
        (folder / "text").mkdir(exist_ok=True)
        text = [[lot.choice(["a", "the", "one"]), lot.choice(["dog", "cat"]), lot.choice(["sits", "runs \\"])] * (1 + k % 2) for k in range(lines)]
        (folder / "text" / f"{split}.txt").write_text("".join(" ".join(line) + "\n" for line in text))
    (folder / "text.toml").write_text("""[model]\nembedding = 8\nhidden = 8\nlayers = 1\ndropout = 0.1\n[data]\ncorpus = "text"
batch = 4\nbptt = 8\n[training]\nepochs = 2\n[optimizer]\nkind = "adam"\nlearning_rate = 0.02\n""")
    words = (folder / "text" / "test.txt").read_text().replace("\n", " <eos> ").split()
    for number, keys in enumerate(TEXT):
        out = f"t{number}"
        sets = [word for key in keys for word in ("--set", key)]
        run(ptb, ["train", "text.toml", "--data", "text", "--out", out, "--threads", "1", "--quiet", *sets], folder)
        for form, file in (("c", f"{out}.h"), ("c8", f"{out}_8bit.h"), ("onnx", f"{out}.onnx")):
            run(ptb, ["export", f"{out}/last.safetensors", "--to", form, "--out", file], folder)
        right = json.loads(run(ptb, ["evaluate", f"{out}/last.safetensors", "--data", "text", "--json"], folder))["test_perplexity"]
        found = {bits: float(run(compiled(folder, SCORES_IN_C.replace("MODEL", out + bits)), [], folder, " ".join(words)))
                 for bits in ("", "_8bit")}
        if onnx_too:
            session = ort.InferenceSession(folder / f"{out}.onnx", providers=["CPUExecutionProvider"])
            of_them = json.loads(session.get_modelmeta().custom_metadata_map["vocabulary"])
            ids = [of_them.index(word) for word in ["<eos>", *words]]
            state = {i.name: np.zeros([i.shape[0], 1, i.shape[2]], np.float32) for i in session.get_inputs() if i.name != "ids"}
            scores = [o.name for o in session.get_outputs() if o.name in ("logits", "log_p")]
            y = session.run(scores, {"ids": np.array(ids[:-1])[:, None], **state})[0][:, 0].astype(np.float64)
            found["onnx"] = math.exp(np.mean(np.log(np.exp(y).sum(1)) - y[np.arange(len(words)), ids[1:]]))
        print(f"{' '.join(keys):110} {right:.6f} {found}")
        assert abs(found["_8bit"] / right - 1) < 0.03 and found["_8bit"] != found[""], (keys, found, right)
        assert all(abs(found[form] / right - 1) < 1e-5 for form in found if form != "_8bit"), (keys, found, right)


def of_headers(cases, timeseries, ptb, onnx_too=False, folder=None):
    """The number of failed cases."""
    with tempfile.TemporaryDirectory() as name:
        if folder is None:
            subprocess.run([cases, name], check=True)
        wrong = {name: error for name, error in errors_in_c(folder or pathlib.Path(name)).items() if not error <= 1e-6}
        check_series(timeseries, pathlib.Path(name), onnx_too)
        check_text(ptb, pathlib.Path(name), onnx_too)
    print(f"headers: {wrong or 'none'} failed")
    return len(wrong)


def main(cases, timeseries, ptb):
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
        for name, told in METADATA.items():
            found = {one.key: one.value for one in onnx.load(folder / f"{name}.onnx").metadata_props}
            for key, value in told.items():
                right = value in found[key] if isinstance(value, str) else value == json.loads(found[key])
                assert right, f"{name}: {key} is {found[key]}"
        subprocess.run([timeseries, "export", "pretrained", "--to", "onnx", "--out", folder / "by-program"], check=True)
        assert (folder / "by-program").read_bytes() == (folder / "pretrained.onnx").read_bytes(), "the program's forecaster is another"
        for what, model in planted(folder / "lstm.onnx"):
            error, _ = largest_error(model, tensors(folder / "lstm.safetensors"))
            print(f"planted, {what}: {error:.1e}")
            failed += error <= 1e-3
        failed += of_headers(cases, timeseries, ptb, True, folder)
    print(f"{len(paths)} models, {failed} failed")
    return failed > 0


with_packages(pathlib.Path(sys.argv[2]))
import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort

sys.exit(main(sys.argv[1], *sys.argv[3:5]))
