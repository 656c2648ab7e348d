"""Large files of series: how fast one is read, and how fast a model of many series trains beside one of a single series.

    python3 bench/series_large.py read --megabytes 1000 --timeseries build/examples/timeseries/timeseries
    python3 bench/series_large.py train --series 1000 --rows 500 --timeseries build/examples/timeseries/timeseries

`read` writes a CSV file of times and 16 columns of numbers and lets `timeseries train --dry-run` read it, cut its windows and count the
model's parameters. The speed is the file's bytes over all of that program's time, the memory its resident peak over 8 bytes for each
number. `train` trains the same GRU for an epoch on a file of many series and on one of a single series of as many values, in turns,
and compares values a second; the memory is the resident peak.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import built

COLUMNS = 16
RECIPE = """[model]
cell = "gru"
hidden = 32
segment = 12
normalization = "last"
[data]
window = 48
horizon = 12
period = 24
ets = false
theta = false
batch = 128
time = "t"
{more}
[training]
epochs = 1
keep = "last"
[optimizer]
learning_rate = 0.003
"""


def measured(words):
    """Output, seconds and resident peak in bytes of a program."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(words, stdout=out, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), errors.seek(0)
        if child.returncode:
            raise SystemExit(errors.read())
        return out.read(), seconds, 1024 * usage.ru_maxrss


def read(options):
    draw = random.Random(1)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "mine.toml").write_text(RECIPE.format(more=""))
        lines = [",".join(f"{draw.gauss(100, 20):.4f}" for _ in range(COLUMNS)) for _ in range(1000)]
        rows = written = 0
        with open(folder / "large.csv", "w") as file:
            written += file.write("t," + ",".join(f"c{k}" for k in range(COLUMNS)) + "\n")
            while written < options.megabytes * 1_000_000:
                written += file.write("".join(f"{rows + k},{line}\n" for k, line in enumerate(lines)))
                rows += len(lines)
        numbers = rows * (COLUMNS + 1)
        for _ in range(options.rounds):
            _, seconds, peak = measured([options.timeseries, "train", str(folder / "mine.toml"), "--csv", str(folder / "large.csv"), "--dry-run"])
            print(f"{written / 1e6:.0f} MB, {numbers:,} numbers: {written / 1e6 / seconds:.0f} MB/s, at most {peak / 1e6:.0f} MB, "
                  f"{peak / 8 / numbers:.2f} times the numbers")


def train(options):
    draw = random.Random(2)
    values = [f"{draw.gauss(100, 20):.3f}" for _ in range(options.series * options.rows)]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "many.toml").write_text(RECIPE.format(more='id = "id"'))
        (folder / "one.toml").write_text(RECIPE.format(more=""))
        (folder / "one.csv").write_text("t,y\n" + "".join(f"{t},{v}\n" for t, v in enumerate(values)))
        (folder / "many.csv").write_text("id,t,y\n" + "".join(f"s{k // options.rows},{k % options.rows},{v}\n" for k, v in enumerate(values)))
        speeds, peaks = {"many": [], "one": []}, {}
        for round_ in range(options.rounds):
            for kind in speeds:
                out, _, peak = measured([options.timeseries, "train", str(folder / f"{kind}.toml"), "--csv", str(folder / f"{kind}.csv"),
                                         "--out", str(folder / f"{kind}{round_}"), "--threads", str(options.threads), "--json"])
                speeds[kind].append(json.loads(out.splitlines()[-1])["values_per_second"])
                peaks[kind] = max(peaks.get(kind, 0), peak)
        many, one = (statistics.median(speeds[kind]) for kind in ("many", "one"))
        print(f"{options.series} series of {options.rows} rows: {many:,.0f} values/s, at most {peaks['many'] / 1e6:.0f} MB; "
              f"one of {len(values):,}: {one:,.0f} values/s, {peaks['one'] / 1e6:.0f} MB; ratio {many / one:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function, numbers in [("read", read, {"megabytes": 1000, "rounds": 3}),
                                    ("train", train, {"series": 1000, "rows": 500, "rounds": 3, "threads": 2})]:
        sub = commands.add_parser(name)
        sub.set_defaults(function=function)
        sub.add_argument("--timeseries", type=built, default="build/examples/timeseries/timeseries")
        sub.add_argument("--folder", help="where the files are written, in place of the folder for temporary ones")
        for option, default in numbers.items():
            sub.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    sys.exit(main())
