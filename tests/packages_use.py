"""Uses the Python package where it is installed (packages_test.py): its numbers are the program's and PyTorch's, its errors the program's
lines. Reads what the program wrote into this folder."""
import importlib.metadata
import json
import math
import os
import pathlib
import re
import shutil
import signal
import threading
import time

import unroll

VALUES = [float(line) for line in pathlib.Path("values.csv").read_text().split()[1:]]


def refused(part, f, *arguments, **named):
    try:
        f(*arguments, **named)
    except unroll.Error as error:
        assert part in str(error) and "\n" not in str(error), str(error)
    else:
        raise AssertionError(f"nothing refuses: {part}")


def same(found, printed):  # to the digits that JSON keeps
    columns = [(one, name) for one in printed for name in one["forecast"]]
    assert len(found) == len(columns)
    for mine, (one, name) in zip(found, columns):
        assert (mine.column, mine.time, mine.interval) == (name, one["time"], one["interval"])
        for key in ("values", "low", "high"):
            assert getattr(mine, key) == one["forecast"][name][key], (mine, one)


# Without a model: a list of values, a file, and what the program prints of it.
of_program = json.loads(pathlib.Path("values.json").read_text())
same([unroll.forecast(VALUES, steps=3)], of_program)
same(unroll.forecast("values.csv", 3), of_program)
same(unroll.forecast(pathlib.Path("values.csv"), 3, columns=["value"]), of_program)
with_holes = unroll.forecast([None, *VALUES[:12], math.nan, *VALUES[13:]], steps=2)
assert len(with_holes.values) == 2 and any("missing value" in note for note in with_holes.notes), with_holes
assert all(low < value < high for low, value, high in zip(with_holes.low, with_holes.values, with_holes.high))
refused("the values: 2 rows to forecast from are too few", unroll.forecast, [1, 2])
refused("steps 0 must be in [1, 1000000]", unroll.forecast, VALUES, steps=0)
refused("none.csv", unroll.forecast, "none.csv")
refused("'nothing'", unroll.forecast, "values.csv", columns="nothing")
same(unroll.forecast(b"values.csv", 3, columns="value"), of_program)
refused("the values: index 3: 'inf' is no finite number", unroll.forecast, [*VALUES[:3], math.inf, *VALUES[3:]])
ahead = unroll.forecast([*VALUES, None, math.nan])
assert ahead.time == [str(len(VALUES)), str(len(VALUES) + 1)], ahead
assert any(f"from index {len(VALUES)} on" in note for note in ahead.notes), ahead

# Ctrl-C: a thread that runs Python beside a computation sends it.
begun, interrupter = threading.Event(), threading.Thread(target=lambda: (begun.wait(), time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT)))
interrupter.start()
handler = signal.getsignal(signal.SIGINT)
try:
    begun.set()
    while True:
        unroll.forecast(VALUES * 12, steps=60)
except KeyboardInterrupt:
    pass
assert signal.getsignal(signal.SIGINT) is handler

# A language model. PyTorch gave this perplexity (tests/fixtures/language_model/perplexity.json); floats are added in another order.
text = pathlib.Path("test.txt").read_text()
model = unroll.load("unroll.safetensors")
score = model.score(text)
assert abs(score.perplexity / 10.933001649410992 - 1) < 1e-6 and (score.tokens, score.unknown) == (31, 1), score
assert model.score(text) == score
model.look("words.html", "the zebra sees a dog")
assert '"zebra"' in pathlib.Path("words.html").read_text()
refused("words.html", model.look, "words.html", "the cat")
refused("has no words", model.score, "")

# A model of series, beside what the program forecasts with it.
model = unroll.load("best.safetensors")
same(model.forecast(steps=30), json.loads(pathlib.Path("model.json").read_text()))
assert len(model.forecast()[0].values) == 1  # its horizon
model.look("window.html")
assert '"passengers"' in pathlib.Path("window.html").read_text()
refused("values.csv", model.forecast, "values.csv")
refused("none.safetensors", unroll.load, "none.safetensors")
refused("values.csv", unroll.load, "values.csv")

# The page's example, with these files by its names.
for name, run in (("unroll", "demo-1/last"), ("best", "airline-1/best")):
    to = pathlib.Path("example/runs", run + ".safetensors")
    to.parent.mkdir(parents=True)
    shutil.copy(name + ".safetensors", to)
pathlib.Path("example/sales.csv").write_text(pathlib.Path("values.csv").read_text().replace("value", "units"))
os.chdir("example")
page = importlib.metadata.metadata("unroll").get_payload()
exec(re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)[1])
assert len(list(pathlib.Path().glob("*.html"))) == 2
print(f"Python: scores, forecasts, pages and refusals as the programs have them; built on glibc {unroll.glibc}")
