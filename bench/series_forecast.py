"""Bare CSV files to forecasts: `timeseries train FILE.csv` on sixteen ordinary series, beside all baselines.

    python3 bench/series_from_packages.py wheels series
    python3 bench/series_forecast.py series --timeseries build/examples/timeseries/timeseries --out table.json

Each series is given as it is, with no option but its column and the number of steps, and one that the program asks for. 80 % of the rows are for fitting; all
methods are scored on all windows of the rest, and know each row once it has passed. RMSE is relative to the seasonal naive forecast of the season that was found, or to the last value.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import built
from series_measures import geometric_mean

SERIES = [  # file, column, steps
    ("lynx", "value", 3), ("nile", "value", 5), ("sunspots", "value", 5), ("macrodata", "unemp", 4),
    ("co2", "value", 26), ("austres", "value", 4), ("heartrate", "value", 5), ("ausbeer", "value", 8),
    ("wineind", "value", 12), ("woolyrnq", "value", 4), ("us-employment", "nonfarm", 6), ("seattle-weather", "temp_max", 7),
    ("sf-temps", "temp", 24), ("taylor", "value", 48), ("bike-sharing", "cnt", 7), ("elnino", "value", 12),
]
# What the program asks for by name: local times that skip the hour in which clocks are set forward.
ASKED_FOR = {"sf-temps": ["--set", "data.gaps=allow"]}
MODEL = "combination"  # what `timeseries forecast FILE.csv` gives
# All are fitted to the first 80 %. The network that `train` trains takes no part, and an epoch is enough.
SPLIT = ("data.train=0.8", "data.valid=0", "training.keep=last", "training.epochs=1")


def run(options, name, column, steps):
    with tempfile.TemporaryDirectory() as folder:
        words = [options.timeseries, "train", str(options.series / f"{name}.csv"), "--column", column, "--steps", str(steps),
                 "--out", f"{folder}/run", "--json"]
        words += ASKED_FOR.get(name, [])
        words += [word for pair in (*SPLIT, *options.set) for word in ("--set", pair)]
        begin = time.monotonic()
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
    if options.verbose:
        print(result.stderr, file=sys.stderr)
    if result.returncode != 0:
        return {"series": name, "error": result.stderr.strip().splitlines()[-1], "seconds": seconds}
    return {"series": name, "steps": steps, "seconds": seconds, "said": result.stderr,
            "scores": json.loads(result.stdout.splitlines()[-1])["scores"]["test"]}


def reference_of(scores):
    seasonal = [n for n in scores if n.startswith("seasonal naive") and not n.endswith("growth")]
    return scores[seasonal[0] if seasonal else "last value"]["rmse"]


def kind_of(method):
    """Without the numbers in parentheses, which differ from series to series."""
    return method.split(" (")[0] + (" times growth" if method.endswith("times growth") else "")


def table(results, title):
    """By method: relative RMSE on every series, its geometric mean and mean rank."""
    methods = {}
    for r in results:
        best = {}
        for method, s in r["scores"].items():
            if method == "the model":
                continue
            kind = kind_of(method)  # of two seasons the better one
            best[kind] = min(best.get(kind, math.inf), s["rmse"])
        order = sorted(best, key=best.get)
        for kind, rmse in best.items():
            methods.setdefault(kind, {})[r["series"]] = (rmse / reference_of(r["scores"]), order.index(kind) + 1)
    whole = {m: of for m, of in methods.items() if len(of) == len(results)}
    print(f"\n{title}: RMSE relative to seasonal naive (last value where there is no season)\n")
    print("| method | " + " | ".join(r["series"] for r in results) + " | geometric mean | mean rank |")
    print("| --- |" + " ---: |" * (len(results) + 2))
    rows = []
    for method, of in methods.items():
        cells = [f"{of[r['series']][0]:.3f}" if r["series"] in of else "" for r in results]
        mean = geometric_mean([v for v, _ in of.values()]) if method in whole else math.inf
        rank = sum(k for _, k in of.values()) / len(of)
        rows.append((mean, f"| {method} | " + " | ".join(cells) + (f" | {mean:.3f} | {rank:.2f} |" if method in whole else " | | |")))
    for _, row in sorted(rows):
        print(row)
    far = []
    for r in results:
        least = min(s["rmse"] for s in r["scores"].values())
        if r["scores"][MODEL]["rmse"] > 1.3 * least:
            far.append(f"{r['series']} ({r['scores'][MODEL]['rmse'] / least:.2f})")
    print(f"\nworse than 1.3 times the best: {', '.join(far) or 'none'}")


def intervals(results):
    print("\n80 % intervals of the combination; Winkler scaled, and that of the best baseline by it\n")
    print("| series | values | covered | allowed | Winkler | best baseline | seconds |")
    print("| --- | ---: | ---: | --- | ---: | --- | ---: |")
    within, counted, held, winkler = 0, 0, 0, 0
    for r in results:
        model = r["scores"][MODEL]
        values = model["windows"] * r["steps"]
        n = (model["windows"] + r["steps"] - 1) / r["steps"]
        slack = 2 * math.sqrt(0.16 / n)
        coverage = model.get("coverage")
        baselines = {m: s["scaled_winkler"] for m, s in r["scores"].items() if m != MODEL and s.get("scaled_winkler") is not None}
        best = min(baselines, key=baselines.get) if baselines else None
        if coverage is None:
            print(f"| {r['series']} | {values} | none | | | | {r['seconds']:.0f} |")
            continue
        within, counted = within + coverage * values, counted + values
        held += abs(coverage - 0.8) <= slack
        winkler += best is None or model["scaled_winkler"] <= baselines[best]
        print(f"| {r['series']} | {values} | {100 * coverage:.1f} | {100 * (0.8 - slack):.0f} to {min(100, 100 * (0.8 + slack)):.0f} "
              f"| {model['scaled_winkler']:.3f} | {best} {baselines[best]:.3f} | {r['seconds']:.0f} |")
    if counted:
        print(f"\npooled: {100 * within / counted:.1f} % of {counted} values; within its bounds on {held} of {len(results)} series; "
              f"Winkler no worse than the best baseline on {winkler}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", type=Path, help="folder of the CSV files")
    parser.add_argument("--timeseries", type=built, default="build/examples/timeseries/timeseries", help="the program")
    parser.add_argument("--part", choices=["first", "other", "all"], default="all", help="the first eight series, the other eight, or all")
    parser.add_argument("--only", nargs="*", help="series by name")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE, while the method is developed")
    parser.add_argument("--out", type=Path, help="all results, as JSON")
    parser.add_argument("--verbose", action="store_true", help="what the program says")
    options = parser.parse_args()
    chosen = {"first": SERIES[:8], "other": SERIES[8:], "all": SERIES}[options.part]
    if options.only:
        chosen = [s for s in SERIES if s[0] in options.only]
    results = []
    for name, column, steps in chosen:
        results.append(run(options, name, column, steps))
        r = results[-1]
        print(f"{name}: {r['error'] if 'error' in r else 'RMSE %.4g' % r['scores'][MODEL]['rmse']}, {r['seconds']:.1f} s", file=sys.stderr)
        if options.out:
            options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    good = [r for r in results if "error" not in r]
    for r in results:
        if "error" in r:
            print(f"not run: {r['series']}: {r['error']}")
    firsts, others = [s[0] for s in SERIES[:8]], [s[0] for s in SERIES[8:]]
    for title, names in (("Developed on", firsts), ("Scored once", others), ("All", firsts + others)):
        part = [r for r in good if r["series"] in names]
        if part and (title != "All" or len(part) > 8):
            table(part, title)
    if good:
        intervals(good)


if __name__ == "__main__":
    main()
