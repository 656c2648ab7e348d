#!/usr/bin/env python3
"""Computes every score of a model anew from the forecasts that `timeseries evaluate --out` writes and the series itself, and those
of the baselines from the series alone (plain_baselines.py), in plain Python, and compares each number that the program prints, to
its last digit: the tables of errors, of errors by step, and of intervals.

Usage: scores_test.py PROGRAM"""
import csv
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import plain_baselines

ROWS, TRAIN, VALID, WINDOW, HORIZON, PERIOD = 300, 210, 240, 8, 3, 6
ERRORS = ["scaled_mse", "scaled_mae", "rmse", "mae", "smape", "mase"]
RECIPE = """[model]
architecture = "linear"
normalization = "last"
[data]
window = 8
horizon = 3
period = 6
missing = "previous"
ets = false
ridge = true
MORE
[training]
epochs = 2
seed = 3
LOSS
"""
QUANTILES = 'loss = "quantile"\nquantiles = [0.05, 0.5, 0.95]'


def series():
    draw = random.Random(5)
    rows = []
    for t in range(ROWS):
        wave = math.sin(2 * math.pi * t / PERIOD)
        rows.append([20 + 0.05 * t + 4 * wave + draw.gauss(0, 1), 20 + 3 * wave + draw.gauss(0, 1 + t / ROWS)])
        if draw.random() < 0.05 and t:
            rows[-1][draw.randrange(2)] = None
    return rows


def scales(rows):
    """Of each channel the deviation of the observed training values, and the seasonal naive error there."""
    result = []
    for channel in range(2):
        y = [row[channel] for row in rows[:TRAIN]]
        seen = [v for v in y if v is not None]
        mean = math.fsum(seen) / len(seen)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in seen) / len(seen))
        steps = [abs(b - a) for a, b in zip(y, y[PERIOD:]) if a is not None and b is not None]
        result.append((deviation, math.fsum(steps) / len(steps)))
    return result


def baselines_of(rows, test, level):
    """By name, what `evaluate --out` would write of each baseline on the rows from `test` on, with intervals of this level."""
    channels = [plain_baselines.Channel([row[k] for row in rows]) for k in range(2)]
    found = plain_baselines.baselines(channels, TRAIN, WINDOW, HORIZON, PERIOD)
    deviations = [deviation for deviation, _ in scales(rows)]
    return {
        name: plain_baselines.scored_rows(channels, forecasts, TRAIN, test, ROWS, WINDOW, HORIZON, deviations, level)
        for name, forecasts in found.items()
    }


def scores(forecasts, of, level):
    """Of the rows of the file that are asked for."""
    tail = (1 - level) / 2
    found = {key: [] for key in ["scaled_mse", "scaled_mae", "mse", "mae", "smape", "mase", "coverage", "scaled_winkler", "scaled_pinball"]}
    for row in forecasts:
        if row["truth"] == "":
            continue
        y, f = float(row["truth"]), float(row["forecast"])
        deviation, naive = of[row["channel"]]
        found["scaled_mse"].append(((f - y) / deviation) ** 2)
        found["scaled_mae"].append(abs(f - y) / deviation)
        found["mse"].append((f - y) ** 2)
        found["mae"].append(abs(f - y))
        found["smape"].append(200 * abs(f - y) / (abs(f) + abs(y)))
        found["mase"].append(abs(f - y) / naive)
        if row["low"] == "":
            continue
        low, high = float(row["low"]), float(row["high"])
        outside = max(low - y, y - high, 0)
        found["coverage"].append(outside == 0)
        found["scaled_winkler"].append((high - low + outside / tail) / deviation)
        loss = sum(max(q * (y - end), (q - 1) * (y - end)) for q, end in [(tail, low), (0.5, f), (1 - tail, high)])
        found["scaled_pinball"].append(loss / 3 / deviation)
    means = {key: math.fsum(values) / len(values) for key, values in found.items() if values}
    means["rmse"] = math.sqrt(means.pop("mse"))
    return means


def as_printed(text, value):
    """The value with as many digits as the text has."""
    if text.endswith("%"):
        return f"{100 * value:.1f} %".replace(" ", "")
    decimals = len(text.partition(".")[2])
    return f"{value:.{decimals}f}"


def check_line(line, name, expected, faults):
    """A line of a table: its name, then numbers in this order."""
    words = line[len(name):].replace(" %", "%").split()
    if len(words) != len(expected):
        faults.append(f"{line!r} has {len(words)} numbers, not {len(expected)}")
    for word, value in zip(words, expected):
        if word != as_printed(word, value):
            faults.append(f"{line!r}: {word} is {as_printed(word, value)} by the forecasts ({value!r})")


