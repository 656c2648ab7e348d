#!/usr/bin/env python3
"""The Python side of the Python package (packaging/python/unroll), over a stand-in for its extension: what it hands over, and what
it makes of the answers. packages_test.py has the package itself."""
import contextlib
import importlib.util
import io
import json
import math
import pathlib
import re
import sys
import types
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "packaging/python/unroll"


class Extension(types.ModuleType):
    """Answers as `answer` says, and remembers what it was asked."""
    Error = type("Error", (ValueError,), {})
    glibc = "2.31"

    class Model:
        def __init__(self, path, asked):
            self.path, self.asked = path, asked

        def score(self, text):
            self.asked.append(("score", text))
            return 12.5, 31, 2

        def look(self, *words):
            self.asked.append(("look", *words))

        def forecast(self, *words):
            self.asked.append(("forecast", *words))
            return json.dumps(ANSWER)

    class TextModel(Model):
        pass

    class SeriesModel(Model):
        pass

    def __init__(self):
        super().__init__("unroll._unroll")
        self.asked = []

    def load(self, path):
        return (self.TextModel if "words" in path or "demo" in path else self.SeriesModel)(path, self.asked)

    def forecast(self, csv, steps, columns):
        path = pathlib.Path(csv)
        self.asked.append((csv, path.read_text() if path.exists() else None, steps, columns))
        if steps == 77:
            raise self.Error(f"{csv}: 2 rows to forecast from are too few")
        if steps == 78:
            raise self.Error(f"{csv}:5: column 1 ('value'): 'inf' is no finite number")
        return json.dumps({**ANSWER, "notes": [f"{csv}: from line 38 on", "lines 3 to 4"]} if steps == 66 else ANSWER)


ANSWER = {"notes": ["season: none", "warning"], "forecasts": [
    {"time": ["2021-01", "2021-02"], "interval": "80 %", "series": "north",
     "forecast": {"sales": {"values": [1, 2], "low": [0.5, None], "high": [1.5, 3]}, "cost": {"values": [3, 4]}}},
    {"time": ["9", "10"], "interval": "90 %", "forecast": {"sales": {"values": [5, 6], "low": [4, 5], "high": [6, 7]}}}]}
FORECASTS = [
    ([1, 2], [0.5, None], [1.5, 3], ["2021-01", "2021-02"], "80 %", "north", "sales", ANSWER["notes"]),
    ([3, 4], [None, None], [None, None], ["2021-01", "2021-02"], "80 %", "north", "cost", ANSWER["notes"]),
    ([5, 6], [4, 5], [6, 7], ["9", "10"], "90 %", "", "sales", ANSWER["notes"])]


