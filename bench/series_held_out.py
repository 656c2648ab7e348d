"""`timeseries forecast` on two hundred synthetic series of kinds that training never draws, beside the statisticians.

    pip install statsforecast
    python3 bench/series_held_out.py --timeseries build/examples/timeseries/timeseries

The last 12 of 192 rows are forecast, once. All are told the season that the generator tells. A series that lacks values is left out,
as is one whose seasonal naive forecast makes no error; both are counted.
"""

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

from programs import built
from series_competitions import forecast_by_peer
from series_measures import geometric_mean, ranks, rmse, seasonal_naive
from series_tables import LEAST_RATIO

PEERS = ("AutoETS", "AutoTheta", "AutoCES")
OURS = {"combination": [], "the network alone": ["--members", "pretrained"]}


def by_ours(program, before, season, steps, words):
    """The forecast and both ends of its interval."""
    with tempfile.TemporaryDirectory() as folder:
        read, out = Path(folder) / "series.csv", Path(folder) / "next.csv"
        read.write_text("value\n" + "".join(f"{v!r}\n" for v in before), encoding="utf-8")
        subprocess.run([program, "forecast", read, "--steps", str(steps), "--out", out, "--set", f"data.period={season}", *words],
                       check=True, capture_output=True)
        with open(out, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return tuple([float(r[key]) for r in rows] for key in ("value", "value_low", "value_high"))


def generated(options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.csv"
        subprocess.run([options.timeseries, "generate", "--held-out", "--count", str(options.count), "--rows", "192", "--out", path], check=True)
        found = {}
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["series"], []).append(float(row["value"]) if row["value"] else None)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timeseries", type=built, default="build/examples/timeseries/timeseries", help="the program")
    parser.add_argument("--count", type=int, default=200, help="series")
    options = parser.parse_args()
    steps, ratios, places, inside, left_out = 12, {}, {}, {}, 0
    for name, values in generated(options).items():
        _, rest = name.split("-", 1)
        kind, season = rest.rsplit("-", 1)
        before, after, season = values[:-steps], values[-steps:], int(season)
        base = None if None in values else seasonal_naive(before, season, steps)
        if not base or not rmse(after, base):
            left_out += 1
            continue
        scores = {"seasonal naive": rmse(after, base)}
        for peer in PEERS:
            scores[peer] = rmse(after, forecast_by_peer(peer, before, season, steps).get("forecast", base))
        for ours, words in OURS.items():
            middle, low, high = by_ours(options.timeseries, before, season, steps, words)
            scores[ours] = rmse(after, middle)
            for part in (kind, "all"):
                inside.setdefault((ours, part), []).extend(l <= y <= h for l, y, h in zip(low, after, high))
        for (method, error), place in zip(scores.items(), ranks(list(scores.values()))):
            for part in (kind, "all"):
                ratios.setdefault((method, part), []).append(error / scores["seasonal naive"])
                places.setdefault((method, part), []).append(place)
    kinds = sorted({part for _, part in ratios} - {"all"}) + ["all"]
    methods = sorted({m for m, _ in ratios}, key=lambda m: geometric_mean(ratios[m, "all"], LEAST_RATIO))
    print("| method | " + " | ".join(f"{k} ({len(ratios['seasonal naive', k])})" for k in kinds) + " | mean rank |\n| --- |" + " ---: |" * (len(kinds) + 1))
    for m in methods:
        cells = [f"{geometric_mean(ratios[m, k], LEAST_RATIO):.3f}" for k in kinds]
        print(f"| {m} | " + " | ".join(cells) + f" | {sum(places[m, 'all']) / len(places[m, 'all']):.2f} |")
    for m in OURS:
        print(f"\n{m}, coverage of the 80 % interval: " + ", ".join(f"{k} {100 * sum(inside[m, k]) / len(inside[m, k]):.1f}" for k in kinds))
    print(f"\nleft out: {left_out}")


if __name__ == "__main__":
    main()
