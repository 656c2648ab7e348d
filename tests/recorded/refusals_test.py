#!/usr/bin/env python3
"""What both programs say to cells, times, tables, values of keys and models' files that are wrong or written in a way of their own: each is
a small change of one that is right. What is read is shown by a forecast of two rows.

Usage: refusals_test.py PTB TIMESERIES [--record]"""
import concurrent.futures
import datetime
import json
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile

import answers_test
import compare
import keys_test
import options
from answers_test import DAY, HOUR, MINUTE, table, times, waves, write
from written import plain

CELLS = '''abc | 1.2.3 | 1,2,3 | <5 | >5 | ~5 | 5k | 2.5M | 5 kg | 5.0 CR | 5.0 DR | 5- | (5.0) | (5 | 1e999 | 1e2 | nan | NaN | NA | inf | -inf | - | ? | . | + | +5 | €5 | 5 € | $5 | 5% | 5 % | --5 | 5..0 | 0x10 | 1 234 | 1'234 | 1_234 | 1,234 | 12,34 | "1,234" | "1.234,5" | null | None | TRUE | 2020-01-01 | 5* | 5 m | " 5 " | "a""b" | "5""" | "5" x | 5' | ½'''.replace("\n", "").split(" | ")
TIMES = """ | abc | 2019-13 | 2019-00 | 2019-6 | 2019-06-31 | 2019-06-15 | 2019-06-01 | 2019-06Z | 2019-06-01T00:00+01:00 | 2019-05 | 2019-07 | 2018-06 | 2019 | 06/2019 | Jun 2019 | 06-2019 | 2019Q2 | 43617 | 1559347200 | 2019-06-01 24:00 | 2019-06-01 10:00 | Total | - | n/a""".split(" | ")
# How a column of 24 times is written, by what strftime knows, and its step.
FORMS = {"%Y-%m-%d": DAY, "%d/%m/%Y": DAY, "%m/%d/%Y": DAY, "%d.%m.%y": DAY, "%d-%b-%Y": DAY, "%b %d, %Y": DAY, "%B %d %Y": DAY, "%A, %d %B %Y": DAY, "%Y%m%d": DAY,
         "%Y/%m/%d": DAY, "%d %b %y": DAY, "%G-W%V-%u": DAY, "%Y-%j": DAY, "%a %d %b %Y": DAY, "%m-%d-%Y": DAY, "%Y.%m.%d": DAY, "%d-%m-%y": DAY,
         "%G-W%V": 7 * DAY, "%GW%V": 7 * DAY, "%G%V": 7 * DAY, "%G week %V": 7 * DAY, "W%V %G": 7 * DAY, "%Y-%m-%d ": 7 * DAY, "%V/%G": 7 * DAY,
         "%Y-%m-%d %H:%M:%S.%f": MINUTE, "%m/%d/%Y %I:%M %p": HOUR, "%m/%d/%Y %I:%M:%S%p": HOUR, "%Y-%m-%dT%H:%M:%SZ": HOUR, "%Y-%m-%dT%H:%M:%S.000Z": HOUR, "%Y%m%d%H": HOUR,
         "%Y%m%d%H%M": HOUR, "%Y%m%dT%H%M%S": HOUR, "%d.%m.%Y %H:%M": HOUR, "%d.%m.%Y %H:%M Uhr": HOUR, "%H:%M": HOUR, "%s": HOUR, "%s000": HOUR, "%s000000": HOUR, "%Y-%m-%d %H": HOUR, "%Y-%m-%d %Hh": HOUR,
         "%Y-%m-%dT%H:%M:%S+0200": HOUR, "%Y-%m-%d %H:%M:%S UTC": HOUR, "%Y-%m-%d %H:%M:%S,000": MINUTE, "%d%b%Y:%H:%M:%S": MINUTE, "%Y-%m-%d %H:%M:%S.5": MINUTE / 60}
