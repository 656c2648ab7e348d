"""Writes baselines.json: exponential smoothing of every form as statsmodels fits it, Theta, complex
exponential smoothing and the naive forecasts as statsforecast has them, of two series.

Usage: python3 make_baselines.py [--out DIR]     (README.md beside this file explains what is in it)
"""

import argparse
import csv
import itertools
import json
import math
import pathlib
import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize
from statsforecast.ces import auto_ces, cesmodel, pegelsfcast_C
from statsforecast.models import HistoricAverage, Naive, RandomWalkWithDrift, SeasonalNaive
from statsforecast.theta import auto_theta, forecast_theta
from statsmodels.tsa.exponential_smoothing.ets import ETSModel

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 14


def series() -> dict[str, tuple[np.ndarray, int]]:
    with open(ROOT / "data/series/airline.csv", encoding="utf-8") as file:
        airline = np.array([float(row[1]) for row in list(csv.reader(file))[1:]])
    random = np.random.default_rng(1)
    t = np.arange(160)
    wave = 2 + 3 * np.sin(2 * np.pi * t / 7) + np.cumsum(random.normal(0.01, 0.2, 160)) + random.normal(0, 0.3, 160)
    return {"airline": (airline, 12), "wave": (wave, 7)}


def ets(y: np.ndarray, period: int) -> dict[str, Any]:
    """Of each form the parameters that statsmodels found, how likely they make the rows, and what follows from them."""
    found = {}
    for error, trend, season in itertools.product("AM", ["N", "A", "Ad"], "NAM"):
        if season == "M" and error == "A" or (error == "M" or season == "M") and y.min() <= 0:
            continue
        words = {"N": None, "A": "add", "M": "mul"}
        model = ETSModel(y, error=words[error], trend=words[trend[0]], damped_trend=trend == "Ad", seasonal=words[season],
                         seasonal_periods=period if season != "N" else None)
        fit = model.fit(disp=False, maxiter=10_000)
        p = dict(zip(model.param_names, fit.params))
        # The season of the first rows, the earliest first.
        states = [p[f"initial_seasonal.{i}"] for i in reversed(range(period))] if season != "N" else []
        model_of = {
            "alpha": p["smoothing_level"], "beta": p.get("smoothing_trend", 0), "gamma": p.get("smoothing_seasonal", 0),
            "phi": p.get("damping_trend", 1), "level": p["initial_level"], "slope": p.get("initial_trend", 0),
            "season": states}
        likelihood, forecast = smoothed(y, error, season, model_of)
        if season != "M":  # statsmodels 0.15.0 divides what such a season learns by the level after the row, the book by that before
            assert math.isclose(likelihood, fit.llf, rel_tol=1e-9) and np.allclose(forecast, fit.forecast(STEPS), rtol=1e-9)
        free = 2 + 2 * (trend != "N") + (trend == "Ad") + (period if season != "N" else 0) + 1
        aicc = -2 * likelihood + 2 * free + 2 * free * (free + 1) / (len(y) - free - 1)
        found[error + trend + season] = model_of | {
            "log_likelihood": likelihood, "aicc": aicc, "forecast": forecast}
    return found


def smoothed(y: np.ndarray, error: str, season: str, m: dict[str, Any]) -> tuple[float, list[float]]:
    """The log likelihood and the next rows, by the equations of Hyndman et al. (2008) in plain Python."""
    level, slope, seasons = m["level"], m["slope"], list(m["season"]) or [0.0]
    squares, logs = 0.0, 0.0
    for t, value in enumerate(y):
        s = seasons[t % len(seasons)]
        q = level + m["phi"] * slope
        mu = q * s if season == "M" else q + s
        e = value - mu
        squares += (e / mu if error == "M" else e) ** 2
        logs += math.log(mu) if error == "M" else 0
        moved = e / s if season == "M" else e
        seasons[t % len(seasons)] = s + m["gamma"] * (e / q if season == "M" else e)
        level, slope = q + m["alpha"] * moved, m["phi"] * slope + m["beta"] * moved
    n, forecast = len(y), []
    for t in range(n, n + STEPS):
        slope *= m["phi"]
        level += slope
        s = seasons[t % len(seasons)]
        forecast.append(float(level * s if season == "M" else level + s))
    return -n / 2 * (math.log(2 * math.pi * squares / n) + 1) - logs, forecast


def theta(y: np.ndarray, period: int) -> dict[str, Any]:
    """OTM: what statsforecast makes of the parameters that minimise the squares of its errors one row ahead."""
    def fit(p: np.ndarray) -> dict[str, Any]:
        model: dict[str, Any] = auto_theta(y, period, model="OTM", initial_smoothed=p[0], alpha=p[1], theta=1 / (1 - p[2]))
        return model

    def within(p: np.ndarray) -> np.ndarray:
        return np.array([p[0], np.clip(p[1], 0.1, 1), np.clip(p[2], 0, 1 - 1e-12)])

    def squares(p: np.ndarray) -> float:
        found = fit(within(p))
        plain = found["residuals"]
        if found.get("decompose"):
            s = np.resize(found["seas_forecast"]["mean"], len(y) + period)[(-len(y)) % period :][: len(y)]
            plain = plain / s if found["decomposition_type"] == "multiplicative" else plain - s
        return float(np.sum(plain**2))

    best = min((minimize(squares, [y[0] / 2, alpha, share], method="Nelder-Mead",
                         options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000}) for alpha in (0.2, 0.8) for share in (0.3, 0.8)),
               key=lambda found: found.fun)
    x = within(best.x)
    return {"alpha": float(x[1]), "share": float(x[2]), "squares": float(best.fun),
            "forecast": forecast_theta(fit(x), STEPS)["mean"].tolist()}


def ces(y: np.ndarray, period: int) -> dict[str, Any]:
    """Of each season the parameters that statsforecast found, and what follows from them; and the season that it chose."""
    found: dict[str, Any] = {}
    for season in "NSPF":
        fit = cesmodel(y.copy(), period, season, None, None, None, None, 3)
        forecast = pegelsfcast_C(STEPS, fit)
        p = {key: None if np.isnan(value) else float(value) for key, value in fit["par"].items()}
        found[season] = p | {
            "first": fit["states"][: 1 if season == "N" else period].astype(float).tolist(),
            "log_likelihood": float(fit["loglik"]), "aicc": float(fit["aicc"]), "forecast": forecast.astype(float).tolist()}
    found["chosen"] = auto_ces(y.copy(), period)["seasontype"]
    return found


def naive(y: np.ndarray, period: int) -> dict[str, Any]:
    models = {"last value": Naive(), "drift": RandomWalkWithDrift(), "mean of training": HistoricAverage(),
              "seasonal naive": SeasonalNaive(season_length=period)}
    return {name: np.asarray(model.forecast(y=y, h=STEPS)["mean"], dtype=float).tolist() for name, model in models.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = parser.parse_args().out
    warnings.simplefilter("ignore")
    result = {}
    for name, (y, period) in series().items():
        result[name] = {
            "y": y.tolist(), "period": period, "ets": ets(y, period), "theta": theta(y, period), "ces": ces(y, period),
            "naive": naive(y, period)}
    result["airline"]["theta_plain"] = theta(np.array(result["airline"]["y"]), 1)
    (out / "baselines.json").write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
