"""Tables of forecasts on a competition: one of each measure, by kind of step, beside the published figures."""

import math
import shlex

import tables
from series_measures import geometric_mean, mape, mase, naive2, owa, ranks, rmse, seasonal_error, seasonal_naive, smape, winkler

PEERS = ("AutoETS", "AutoTheta", "AutoCES", "AutoARIMA")  # the slowest last
KINDS = ("yearly", "quarterly", "monthly", "other")
# No forecast of one series outweighs many: a ratio to the seasonal naive forecast's RMSE below this counts as this.
LEAST_RATIO = 0.01
M3 = "Makridakis and Hibon 2000, International Journal of Forecasting 16, 451-476"
TOURISM = "Athanasopoulos, Hyndman, Song and Wu 2011, International Journal of Forecasting 27, 822-844"
NBEATS = "Oreshkin, Carpov, Chapados and Bengio 2020, N-BEATS, ICLR, tables 14 and 15"
# By competition and measure: yearly, quarterly, monthly, other, all.
PUBLISHED = {
    ("m3", "smape"): {
        "Naive 2, M3": (17.88, 9.95, 16.91, 6.30, 15.47),
        "B-J automatic, M3": (17.73, 10.26, 14.81, 5.06, 14.01),
        "Comb S-H-D, M3": (17.07, 9.22, 14.48, 4.56, 13.52),
        "ForecastPro, M3": (17.14, 9.77, 13.86, 4.60, 13.19),
        "Theta, M3": (16.90, 8.96, 13.85, 4.41, 13.01),
        "N-BEATS, trained on M3": (15.93, 8.84, 13.11, 4.24, 12.37),
    },
    ("tourism", "mape"): {
        "seasonal naive, tourism": (23.61, 16.46, 22.56, None, 21.25),
        "Theta, tourism": (23.45, 16.15, 22.11, None, 20.88),
        "ForePro, tourism": (26.36, 15.72, 19.91, None, 19.84),
        "ETS, tourism": (27.68, 16.05, 21.15, None, 20.88),
        "ARIMA, tourism": (28.03, 16.23, 21.13, None, 20.96),
        "LeeCBaker, Kaggle": (22.73, 15.14, 20.19, None, 19.35),
        "N-BEATS, trained on tourism": (21.44, 14.78, 19.29, None, 18.52),
    },
}
SOURCES = {"m3": f"Published: {M3}; N-BEATS: {NBEATS}, whose table 14 has all of them.",
           "tourism": f"Published: {TOURISM}; the Kaggle entry, the means over all and N-BEATS: {NBEATS}."}


def score_of(series, record, baseline):
    """All measures of one forecast. None: it has none there. A series without a forecast is scored by the baseline's."""
    y, f = series.after, record.get("forecast", baseline)
    unit, reference = seasonal_error(series.before, series.season), rmse(y, baseline)
    scores = {"rmse": rmse(y, f), "smape": smape(y, f), "mape": mape(y, f), "seconds": record.get("seconds"),
              "ratio": rmse(y, f) / reference if reference else None,
              "mase": mase(y, f, series.before, series.season) if unit else None,
              "refused": "forecast" not in record, "no interval": "low" not in record, "steps": len(y)}
    if "low" in record:
        low, high = record["low"], record["high"]
        scores["within"] = sum(l <= a <= h for a, l, h in zip(y, low, high))
        scores["winkler"] = winkler(y, low, high) / unit if unit else None
    return scores


def over_forecasts(scores, key):
    """The mean over all forecasts of all series, where a longer horizon weighs more."""
    some = [s for s in scores if s.get(key) is not None]
    return sum(s[key] * s["steps"] for s in some) / sum(s["steps"] for s in some) if some else None