MONTHS = ["%Y-%m", "%b %Y", "%b-%y", "%y-%b", "%Y%m", "%m/%Y", "%m.%Y", "%YM%m", "%B %Y", "%Y-%b", "%Y.%m", "%Y/%m", "%b%y", "%Y-%m-28", "%d.%m.%Y"]


def quarters(form: str) -> list[str]:
    return [form.format(year=2012 + i // 4, short=12 + i // 4, quarter=i % 4 + 1) for i in range(24)]


def rules() -> dict[str, list[str]]:
    """Times that keep to a rule of the calendar or the clock."""
    first = datetime.date(2023, 1, 1)
    days = [first + i * DAY for i in range(800)]
    firsts = [day for day in days if day.day == 1][:24]
    lasts = [day - DAY for day in firsts[1:]]

    def business(day: datetime.date, by: datetime.timedelta) -> datetime.date:
        while day.weekday() > 4:
            day += by
        return day

    noon = [datetime.datetime(2024, 3, 20) + i * HOUR for i in range(24 * 30)]
    berlin = [1 if moment < datetime.datetime(2024, 3, 31, 1) else 2 for moment in noon]  # hours before UTC
    at = lambda moments: [f"{moment:%Y-%m-%d %H:%M}" for moment in moments]
    return {
        "third Fridays": [str(day) for day in days if day.weekday() == 4 and 15 <= day.day <= 21][:22],
        "last business days": [str(business(day, -DAY)) for day in lasts],
        "first business days": [str(business(day, DAY)) for day in firsts],
        "second last days": [str(day - DAY) for day in lasts],
        "Mondays, Wednesdays, Fridays": [str(day) for day in days if day.weekday() in (0, 2, 4)][:40],
        "weekends": [str(day) for day in days if day.weekday() > 4][:40],
        "22nd": [str(day) for day in days if day.day == 22],
        "quarters' ends": [str(day) for day in lasts if day.month % 3 == 0],
        "leap days and other ends": [str(day) for day in lasts if day.month == 2] + ["2026-02-28", "2027-02-28", "2028-02-29"],
        "9 to 17": at([moment for moment in noon if 9 <= moment.hour <= 17][:180]),
        "9 to 17 on business days": at([moment for moment in noon if 9 <= moment.hour <= 17 and moment.weekday() < 5][:180]),
        "10:00 and 16:30": at([moment.replace(minute=30 * (moment.hour == 16)) for moment in noon if moment.hour in (10, 16)]),
        "a day at midnight of Berlin, in UTC": [f"{moment - of * HOUR:%Y-%m-%dT%H:%M:%SZ}" for moment, of in zip(noon, berlin) if moment.hour == 0],
        "a day at 7:00 of Berlin, in UTC": [f"{moment - of * HOUR:%Y-%m-%dT%H:%M:%SZ}" for moment, of in zip(noon, berlin) if moment.hour == 7],
        "a day at 7:00 of Berlin": [f"{moment:%Y-%m-%dT%H:%M:%S}+0{of}:00" for moment, of in zip(noon, berlin) if moment.hour == 7],
        "hours of Berlin without offset": at([moment for moment in noon if moment != datetime.datetime(2024, 3, 31, 2)][:500]),
        "irregular": at([moment + (i * i * 7 % 13) * 3 * MINUTE for i, moment in enumerate(noon[:60])]),
        "give or take": at([moment + (i * i * 7 % 3) * MINUTE for i, moment in enumerate(noon[:60])]),
        "steps of 7 s": [f"{datetime.datetime(2024, 1, 1) + 7 * i * MINUTE / 60:%Y-%m-%d %H:%M:%S}" for i in range(60)],
        "steps of 20 days": [str(first + 20 * i * DAY) for i in range(30)],
        "every second month": [f"{day:%Y-%m}" for day in firsts[::2]],
        "every second year": [str(1960 + 2 * i) for i in range(30)],
    }


def tables() -> dict[str, str]:
    months = answers_test.files()["months"]
    head, *rows = months.splitlines()
    lines = "\n".join(rows) + "\n"
    of = {
        "empty": "", "a header alone": head + "\n", "no header": lines, "blank lines": "\n\n" + months, "a blank line within": months.replace("\n2020-01", "\n\n2020-01"),
        "bom": "\ufeff" + months, "carriage returns": months.replace("\n", "\r\n"), "carriage returns alone": months.replace("\n", "\r"), "no end": months[:-1],
        "sep=": "sep=,\n" + months, "sep=;": "sep=;\n" + months.replace(",", ";"), "semicolons": months.replace(",", ";"), "tabs": months.replace(",", "\t"), "bars": months.replace(",", "|"), "blanks": months.replace(",", " "),
        "blanks after commas": months.replace(",", ", "), "quoted": re.sub(r"[^,\n]+", r'"\g<0>"', months), "quoted header": '"month","sales"\n' + lines, "single quotes": months.replace("2020", "'2020"),
        "an open quote": months.replace("\n2020-01", '\n"2020-01'), "a quote inside": months.replace("2020-01,", '2020-01,1"'), "a nul": months.replace("2020-01", "2020\0-01"),
        "a column too many": months.replace("\n2020-01,", "\n2020-01,1,"), "a column too few": re.sub("\n2020-01,[^\n]*", "\n2020-01", months), "commas at the ends": months.replace("\n", ",\n"),
        "commas at some ends": lines.join([head + "\n", ""]).replace("\n2020-01", ",\n2020-01"), "decimal commas between commas": months.replace(".", ","),
        "two columns of one name": months.replace("month,sales", "sales,sales"), "a name too many": months.replace("month,sales", "month,sales,cost"), "an empty name": months.replace("month,sales", "month,"),
        "no name for the times": months.replace("month,sales", ",sales"), "no name for the times, time": months.replace("month,sales", ",time"), "numbered": ",sales\n" + "".join(f"{i},{row.split(',')[1]}\n" for i, row in enumerate(rows)),
        "numbered out of order": ",sales\n" + "".join(f"{i * 5 % 7},{row.split(',')[1]}\n" for i, row in enumerate(rows)), "counter": "id,sales\n" + "".join(f"{i + 17},{row.split(',')[1]}\n" for i, row in enumerate(rows)),
        "counter beside times": "month,orderId,sales\n" + "".join(row.replace(",", f",{i + 17},") + "\n" for i, row in enumerate(rows)), "names are numbers": "0,1\n" + lines, "names are years": "month,2019\n" + lines,
        "two columns of dates": "paid,due,sales\n" + "".join(f"{row[:7]},{row}\n" for row in rows), "words beside": "month,who,sales\n" + "".join(row.replace(",", f",{'ab'[i % 2]} x,") + "\n" for i, row in enumerate(rows)),
        "no numbers": "month,who\n" + "".join(f"{row[:7]},a\n" for row in rows), "no values": "month,sales\n" + "".join(f"{row[:7]},\n" for row in rows), "a column empty": "month,sales,cost\n" + "".join(row + ",\n" for row in rows),
        "units": "month,sales\n" + "".join(row + " EUR\n" for row in rows), "two units": "month,sales\n" + "".join(row + (" EUR" if i % 2 else " USD") + "\n" for i, row in enumerate(rows)), "a unit at times": "month,sales\n" + "".join(row + " EUR" * (i > 9) + "\n" for i, row in enumerate(rows)),
        "percent": "month,share\n" + "".join(row + "%\n" for row in rows), "marks": "month,sales\n" + "".join(row + "*" * (i == 30) + "\n" for i, row in enumerate(rows)), "ambiguous marks": "month;sales\n" + "".join(f"{row[:7]};{i + 1}.{100 + i * 7 % 90}\n" for i, row in enumerate(rows)),
        "header again": months + months, "notes below": months + "Source: the shop\n", "notes above": "Sales\nof the shop\n" + months, "totals by year": "".join(row + "\n" + f"Total {row[:4]},9\n" * (i % 12 == 11) for i, row in enumerate([head, *rows[:24]])),
        "a time twice, other values": months + "2020-03,1\n", "out of order": head + "\n" + "\n".join(rows[i * 7 % 48] for i in range(48)) + "\n", "zeros at the start": re.sub(r"(?<=2019-\d\d),[\d.]*", ",0", months), "zeros at the end": re.sub(r"(?<=2022-\d\d),[\d.]*", ",0", months),
        "two decimals marks": months.replace(".", ",", 20).replace(",", ";", 1), "huge": months.replace(".", "e300"), "tiny": table("month,sales", [row[:7] for row in rows], [1e-9 * i % 7e-9 for i in range(48)], places=12),
        "long name": months.replace("sales", "s" * 300), "name with a line break": months.replace("sales", '"sa\nles"'), "name with quotes": months.replace("sales", '"sa""les"'),
        "wide of quarters": "year,Q1,Q2,Q3,Q4\n" + "".join(f"{2010 + i},{10 + i},{12 + i},{9 + i},{14 + i}\n" for i in range(12)), "wide of hours": "date," + ",".join(f"{h:02}:00" for h in range(24)) + "\n" + "".join(f"2024-01-{d + 1:02}," + ",".join(str(h * 7 % 11 + d % 7) for h in range(24)) + "\n" for d in range(20)),
        "wide, an end open": "year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec\n" + "".join(f"{2019 + y}," + ",".join("" if y == 3 and m > 8 else str(90 + m * m % 17 + y) for m in range(12)) + "\n" for y in range(4)),
        "columns by day": "shop," + ",".join(f"2024-01-{d + 1:02}" for d in range(30)) + "\n" + "".join(f"{shop}," + ",".join(str(d * 5 % 7 + 10 * k) for d in range(30)) + "\n" for k, shop in enumerate(("north", "south"))),
        "date and hour": "date,hour,load\n" + "".join(f"2024-01-{1 + i // 24:02},{i % 24},{50 + i * 7 % 24}\n" for i in range(240)), "date and time": "date,time,load\n" + "".join(f"2024-01-{1 + i // 24:02},{i % 24:02}:00,{50 + i * 7 % 24}\n" for i in range(240)),
        "year and month": "year,month,sales\n" + "".join(f"{2019 + i // 12},{i % 12 + 1},{row.split(',')[1]}\n" for i, row in enumerate(rows)), "long of shops": "shop,date,sales\n" + "".join(f"{shop},2024-02-{d + 1:02},{d * 5 % 7 + 10 * k}\n" for d in range(28) for k, shop in enumerate("abc")),
        "one shop ends early": "shop,date,sales\n" + "".join(f"{shop},2024-02-{d + 1:02},{d * 5 % 7 + 10 * k}\n" for d in range(28) for k, shop in enumerate("abcd") if (k < 2 or d < 20) and (k < 3 or d < 2)),
        "a moment with values": "t,y\n" + "".join(f"{0.5 * i},{waves(60, 12)[i]:.2f}\n" for i in range(60)), "steps of 0.1": "t,y\n" + "".join(f"{0.1 * i:.1f},{i * 7 % 12}\n" for i in range(60)),
    }
    for k, cell in enumerate(CELLS):
        of[f"cell {cell}"] = "month,sales\n" + "".join(row + "\n" if i != 30 else f"{row[:8]}{cell}\n" for i, row in enumerate(rows))
    for cell in TIMES:
        of[f"time {cell}"] = "month,sales\n" + "".join(row + "\n" if i != 5 else f"{cell}{row[7:]}\n" for i, row in enumerate(rows))
    for form, step in FORMS.items():
        moments = [datetime.datetime(2023, 11, 20, tzinfo=datetime.timezone.utc) + i * (step * 5 if step < HOUR else step) for i in range(48)]
        # Python's own %s is of the machine's zone.
        of[f"form {form}"] = table("time;y", [moment.strftime(form.replace("%s", f"{moment.timestamp():.0f}")) for moment in moments], waves(48, 7), separator=";")
    for form in MONTHS:
        of[f"form {form}"] = table("month,y", [datetime.date(2019 + i // 12, i % 12 + 1, 1).strftime(form) for i in range(48)], waves(48, 12))
    for form in ("{year}Q{quarter}", "Q{quarter} {year}", "{quarter}Q{short}", "{year}{quarter}", "{year}-Q{quarter}", "{year} Q{quarter}", "{quarter}/{year}", "{year}.{quarter}", "Q{quarter}/{short}"):
        of[f"form {form}"] = table("quarter,y", quarters(form), waves(24, 4))
    for name, written in rules().items():
        of[f"rule {name}"] = table("time,y", written, waves(len(written), 5))
    return of


def of_tables(timeseries: str, folder: pathlib.Path) -> dict[str, str]:
    def ask(number: int, name: str, text: str) -> str:
        path = folder / f"table-{number}.csv"
        path.write_bytes(text.encode())
        done = subprocess.run([timeseries, "forecast", path.name, "--members", "last", "--steps", "2", "--threads", "1"], capture_output=True, text=True, cwd=folder, env=compare.environment())
        code = f"exit code {done.returncode}\n" * (done.returncode not in (0, 2))
        said = [line for line in (plain(done.stderr) + done.stdout).splitlines() if not line.startswith(("Members", "      ", "last value", "interval")) and line.strip()]
        return code + "".join(line.replace(path.name, "FILE").replace(path.stem, "FILE") + "\n" for line in said)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        named = tables()
        return dict(zip(map(repr, named), pool.map(ask, range(len(named)), named, named.values())))


def of_keys(program: str, page: str, base: list[str], folder: pathlib.Path) -> dict[str, str]:
    """Each key with a value of another type, one below and one above."""
    (folder / "none.toml").write_text("")

    def ask(assignment: str) -> str:
        words = keys_test.merged(base, [assignment])
        done = subprocess.run([program, "train", "none.toml", "--dry-run", "--threads", "1", *[part for word in words for part in ("--set", word)]],
                              capture_output=True, text=True, cwd=folder, env=compare.environment())
        return f"exit code {done.returncode}: " * (done.returncode not in (0, 2)) + re.sub(r"(?<=the loss is )\S+", "large,", done.stderr) if done.returncode else "accepted\n"

    asked = [f"{key}={value}" for key in keys_test.declared(page) for value in ("nothing", "-7", "0", "2000000000", "[]", "true")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = dict(zip(asked, pool.map(ask, asked)))
    return {key: "".join(f"{asked.partition('=')[2]}: {text}" for asked, text in said.items() if asked.partition("=")[0] == key) for key in keys_test.declared(page)}


def damaged(raw: bytes) -> dict[str, bytes]:
    """A model's file, each entry of its metadata missing, of another type or empty, and so each field of those that are JSON."""
    size, = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + size])

    def with_head(change: object) -> bytes:
        new = json.loads(json.dumps(head))
        change(new)
        text = json.dumps(new).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + raw[8 + size:]

    def set_field(new: dict, key: str, field: str, value: object) -> None:
        of = json.loads(new["__metadata__"][key])
        if value is None:
            del of[field]
        else:
            of[field] = value
        new["__metadata__"][key] = json.dumps(of)

    files = {"short": raw[:-8], "long": raw + b"12345678", "cut": raw[:40], "empty": b"", "text": b"month,sales\n" * 9, "a byte of the head": raw[:9] + b"}" + raw[10:]}
    for key, text in head["__metadata__"].items():
        files[f"{key} missing"] = with_head(lambda new: new["__metadata__"].pop(key))
        for value in ("", "7", "{}", text + "x"):
            files[f"{key}: {value[:20]!r}" if value != text + "x" else f"{key} and x"] = with_head(lambda new: new["__metadata__"].update({key: value}))
        fields = json.loads(text) if text.startswith("{") else {}
        for field in fields:
            for value in (None, "x", -1, [], {}):
                files[f"{key}.{field} {'missing' if value is None else json.dumps(value)}"] = with_head(lambda new: set_field(new, key, field, value))
    for name in head:
        if name != "__metadata__" and not name.startswith("training/"):
            files[f"{name} missing"] = with_head(lambda new: new.pop(name))
            files[f"{name} of another shape"] = with_head(lambda new: new[name].update(shape=new[name]["shape"][::-1] + [1]))
    return files


def of_models(program: str, command: str, model: pathlib.Path, folder: pathlib.Path) -> str:
    """What a command says to a damaged file, a line for each damage."""
    def ask(number: int, raw: bytes) -> str:
        path = folder / f"damaged-{number}" / "last.safetensors"
        path.parent.mkdir()
        path.write_bytes(raw)
        done = subprocess.run([program, *shlex.split(command.replace("MODEL", str(path.relative_to(folder))).replace("FOLDER", path.parent.name))], capture_output=True, text=True, cwd=folder, env=compare.environment())
        return (f"exit code {done.returncode}: " * (done.returncode not in (0, 2)) + (done.stderr if done.returncode else "accepted")).strip().replace(f"damaged-{number}/", "").replace(f"damaged-{number}", "FOLDER").replace(program, "PROGRAM").replace("\n", " / ")

    files = damaged(model.read_bytes())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(ask, range(len(files)), files.values()))
    for number in range(len(files)):
        for path in (folder / f"damaged-{number}").iterdir():
            path.unlink()
        (folder / f"damaged-{number}").rmdir()
    # The header's size depends on the kernels' name, a parser's words on its version, a line's number on the keys.
    refused = "".join(f"{name}: {re.sub(r'(?<=takes )[0-9]+|(?<=recipe:)[0-9]+:[0-9]+: not TOML: .*', 'N', text)}\n" for name, text in zip(files, said) if text != "accepted")
    return refused + "accepted: " + ", ".join(name for name, text in zip(files, said) if text == "accepted") + "\n"


def main() -> None:
    ptb, timeseries = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        right = compare.check("tables", of_tables(timeseries, folder))
        keys_test.write_inputs(folder)
        right = compare.check("bad-values-of-ptb", of_keys(ptb, "recipes.md", keys_test.PTB_BASE, folder)) and right
        right = compare.check("bad-values-of-timeseries", of_keys(timeseries, "timeseries.md", keys_test.SERIES_BASE, folder)) and right
        write(folder, answers_test.files(), ".csv")
        write(folder, answers_test.RECIPES | answers_test.TEXT | options.RECIPES, ".toml")
        write(folder / "text", {split: "a cat sleeps\nthe dog runs\na red dog sleeps\n" * 20 for split in ("train", "valid", "test")}, ".txt")
        blocks = {}
        for program, name, more, commands in ((timeseries, "net", "", ["forecast MODEL", "resume FOLDER"]), (timeseries, "several", "", ["forecast MODEL"]), (timeseries, "detector", "", ["evaluate MODEL"]),
                                              (ptb, "words", "--data text", ["evaluate MODEL --data text", "resume FOLDER"]), (ptb, "mixture", "--data text", ["evaluate MODEL --data text"])):
            subprocess.run([program, "train", f"{name}.toml", "--threads", "1", "--out", name, *shlex.split(more), "--set", "training.epochs=1"], check=True, capture_output=True, cwd=folder, env=compare.environment())
            for command in commands:
                blocks[f"{name}: {command}"] = of_models(program, command, folder / name / "last.safetensors", folder)
        right = compare.check("damaged-models", blocks) and right
    sys.exit(not right)


if __name__ == "__main__":
    main()