class PythonSide(unittest.TestCase):
    def setUp(self):
        self.extension = Extension()
        spec = importlib.util.spec_from_file_location("unroll", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
        self.unroll = importlib.util.module_from_spec(spec)
        sys.modules.update({"unroll": self.unroll, "unroll._unroll": self.extension})
        self.unroll._unroll = self.extension
        spec.loader.exec_module(self.unroll)

    def asked(self):
        return self.extension.asked[-1]

    def test_values_become_a_file_that_goes_away_again(self):
        found = self.unroll.forecast([112, None, math.nan, -0.1], steps=3)
        path, text, steps, columns = self.asked()
        self.assertEqual((text, steps, columns), ("value\n1.1200000000000000e+02\nNaN\nNaN\n-1.0000000000000001e-01\n", 3, []))
        self.assertFalse(pathlib.Path(path).exists())
        self.assertEqual(found, self.unroll.Forecast(*FORECASTS[0]))
        self.assertEqual((found.values, found.low, found.column, found.series), ([1, 2], [0.5, None], "sales", "north"))
        with self.assertRaisesRegex(self.unroll.Error, "^the values: 2 rows to forecast from are too few$"):
            self.unroll.forecast([1, 2], 77)

    def test_messages_name_a_value_by_its_index(self):
        with self.assertRaisesRegex(self.unroll.Error, "^the values: index 3: 'inf' is no finite number$"):
            self.unroll.forecast([1, 2, 3, math.inf], 78)
        self.assertEqual(self.unroll.forecast([1, 2], 66).notes, ["the values: from index 36 on", "index 1 to index 2"])
        self.assertEqual(self.unroll.forecast("a.csv", 66)[0].notes, ["a.csv: from line 38 on", "lines 3 to 4"])

    def test_a_string_is_one_path_and_one_column(self):
        self.assertEqual(self.unroll.forecast(b"a.csv", columns="sales"), FORECASTS)
        self.assertEqual(self.asked(), ("a.csv", None, 0, ["sales"]))
        self.assertIsInstance(self.unroll.load(b"words.safetensors"), self.unroll.LanguageModel)

    def test_the_readmes_example_writes_each_page_once(self):
        block = re.search(r"^```python\n(.*?)^```$", (FOLDER.parent / "README.md").read_text(), re.M | re.S)[1]
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, {})
        pages = [words[2] for words in self.extension.asked if words[0] == "look"]
        self.assertEqual(len(pages), 2)
        self.assertEqual(len(set(pages)), 2, pages)

    def test_a_file_gives_a_forecast_of_each_column_of_each_series(self):
        self.assertEqual(self.unroll.forecast(pathlib.Path("a.csv"), columns=("sales", "cost")), FORECASTS)
        self.assertEqual(self.asked(), ("a.csv", None, 0, ["sales", "cost"]))
        self.unroll.forecast("a.csv", 1_000_000)
        self.assertEqual(self.asked(), ("a.csv", None, 1_000_000, []))
        with self.assertRaisesRegex(self.unroll.Error, "^a.csv: 2 rows"):
            self.unroll.forecast("a.csv", 77)

    def test_refusals(self):
        model = self.unroll.load("series")
        for steps in (0, -1, 1_000_001):
            for forecast in (self.unroll.forecast, model.forecast):
                with self.assertRaisesRegex(self.unroll.Error, rf"^forecast: steps {steps} must be in \[1, 1000000\]$"):
                    forecast("a.csv", steps)
        with self.assertRaisesRegex(self.unroll.Error, "^forecast: columns are for a file$"):
            self.unroll.forecast([1, 2, 3], columns=["a"])
        self.assertEqual(self.extension.asked, [])

    def test_models(self):
        words = self.unroll.load(pathlib.Path("words.safetensors"))
        self.assertIsInstance(words, self.unroll.LanguageModel)
        score = words.score("a b")
        self.assertEqual((score.perplexity, score.tokens, score.unknown), (12.5, 31, 2))
        words.look(pathlib.Path("page.html"), "the text")
        self.assertEqual(self.extension.asked, [("score", "a b"), ("look", "the text", "page.html")])
        series = self.unroll.load("series.safetensors")
        self.assertIsInstance(series, self.unroll.SeriesModel)
        self.assertEqual(series.forecast(), FORECASTS)
        self.assertEqual(self.asked(), ("forecast", "", 0, ""))
        series.forecast(pathlib.Path("a.csv"), 5, future=pathlib.Path("b.csv"))
        self.assertEqual(self.asked(), ("forecast", "a.csv", 5, "b.csv"))
        series.look("page.html", "a.csv")
        self.assertEqual(self.asked(), ("look", "a.csv", "page.html", "", "", ""))
        series.look("page.html")
        self.assertEqual(self.asked(), ("look", "", "page.html", "", "", ""))
        series.look("page.html", series="north", at="2020-03", target="sales")
        self.assertEqual(self.asked(), ("look", "", "page.html", "north", "2020-03", "sales"))
        self.assertEqual((self.unroll.glibc, self.unroll.Error.__module__), ("2.31", "unroll"))


if __name__ == "__main__":
    unittest.main()