class Scores:
    """All methods' scores on one competition."""

    def __init__(self, name, series, methods, made_by):
        self.name, self.series, self.made_by = name, series, made_by
        self.parts = {kind: [k for k, s in enumerate(series) if s.kind == kind] for kind in KINDS}
        self.parts = {kind: some for kind, some in self.parts.items() if some} | {"all": list(range(len(series)))}
        baselines = [seasonal_naive(s.before, s.season, len(s.after)) for s in series]
        self.scores = {method: [score_of(s, of_all[s.name], b) for s, b in zip(series, baselines)] for method, of_all in methods.items()}
        by_series = [ranks([s["rmse"] for s in of_one]) for of_one in zip(*self.scores.values())]
        for method, of_all in enumerate(self.scores.values()):
            for s, places in zip(of_all, by_series):
                s["rank"] = places[method]
        self.approximate = {method: count for method, of_all in methods.items() if (count := sum("approximate" in of_all[s.name] for s in series))}
        self.naive2 = [score_of(s, {"forecast": naive2(s.before, s.season, len(s.after))}, b) for s, b in zip(series, baselines)]

    def owa(self, scores, part):
        pairs = [(scores[k], self.naive2[k]) for k in self.parts[part] if scores[k]["mase"] is not None]
        return owa(*([(s["smape"], s["mase"]) for s in some] for some in zip(*pairs)))[2] if pairs else None

    def figure(self, measure, scores, part):
        some = [scores[k] for k in self.parts[part]]
        if measure == "owa":
            return self.owa(scores, part)
        if measure == "ratio":
            ratios = [s["ratio"] for s in some if s["ratio"] is not None]
            return geometric_mean(ratios, LEAST_RATIO) if ratios else None
        if measure == "no interval" and all(s[measure] for s in scores):
            return None  # it has no intervals
        if measure in ("refused", "no interval"):
            return sum(s[measure] for s in some)
        if measure == "coverage":
            some = [s for s in some if "within" in s]
            return 100 * sum(s["within"] for s in some) / sum(s["steps"] for s in some) if some else None
        if measure in ("smape", "mape", "winkler"):
            return over_forecasts(some, measure)
        found = [s[measure] for s in some if s.get(measure) is not None]
        return sum(found) / len(found) if found else None

    def table(self, measure, form):
        rows = {method: [self.figure(measure, scores, part) for part in self.parts] for method, scores in self.scores.items()}
        if measure in ("smape", "mase", "mape", "owa"):
            rows["Naive 2"] = [self.figure(measure, self.naive2, part) for part in self.parts]
        for method, figures in PUBLISHED.get((self.name, measure), {}).items():
            rows[f"*{method}*"] = [f for kind, f in zip((*KINDS, "all"), figures) if kind in self.parts]
        rows = {method: figures for method, figures in rows.items() if any(f is not None for f in figures)}
        lines = ["| method | " + " | ".join(f"{part} ({len(some)})" for part, some in self.parts.items()) + " |", "| --- |" + " ---: |" * len(self.parts)]
        order = rows.items() if measure in ("coverage", "refused", "no interval", "seconds") else sorted(rows.items(), key=lambda row: row[1][-1])
        return [*lines, *(f"| {m} | " + " | ".join("" if f is None else form.format(f) for f in figures) + " |" for m, figures in order)]

    def text(self):
        """The tables, with headings of the third order."""
        measures = [("RMSE relative to seasonal naive, geometric mean", "ratio", "{:.3f}"), (f"Mean rank by RMSE among {len(self.scores)}", "rank", "{:.2f}"),
                    ("sMAPE, mean over all forecasts", "smape", "{:.2f}"), ("MASE", "mase", "{:.3f}"), ("OWA", "owa", "{:.3f}"),
                    *([("MAPE, mean over all forecasts", "mape", "{:.2f}")] if self.name == "tourism" else []),
                    ("Coverage of the 80 % interval, %", "coverage", "{:.1f}"), ("Winkler score, scaled", "winkler", "{:.3f}"),
                    ("Series without a forecast", "refused", "{}"), ("Series without an interval", "no interval", "{}"), ("CPU seconds a series", "seconds", "{:.3f}")]
        lines = []
        for title, measure, form in measures:
            lines += [f"### {title}", "", *self.table(measure, form), ""]
            if (self.name, measure) in PUBLISHED:
                lines += [SOURCES[self.name], ""]
        return lines

    def left_out(self):
        """How many series some measures leave out: the seasonal naive forecast makes no error on them."""
        return sum(s["ratio"] is None for s in self.naive2), sum(s["mase"] is None for s in self.naive2)

    def by_series(self):
        return {method: {s.name: of_one["ratio"] for s, of_one in zip(self.series, scores)} for method, scores in self.scores.items()}


TITLES = {"m1": "M1: 1,001 series, for development", "m3": "M3: 3,003 series, the test", "tourism": "Tourism: 1,311 series, the test"}
PAGE = """# Forecasts beside the statisticians, on three competitions

Each series is forecast once, over the competition's horizon: 6 years, 8 quarters, 18 months, 8 rows of other steps; of tourism 4 years,
8 quarters, 24 months. `bench/series_competitions.py` makes this page.

**The rule.** M1 is for development: methods may be chosen by its tables. M3 and tourism are the test. They are scored only with
`--final`, and nothing is chosen by them. The page counts the scores.

* **Peers**: AutoETS, AutoTheta, AutoCES and AutoARIMA of {made_by}, each told the true season; the mean and the median of those in the table.
* **Relative RMSE**: of a series, over that of the seasonal naive forecast (the last value where there is no season). A ratio below
  {least} counts as {least}. Ranks go over all rows of the table; equal ones share theirs.
* **No forecast**: a series that a method refuses is scored by the seasonal naive forecast, and counted below.
* **sMAPE, MAPE** are means over all forecasts, as M3 and tourism count them. **MASE and OWA** are means over series, as M4
  counts them; OWA is 1 for Naive 2.
* **Winkler score**: of 80 % intervals, in units of the seasonal naive error on the rows before, as MASE; a mean over all forecasts
  of the series that have an interval.
* **CPU seconds** of ours include the start of the program.

{machine}

```
{commands}
```
"""


def page(scored, options):
    m = tables.machine()
    made_by = {s.made_by for s in scored.values() if s.made_by}
    commands = [f"python3 bench/series_competitions.py peers {' '.join(scored)} --cache CACHE",
                f"python3 bench/series_competitions.py score {' '.join(scored)} --cache CACHE" + (" --final" if options.final else "")]
    commands[-1] += "".join(f" \\\n  --ours {shlex.quote(o)}" for o in options.ours or [])
    machine = f"{m['cpu']} (family {m['family']}, model {m['model']}), {m['cores']} cores; commit {m['commit']}, {m['date'][:10]}."
    lines = [PAGE.format(made_by=" and ".join(sorted(made_by)) or "statsforecast", least=LEAST_RATIO, machine=machine, commands="\n".join(commands))]
    for name, title in TITLES.items():
        lines += [f"## {title}", ""]
        if name not in scored:
            lines += ["Not yet scored.", ""]
            continue
        if missing := [p for p in PEERS if p not in scored[name].scores]:
            lines += [f"Without {', '.join(missing)}, which had not forecast all series by then.", ""]
        for method, count in scored[name].approximate.items():
            lines += [f"{method} searches with approximation=True on {count} of the series, to save time.", ""]
        no_ratio, no_unit = scored[name].left_out()
        if no_ratio or no_unit:
            lines += [f"The seasonal naive forecast makes no error on {no_ratio} series, which the relative RMSE leaves out, and none on the rows",
                      f"before of {no_unit}, which MASE, OWA and the Winkler score leave out.", ""]
        lines += scored[name].text()
    return "\n".join(lines).rstrip() + "\n"
