"""One series, written in the ways in which people's programs write it, two ways at a time: each file is forecast as the plain one is, or
refused in one line. Which are refused is kept in dialects.txt (compare.py).

dialects_test.py TIMESERIES [--record]"""
import concurrent.futures
import datetime
import itertools
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import compare

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
WEEKDAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
COUNT = 98
# The rows' times.
ROWS = {
    "hours": [datetime.datetime(2021, 1, 28) + datetime.timedelta(hours=i) for i in range(COUNT)],
    "days": [datetime.datetime(2021, 1, 4) + datetime.timedelta(days=i) for i in range(COUNT)],
    "months": [datetime.datetime(2014 + i // 12, i % 12 + 1, 1) for i in range(COUNT)],
    "quarters": [datetime.datetime(1998 + i // 4, i % 4 * 3 + 1, 1) for i in range(COUNT)],
    "years": [datetime.datetime(1921 + i, 1, 1) for i in range(COUNT)],
}
# How the plain file has them.
PLAIN = {
    "hours": (["time"], lambda t: [f"{t:%Y-%m-%d %H:%M}"]),
    "days": (["time"], lambda t: [f"{t:%Y-%m-%d}"]),
    "months": (["time"], lambda t: [f"{t:%Y-%m}"]),
    "quarters": (["time"], lambda t: [f"{t.year} Q{t.month // 3 + 1}"]),
    "years": (["year"], lambda t: [str(t.year)]),
}


class Sheet:
    """A file before it is written. Each way changes a part of it, in the order of WAYS."""

    def __init__(self, rows):
        self.rows = rows
        self.names, form = PLAIN[rows]
        self.times = [form(time) for time in ROWS[rows]]
        self.once = False  # but for the last part a row's time stands only where it is another one than above
        self.values = [1000.5 + 10 * (i % 7) for i in range(COUNT)]
        self.written = "{:.1f}".format
        self.missing = {}  # by row: the word in place of the value
        self.marks = {}  # by row: what stands behind the value
        self.left, self.right = [], []  # columns: (name, cell of a row)
        self.above, self.below, self.units = [], [], None
        self.separator, self.end, self.encoding, self.order = ",", "\n", "utf-8", range(COUNT)
        self.tail = ""
        self.series, self.by_time = [""], False  # names; whether the rows of one time stand together

    def cell(self, row, series):
        value = self.missing.get(row, self.written(self.values[row] + 100 * self.series.index(series)))
        return value + (self.marks.get(row, "") if value else "")

    def row(self, cells):
        quoted = [f'"{cell}"' if self.separator in cell or '"' in cell else cell for cell in cells]
        return self.separator.join(quoted) + self.tail

    def bytes(self):
        lines = list(self.above)
        ward = ["ward"] if len(self.series) > 1 else []
        lines.append(self.row([name for name, _ in self.left] + self.names + ward + ["x"] + [name for name, _ in self.right]))
        if self.units:
            lines.append(self.row(["" for _ in self.left] + ["" for _ in self.names + ward] + [self.units] + ["" for _ in self.right]))
        above = None
        rows = [(row, of) for row in self.order for of in self.series] if self.by_time else [(row, of) for of in self.series for row in self.order]
        for place, (row, series) in enumerate(rows):
            time = self.times[row]
            if self.once:
                time = ["" if above and time[:k + 1] == above[:k + 1] else part for k, part in enumerate(time[:-1])] + time[-1:]
            above = self.times[row]
            cells = [cell(place) for _, cell in self.left] + time + [series for _ in ward] + [self.cell(row, series)] + [cell(row) for _, cell in self.right]
            lines.append(self.row(cells))
        return (self.end.join(lines + self.below) + self.end).encode(self.encoding)


def times(rows, names, form, once=False):
    def way(sheet):
        sheet.names, sheet.times, sheet.once = names, [form(time) for time in ROWS[rows]], once
    way.rows = rows
    return way


def marked_time(mark):
    def way(sheet):
        sheet.times[-1] = sheet.times[-1][:-1] + [sheet.times[-1][-1] + mark]
    return way


def numbers(written, separator=None):
    def way(sheet):
        sheet.written = written
        if separator:
            sheet.separator = separator
    return way


def setting(**parts):
    def way(sheet):
        for name, value in parts.items():
            setattr(sheet, name, value)
    return way


def missing(rows, word=""):
    def way(sheet):
        sheet.missing = dict.fromkeys(rows, word)
    return way


def column(side, name, cell):
    def way(sheet):
        getattr(sheet, side).append((name, cell))
    return way


def shuffled():
    order = list(range(COUNT))
    random.Random(3).shuffle(order)
    return order


def comma(value):
    return f"{value:.1f}".replace(".", ",")


LAST = range(COUNT - 5, COUNT)
# By group: of each at most one is in a file.
WAYS = {
    "time": {
        "day/month/year": times("days", ["day"], lambda t: [f"{t:%d/%m/%Y}"]),
        "month/day/year": times("days", ["day"], lambda t: [f"{t.month}/{t.day}/{t.year}"]),
        "4 Jan 2021": times("days", ["day"], lambda t: [f"{t.day} {MONTHS[t.month - 1]} {t.year}"]),
        "Mon 04.01.2021": times("days", ["day"], lambda t: [f"{WEEKDAYS[t.weekday()]} {t:%d.%m.%Y}"]),
        "20210104": times("days", ["day"], lambda t: [f"{t:%Y%m%d}"]),
        "midnights": times("days", ["time"], lambda t: [f"{t}"]),
        "with a zone": times("days", ["time"], lambda t: [f"{t:%Y-%m-%dT%H:%M:%SZ}"]),
        "year, month, day": times("days", ["year", "month", "day"], lambda t: [str(t.year), str(t.month), str(t.day)]),
        "year and month once": times("days", ["year", "month", "day"], lambda t: [str(t.year), MONTHS[t.month - 1], str(t.day)], once=True),
        "Jan 2014": times("months", ["month"], lambda t: [f"{MONTHS[t.month - 1]} {t.year}"]),
        "Jan-14": times("months", ["month"], lambda t: [f"{MONTHS[t.month - 1]}-{t:%y}"]),
        "01/2014": times("months", ["month"], lambda t: [f"{t:%m/%Y}"]),
        "201401": times("months", ["month"], lambda t: [f"{t:%Y%m}"]),
        "2014M01": times("months", ["month"], lambda t: [f"{t:%YM%m}"]),
        "first days": times("months", ["month"], lambda t: [f"{t:%d.%m.%Y}"]),
        "year, month": times("months", ["year", "month"], lambda t: [str(t.year), str(t.month)]),
        "month, year": times("months", ["month", "year"], lambda t: [MONTHS[t.month - 1], str(t.year)]),
        "year once": times("months", ["year", "month"], lambda t: [str(t.year), MONTHS[t.month - 1]], once=True),
        "1998-Q1": times("quarters", ["period"], lambda t: [f"{t.year}-Q{t.month // 3 + 1}"]),
        "Q1 1998": times("quarters", ["period"], lambda t: [f"Q{t.month // 3 + 1} {t.year}"]),
        "year, quarter": times("quarters", ["year", "quarter"], lambda t: [str(t.year), f"Q{t.month // 3 + 1}"]),
        "1921": times("years", ["year"], lambda t: [str(t.year)]),
        "01/01/1921": times("years", ["date"], lambda t: [f"01/01/{t.year}"]),
        "28.01.2021 05:00": times("hours", ["time"], lambda t: [f"{t:%d.%m.%Y %H:%M}"]),
        "1/28/2021 5:00 AM": times("hours", ["time"], lambda t: [f"{t.month}/{t.day}/{t.year} {t.hour % 12 or 12}:00 {t:%p}"]),
        "date, hour": times("hours", ["date", "hour"], lambda t: [f"{t:%Y-%m-%d}", str(t.hour)]),
        "date, time": times("hours", ["date", "time"], lambda t: [f"{t:%d/%m/%Y}", f"{t:%H:%M:%S}"]),
        "date once, time": times("hours", ["date", "time"], lambda t: [f"{t:%d/%m/%Y}", f"{t:%H:%M}"], once=True),
    },
    "mark of a time": {"a star": marked_time("*"), "(p)": marked_time(" (p)")},
    "numbers": {
        "decimal commas": numbers(comma, ";"),
        "1,000.5": numbers("{:,.1f}".format),
        "1.000,5": numbers(lambda v: f"{v:,.1f}".translate(str.maketrans(",.", ".,")), ";"),
        "1 000,5": numbers(lambda v: f"{v:,.1f}".translate(str.maketrans(",.", "\u00a0,")), ";"),
        "$1,000.50": numbers(lambda v: f"${v:,.2f}"),
        "1000.5 kWh": numbers(lambda v: f"{v:.1f} kWh"),
        "1000.5 (p)": setting(marks=dict.fromkeys(range(90, 98), " (p)")),
    },
    "series": {"two, by name": setting(series=["north", "south"]), "two, by time": setting(series=["north", "south"], by_time=True)},
    "order": {"newest first": setting(order=list(reversed(range(COUNT)))), "in no order": setting(order=shuffled())},
    "missing": {
        "the first": missing(range(6)),
        "the last": missing(LAST),
        "one": missing([40]),
        "few, as '-'": missing([33, 40, 61], "-"),
        "few, as 'n/a'": missing([33, 40, 61], "n/a"),
        "few, as 'closed'": missing([33, 40, 61], "closed"),
    },
    "around": {
        "titles above": setting(above=["Report of the shop", "Made on 11/04/2021", ""]),
        "comments": setting(above=["# a comment", "# another"]),
        "a footer": setting(below=["", "Source: the shop"]),
        "units below the names": setting(units="kWh"),
    },
    "columns": {
        "an index": column("left", "", str),
        "an index with a name": column("left", "id", lambda place: str(place + 1)),
        "a place": column("left", "place", lambda place: "north"),
        "remarks": column("right", "remark", lambda row: "checked, again" if row == 20 else ""),
        "an empty column": column("right", "", lambda row: ""),
        "a plan": column("right", "plan", lambda row: str(row % 2)),
    },
    "bytes": {
        "a byte order mark": setting(encoding="utf-8-sig"),
        "Windows' lines": setting(end="\r\n"),
        "UTF-16": setting(encoding="utf-16"),
        "semicolons": setting(separator=";"),
        "tabs": setting(separator="\t"),
        "bars": setting(separator="|"),
        "a separator at each end": setting(tail=","),
    },
}


def rows_of(chosen):
    return WAYS["time"][chosen["time"]].rows if "time" in chosen else "days"


def out_of_order_once(chosen):
    """Nobody shuffles rows of which only the first of several has its time."""
    return chosen.get("order") == "in no order" and "once" in chosen.get("time", "")


def made(chosen):
    sheet = Sheet(rows_of(chosen))
    for group, ways in WAYS.items():
        if group in chosen:
            ways[chosen[group]](sheet)
    if sheet.tail:
        sheet.tail = sheet.separator
    return sheet.bytes()


def plain(chosen):
    """The file as which this one is forecast: its values may be missing."""
    sheet = Sheet(rows_of(chosen))
    if "series" in chosen:
        sheet.series = ["north", "south"]
    if "missing" in chosen:
        WAYS["missing"][chosen["missing"]](sheet)
        sheet.missing = dict.fromkeys(sheet.missing, "")
    return sheet.bytes()


def same(given, expected, chosen):
    """Whether two forecasts have the same values, series and times, and rest on as many rows; a time that is a date may stand for its year or
    month."""
    at = 1 if "series" in chosen else 0  # the column of times
    rows = [[line.split(",") for line in run.stdout.splitlines()[1:]] for run in (given, expected)]
    counts = [re.findall(r"(?m)^time .* rows are [^:]*: (\d+)", run.stderr) for run in (given, expected)]
    if len(rows[0]) != len(rows[1]) or counts[0] != counts[1]:
        return False
    for one, other in zip(*rows):
        times = sorted((re.sub(r"\D", "", row[at]) for row in (one, other)), key=len)
        if len(times[0]) < 4 or not times[1].startswith(times[0]) or one[:at] + one[at + 1:] != other[:at] + other[at + 1:]:
            return False
    return True


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    known = {}

    def forecast(content):
        if content not in known:
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "x.csv").write_bytes(content)
                known[content] = subprocess.run(
                    [program, "forecast", "x.csv", "--column", "x", "--members", "last,seasonal", "--steps", "9", "--threads", "1"], cwd=folder,
                    capture_output=True, text=True, errors="replace", env=compare.environment())
        return known[content]

    ways = [(group, way) for group, of in WAYS.items() for way in of]
    files = [dict([way]) for way in ways] + [dict(pair) for pair in itertools.combinations(ways, 2) if pair[0][0] != pair[1][0] and not out_of_order_once(dict(pair))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda chosen: (forecast(made(chosen)), forecast(plain(chosen))), files))
    refused, wrong = {}, []
    for chosen, (given, expected) in zip(files, answers):
        called = ", ".join(f"{group}: {way}" for group, way in chosen.items())
        if given.returncode == 2 and given.stderr.count("\n") == 1 and not given.stdout:
            refused[called] = given.stderr.strip()
        elif given.returncode != 0 or not same(given, expected, chosen):
            wrong.append(f"{called}: not forecast as the plain file (exit code {given.returncode})\n{given.stderr}{given.stdout}")
    print("\n".join(wrong))
    print(f"{len(files)} files: {len(refused)} refused, {len(wrong)} wrong")
    return 0 if compare.check("dialects", refused) and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
