#!/usr/bin/env python3
"""Answers of both programs to small files, as they were recorded: words, numbers, exit codes, and the numbers of the pages that look inside.
The files are made here, each with a pattern that can be seen in the line that makes it.

Usage: answers_test.py PTB TIMESERIES [--record]"""
import datetime
import math
import pathlib
import sys
import tempfile

import compare
import options
from written import answer

DAY, HOUR, MINUTE = datetime.timedelta(days=1), datetime.timedelta(hours=1), datetime.timedelta(minutes=1)


def noise(i: int) -> float:
    return ((i * 7919 + 13) % 101 - 50) / 50


def waves(count: int, period: int, level: float = 100, swing: float = 20, trend: float = 0.5, rough: float = 3) -> list[float]:
    return [level + trend * i + swing * math.sin(2 * math.pi * i / period) + rough * noise(i) for i in range(count)]


def months(count: int, form: str = "%Y-%m", year: int = 2019) -> list[str]:
    return [datetime.date(year + i // 12, i % 12 + 1, 1).strftime(form) for i in range(count)]


def times(count: int, step: datetime.timedelta, form: str = "%Y-%m-%d", first: str = "2024-01-01") -> list[str]:
    return [(datetime.datetime.fromisoformat(first) + i * step).strftime(form) for i in range(count)]


def table(header: str, *columns: list, separator: str = ",", places: int = 1) -> str:
    cells = [[f"{cell:.{places}f}" if isinstance(cell, float) else str(cell) for cell in column] for column in columns]
    return header + "\n" + "".join(separator.join(row) + "\n" for row in zip(*cells))


def decimal_commas(values: list[float]) -> list[str]:
    return [f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".") for value in values]


def files() -> dict[str, str]:
    of = {}
    year, week = waves(48, 12), waves(140, 7)
    hours = [h * (1.4 if i // 24 % 7 < 5 else 1) for i, h in enumerate(waves(24 * 28, 24, trend=0))]
    rare = [float((i * i * 31 % 17 == 3) * (1 + i % 3)) for i in range(90)]
    of["months"] = table("month,sales", months(48), year)
    of["growth"] = table("month,sales", months(60), [v * 1.02**i for i, v in enumerate(waves(60, 12, trend=0))])
    of["quarters"] = table("quarter,output", [f"{2012 + i // 4} Q{i % 4 + 1}" for i in range(40)], waves(40, 4))
    of["years"] = table("year,people", list(range(1995, 2025)), waves(30, 11))
    of["days"] = table("date,visits", times(140, DAY), week)
    of["german"] = table("Datum;Umsatz", times(140, DAY, "%d.%m.%Y"), decimal_commas([10 * v for v in week]), separator=";")
    of["american"] = table("Date,Amount", times(140, DAY, "%m/%d/%Y"), [f'"${10 * v:,.2f}"' for v in week])
    of["hours"] = table("time,load", times(len(hours), HOUR, "%Y-%m-%d %H:%M"), hours)
    of["offsets"] = table("time,load", times(200, HOUR, "%Y-%m-%dT%H:%M:%S+01:00"), hours[:200])
    of["minutes"] = table("time,power", times(300, 5 * MINUTE, "%Y-%m-%d %H:%M"), waves(300, 288, trend=0))
    of["weeks"] = table("week,orders", times(120, 7 * DAY), waves(120, 52))
    of["business-days"] = table("date,price", [d for d in times(200, DAY) if datetime.date.fromisoformat(d).weekday() < 5], waves(143, 5, swing=4))
    of["month-ends"] = table("date,balance", [(datetime.date(2020 + (i + 1) // 12, (i + 1) % 12 + 1, 1) - DAY).isoformat() for i in range(40)], waves(40, 12))
    of["pay-days"] = table("date,paid", [f"2023-{i // 2 + 1:02d}-{1 if i % 2 == 0 else 15:02d}" for i in range(24)], waves(24, 2))
    of["newest-first"] = "month,sales\n" + "".join(line + "\n" for line in of["months"].splitlines()[:0:-1])
    of["holes"] = table("date,visits", times(140, DAY), ["" if i % 31 in (3, 4) else v for i, v in enumerate(week)])
    of["two-holes"] = table("date,visits,price", times(140, DAY), ["" if i in (30, 61, 92) else v for i, v in enumerate(week)], waves(140, 9, level=30))
    of["gaps"] = "date,visits\n" + "".join(line + "\n" for i, line in enumerate(of["days"].splitlines()[1:]) if i % 50 not in (20, 21))
    of["open-end"] = of["months"] + "2023-01,\n2023-02,\n2023-03,\n"
    of["rare"] = table("date,parts", times(90, DAY), rare, places=0)
    of["counts"] = table("date,calls", times(90, DAY), [round(max(v / 20 - 3, 0)) for v in week[:90]])
    of["below-zero"] = table("date,celsius", times(100, DAY), waves(100, 30, level=2, swing=8, trend=-0.05))
    of["outlier"] = table("month,sales", months(48), [v * (1e6 if i == 30 else 1) for i, v in enumerate(year)])
    of["shift"] = table("month,sales", months(48), [v + 200 * (i >= 30) for i, v in enumerate(year)])
    of["constant"] = table("month,fee", months(30), [12.5] * 30)
    of["two"] = table("month,sales,cost", months(48), year, [v / 2 + 5 * noise(3 * i) for i, v in enumerate(year)])
    of["shops"] = table("month,shop,sales", months(36) * 3, [s for s in ("north", "south", "east") for _ in range(36)],
                        [f * v for f in (1.0, 3.0, 0.2) for v in waves(36, 12)])
    for name, count in (("stores", 140), ("stores-short", 118)):  # the short one ends among the rows that chose the model
        of[name] = table("date,shop,sales", times(count, DAY) * 2, [s for s in ("north", "south") for _ in range(count)], [f * v for f in (1.0, 3.0) for v in week[:count]])
    of["wide"] = "year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec\n" + "".join(
        f"{2019 + y}," + ",".join(f"{v:.1f}" for v in year[12 * y:12 * y + 12]) + "\n" for y in range(4))
    of["plan"] = table("date,price,sales", times(120, DAY), [float(5 + i * 7 % 4) for i in range(120)], [200 - 20 * (5 + i * 7 % 4) + 2 * noise(i) for i in range(120)])
    of["plan-ahead"] = table("date,price", times(7, DAY, first="2024-04-30"), [5.0, 6.0, 7.0, 8.0, 5.0, 5.0, 6.0])
    of["title"] = "Sales of the shop\n\n" + of["months"]
    of["total"] = of["months"] + f"Total,{sum(year):.1f}\n"
    of["units"] = of["months"].replace("\n", "\n-,EUR\n", 1)
    of["export"] = "Report\n\nDay,Hour,load,load,state\n" + "".join(
        f"{line[:10]},{line[11:16]},{line[17:]},{'off' if i == 50 else i % 24},ok\n" for i, line in enumerate(of["hours"].splitlines()[1:200])) + "Total,,9999,,\n"
    of["lying"] = "\n".join(",".join(row) for row in zip(*(line.split(",") for line in of["two"].splitlines()))) + "\n"
    of["three"] = "".join(line + "\n" for line in of["months"].splitlines()[:4])
    of["one"] = "".join(line + "\n" for line in of["months"].splitlines()[:2])
    of["twice"] = of["months"] + of["months"].splitlines()[20] + "\n"
    of["words"] = of["months"].replace("\n2020-03", "\n2020-03,n/a\n2020-03x")
    of["numbers"] = table("value", year)
    of["serial-days"] = table("t,value", [45292 + i for i in range(90)], week[:90])
    of["labels"] = table("time,x,y,on", times(160, HOUR, "%Y-%m-%d %H:%M"), hours[:160], waves(160, 7), [int(v > 120) for v in hours[:160]])
    return of


RECIPES = {
    "net": """[model]\ncell = "gru"\nhidden = 6\nnormalization = "last"\n[data]\nfile = "months.csv"\nwindow = 12\nhorizon = 3\nperiod = 12\n[training]\nepochs = 4\n""",
    "deciles": """[model]\narchitecture = "linear"\nnormalization = "last"\n[data]\nfile = "days.csv"\nwindow = 14\nhorizon = 4\nperiod = 7\n[training]\nepochs = 4\nloss = "quantile"\n""",
    "several": """[model]\nhidden = 5\nsegment = 3\nshared_channels = true\n[data]\nfile = "shops.csv"\nid = "shop"\nwindow = 6\nhorizon = 2\nperiod = 12\n[training]\nepochs = 4\n""",
    "stores": """[model]\nhidden = 5\n[data]\nfile = "stores.csv"\nid = "shop"\nwindow = 6\nhorizon = 2\nperiod = 7\n[training]\nepochs = 4\n""",
    "masked": """[model]\nhidden = 5\n[data]\nfile = "holes.csv"\nmissing = "mask"\nwindow = 7\nhorizon = 2\nperiod = 7\n[training]\nepochs = 4\n""",
    "detector": """[model]\nhidden = 6\nhighway = 3\n[data]\nfile = "labels.csv"\nlabel = "on"\nwindow = 4\n[training]\nepochs = 4\n""",
    "priced": """[model]\nhidden = 6\n[data]\nfile = "plan.csv"\ntargets = ["sales"]\nknown = ["price"]\nwindow = 7\nhorizon = 4\nperiod = 7\n[training]\nepochs = 6\n""",
}
SERIES = [f"forecast {name}.csv" for name in files() if name not in ("plan", "plan-ahead", "labels", "shops", "stores", "stores-short")] + """
forecast months.csv --steps 30
forecast months.csv --json
forecast months.csv --members last,seasonal
forecast months.csv --members ets --set data.period=1
forecast months.csv --set data.bounds=[0,150]
forecast two.csv --column cost --steps 4
forecast two.csv --steps 2 --json
forecast shops.csv
forecast shops.csv --set data.id=shop --steps 4
forecast shops.csv --set data.only=shop=south --steps 4
forecast holes.csv --set data.missing=interpolate --steps 3
forecast holes.csv --set data.missing=zero --steps 3
forecast gaps.csv --set data.gaps=allow --steps 3
forecast labels.csv --column x --steps 3
forecast plan.csv --column sales --steps 7
forecast plan.csv --column sales --set data.known=[price] --future plan-ahead.csv --threads 1
forecast wide.csv --set data.mend=false
forecast lying.csv --set data.mend=false
forecast export.csv --set data.mend=false
forecast title.csv --set data.mend=false
forecast total.csv --set data.mend=false
forecast units.csv --set data.mend=false
forecast words.csv --set data.mend=false
forecast shops.csv --set data.mend=false
forecast months.csv --column nothing
forecast months.csv --steps 0
forecast nothing.csv
anomalies outlier.csv
anomalies days.csv --rate 0.05
anomalies hours.csv
anomalies two.csv
baselines net.toml
baselines several.toml
explain net.toml
explain several.toml
explain detector.toml
backtest net.toml --folds 2 --threads 1
backtest detector.toml --folds 3 --threads 1
evaluate net/best.safetensors
evaluate net/best.safetensors --split valid --json
evaluate net/best.safetensors --csv growth.csv
evaluate several/best.safetensors
evaluate stores/best.safetensors --csv stores-short.csv
anomalies stores/best.safetensors --csv stores-short.csv --series south
evaluate masked/best.safetensors
evaluate priced/best.safetensors
evaluate detector/best.safetensors
forecast net/best.safetensors
forecast net/best.safetensors --steps 8 --json
forecast net/best.safetensors --csv shift.csv
forecast deciles/best.safetensors --steps 4
forecast deciles/best.safetensors --steps 9
forecast several/best.safetensors
forecast several/best.safetensors --series east --steps 5
forecast masked/best.safetensors
forecast masked/best.safetensors --csv gaps.csv
forecast priced/best.safetensors --future plan-ahead.csv
forecast priced/best.safetensors
detect detector/best.safetensors
detect net/best.safetensors
anomalies net/best.safetensors --csv outlier.csv
anomalies deciles/best.safetensors
look net/best.safetensors --out look.html
look detector/best.safetensors --out look.html
look masked/best.safetensors --out look.html --at 2024-04-20
look several/best.safetensors --out look.html --series south
look months.csv --out look.html
generate --count 12 --rows 16
generate --count 12 --rows 16 --seed 2 --held-out
generate --count 40 --rows 200 --out drawn.csv
generate --count 30 --rows 120 --held-out --out drawn.csv""".strip().split("\n")
TEXT = {
    "words": """[model]\nembedding = 10\nhidden = 12\nlayers = 2\n[data]\ncorpus = "text"\nbatch = 8\nbptt = 8\n[training]\nepochs = 6\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.02\n""",
    "letters": """[model]\ncell = "gru"\nembedding = 8\nhidden = 16\nlayers = 1\n[data]\ncorpus = "text"\nlevel = "char"\nbatch = 8\nbptt = 12\n[training]\nepochs = 3\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.02\n""",
    "attention": """[model]\narchitecture = "transformer"\nembedding = 12\nheads = 3\nmemory = 16\nlayers = 2\n[data]\ncorpus = "text"\nbatch = 8\nbptt = 8\n[training]\nepochs = 3\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.01\n""",
    "mixture": """[model]\nembedding = 10\nhidden = 12\nlayers = 1\nsoftmax = "mixture"\ncomponents = 3\n[data]\ncorpus = "text"\nbatch = 8\nbptt = 8\n[training]\nepochs = 3\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.02\n""",
}
COMMANDS = """
explain words.toml --data text
explain attention.toml --data text
evaluate words/last.safetensors --data text
evaluate words/last.safetensors --data text --split valid --json
evaluate words/last.safetensors --data text --dynamic rate=0.0005,segment=5
evaluate words/last.safetensors --data text --cache window=20,theta=0.5,lambda=0.2
evaluate words/last.safetensors --data text --dynamic rate=0.0005,segment=5 --cache window=20,theta=0.5,lambda=0.2 --json
evaluate words/last.safetensors --data text --tune quick
evaluate letters/last.safetensors --data text
evaluate attention/last.safetensors --data text
evaluate mixture/last.safetensors --data text
evaluate mixture/last.safetensors --data text --cache window=20,theta=0.5,lambda=0.2
generate words/last.safetensors --words 20
generate words/last.safetensors --words 20 --temperature 0.5 --seed 3
generate letters/last.safetensors --words 40
generate attention/last.safetensors --words 20
generate mixture/last.safetensors --words 20
look words/last.safetensors --text "a small cat sleeps" --out look.html
look letters/last.safetensors --text "a red dog" --out look.html
look attention/last.safetensors --text "a small cat sleeps" --out look.html
look words/last.safetensors --text "a small cat sleeps" --against mixture/last.safetensors --out look.html""".strip().split("\n")
def answers(program: str, commands: list[str], folder: pathlib.Path) -> dict[str, str]:
    return {command: answer(program, command, folder) for command in commands}


def write(folder: pathlib.Path, contents: dict[str, str], ending: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in contents.items():
        (folder / (name + ending)).write_text(text)


def main() -> None:
    ptb, timeseries = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made) / "series"
        write(folder, options.more_files(files()), ".csv")
        write(folder, RECIPES | options.RECIPES, ".toml")
        right = compare.check("answers-of-timeseries", answers(timeseries, [f"train {name}.toml --out {name} --threads 1" for name in RECIPES] + SERIES, folder))
        right = compare.check("options-of-timeseries", answers(timeseries, options.SERIES, folder)) and right
        folder = pathlib.Path(made) / "texts"
        write(folder, TEXT | options.TEXT, ".toml")
        sentences = [f"{'a the'.split()[i % 2]} {'small large red'.split()[i % 3]} {'cat dog bird'.split()[i * i % 7 % 3]} {'sleeps runs'.split()[i % 2]}\n" for i in range(200)]
        write(folder / "text", {"train": "".join(sentences), "valid": "".join(sentences[20:50]), "test": "".join(sentences[33:80])}, ".txt")
        write(folder / "documents", options.documents(sentences), ".txt")
        (folder / "fixtures").symlink_to(pathlib.Path(__file__).resolve().parents[1] / "fixtures/language_model")
        right = compare.check("answers-of-ptb", answers(ptb, [f"train {name}.toml --data text --out {name} --threads 1" for name in TEXT] + COMMANDS, folder)) and right
        right = compare.check("options-of-ptb", answers(ptb, options.COMMANDS, folder)) and right
        explained = [f"explain {name}" for name in ("ptb-small", "ptb-6m-transformer", "ptb-19m-transformer")]
        for names, smaller in {  # costs of options are measured: of small layers
                ("awd-lstm", "ptb-6m", "ptb-afternoon"): {"hidden": 30, "last_hidden": 20, "embedding": 20},
                ("ptb-6m-attention", "ptb-large-tied"): {"hidden": 30, "embedding": 30},
                ("ptb-large", "ptb-variational-medium"): {"hidden": 30, "embedding": 20}}.items():
            explained += [f"explain {name} " + " ".join(f"--set model.{key}={value}" for key, value in smaller.items()) for name in names]
        right = compare.check("explained-recipes", answers(ptb, [command + " --threads 1" for command in explained], folder)) and right
    sys.exit(not right)


if __name__ == "__main__":
    main()