def check(program, folder, name, level, loss="", more=""):
    def run(*words):
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    rows = series()
    (folder / "mine.toml").write_text(RECIPE.replace("LOSS", loss).replace("MORE", more))
    with open(folder / "series.csv", "w") as file:
        file.write("a,b\n" + "".join(f"{'' if a is None else repr(a)},{'' if b is None else repr(b)}\n" for a, b in rows))
    run("train", "mine.toml", "--csv", "series.csv", "--out", f"run-{name}")
    model = f"run-{name}/best.safetensors"
    out = f"out-{name}.csv"
    printed = run("evaluate", model, "--csv", "series.csv", "--out", out)
    told = json.loads(run("evaluate", model, "--csv", "series.csv", "--json"))["scores"]["test"]["the model"]
    with open(folder / out) as file:
        forecasts = list(csv.DictReader(file))
    of = dict(zip("ab", scales(rows)))
    faults = []
    # The rows are those of the test, each channel and step once a window; truth is the file's.
    windows = told["windows"]
    if len(forecasts) != windows * HORIZON * 2:
        faults.append(f"{len(forecasts)} forecasts of {windows} windows")
    for row in forecasts:
        y = rows[int(row["time"])]["ab".index(row["channel"])]
        if int(row["time"]) != int(row["origin"]) + int(row["step"]) - 1 or row["truth"] != "" and float(row["truth"]) != y or y is None and row["truth"] != "":
            faults.append(f"{row}: the file has {y}")
    overall = scores(forecasts, of, level)
    steps = [scores([r for r in forecasts if int(r["step"]) == k + 1], of, level) for k in range(HORIZON)]
    channels = {c: scores([r for r in forecasts if r["channel"] == c], of, level) for c in "ab"}
    parts = [("all", told, overall), *((f"step {k + 1}", told["by_step"][k], steps[k]) for k in range(HORIZON))]
    parts += [(f"channel {c}", told["by_channel"][c], channels[c]) for c in "ab"]
    for part, printed_scores, own in parts:
        for key, value in own.items():
            if not math.isclose(printed_scores[key], value, rel_tol=1e-9):
                faults.append(f"{part}: {key}: {printed_scores[key]} is {value} by the forecasts")
    for k, value in enumerate(told["coverage_by_step"]):
        if not math.isclose(value, steps[k]["coverage"], rel_tol=1e-12):
            faults.append(f"coverage of step {k + 1}: {value} is {steps[k]['coverage']}")
    lines = [line.strip() for line in printed.splitlines()]
    of_intervals = ["coverage", "scaled_winkler", "scaled_pinball"]
    of_model = [line for line in lines if line.startswith("the model ") and line.split()[2][0].isdigit()]
    if len(of_model) != 2:
        sys.exit(f"{len(of_model)} lines of the model's scores, not two:\n{printed}")
    check_line(of_model[0], "the model", [overall[k] for k in ERRORS], faults)
    check_line(of_model[1], "the model", [overall[k] for k in of_intervals], faults)
    # The errors by step have a table of their own, the model in its first column, then the baselines.
    found = baselines_of(rows, VALID, level)
    told = json.loads(run("evaluate", model, "--csv", "series.csv", "--json"))["scores"]["test"]
    # A new baseline needs no second definition; one that is defined there is left out on both sides, or on none.
    defined = ("last value", "drift", "seasonal naive", "mean of training", "ridge regression", "Theta")
    if {"the model", *found} != {name for name in told if name in found or name.startswith(defined) or name == "the model"}:
        faults.append(f"{sorted(told)} are in the table, and {sorted(found)} are computed here")
    by_step = {"the model": [steps[k]["scaled_mse"] for k in range(HORIZON)]}
    for baseline, own in found.items():
        overall = scores(own, of, level)
        by_step[baseline] = [scores([r for r in own if r["step"] == k + 1], of, level)["scaled_mse"] for k in range(HORIZON)]
        for key in ERRORS + of_intervals:
            if not math.isclose(told[baseline][key], overall[key], rel_tol=1e-6):
                faults.append(f"{baseline}: {key}: {told[baseline][key]} is {overall[key]} by its definition")
        of_baseline = [line for line in lines if line.startswith(baseline + "  ")]
        check_line(of_baseline[0], baseline, [overall[k] for k in ERRORS], faults)
        check_line(of_baseline[1], baseline, [overall[k] for k in of_intervals], faults)
    # A wide table goes on below itself, each time under names of its own.
    shown = set()
    begin = next(i for i, line in enumerate(lines) if line.startswith("MSE scaled by step")) + 1
    while lines[begin].startswith("step "):
        names = re.split(r"\s{2,}", lines[begin])[1:]
        for k in range(HORIZON):
            cells = lines[begin + 1 + k].split()[1:]
            if len(cells) != len(names):
                faults.append(f"the table by step has the columns {names}, and a row of {len(cells)} numbers")
            for name, cell in zip(names, cells):
                if name in by_step:
                    check_line(f"{k + 1} {cell}", str(k + 1), [by_step[name][k]], faults)
        shown.update(names)
        begin += HORIZON + 2
    if shown != {"the model", *told}:
        faults.append(f"the table by step has {sorted(shown)}, not {sorted({'the model', *told})}")
    return faults


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        faults = check(program, folder, "point", 0.8) + check(program, folder, "quantiles", 0.9, loss=QUANTILES)
        # Scores keep the unit of the values, whatever the networks see.
        faults += check(program, folder, "logarithms", 0.8, more='[scaling]\ntransform = "log"\n')
    print("\n".join(faults) or "every score printed is that of the forecasts")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
