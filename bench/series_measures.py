"""Measures of forecasts as the competitions count them, and Naive 2, which M4 measures by.

y are the values that were forecast, f their forecast, both [horizon]; before are the rows before them, period the rows of a season.
"""

import math


def season_is_significant(y, period):
    """M4's test: the autocorrelation at the period is significant at 90 %."""
    n = len(y)
    if period == 1 or n < 3 * period:
        return False
    mean = math.fsum(y) / n
    products = [math.fsum((y[t] - mean) * (y[t - lag] - mean) for t in range(lag, n)) for lag in range(period + 1)]
    r = [p / products[0] for p in products] if products[0] > 0 else [0.0] * (period + 1)
    return abs(r[period]) > 1.645 / math.sqrt(n) * math.sqrt(1 + 2 * math.fsum(v * v for v in r[1:period]))


def season_of(y, period):
    """The season of a classical multiplicative decomposition, from the first row on."""
    half, found = period // 2, [[] for _ in range(period)]
    for t in range(half, len(y) - half):
        around = y[t - half : t + half + 1]
        if period % 2 == 0:
            around = [0.5 * around[0], *around[1:-1], 0.5 * around[-1]]
        found[t % period].append(y[t] / (math.fsum(around) / period))
    season = [math.fsum(f) / len(f) for f in found]
    mean = math.fsum(season) / period
    return [s / mean for s in season]


def naive2(before, period, horizon):
    """The last value without its season, with the season put back."""
    season = season_of(before, period) if season_is_significant(before, period) else [1.0] * period
    n = len(before)
    return [before[-1] / season[(n - 1) % period] * season[(n + h) % period] for h in range(horizon)]


def seasonal_naive(before, period, horizon):
    """The value one season before; the last value if no whole season is there."""
    period = period if len(before) >= period else 1
    return [before[len(before) - period + h % period] for h in range(horizon)]


def rmse(y, f):
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(y, f)) / len(y))


def smape(y, f):
    """In per cent, from 0 to 200. M3 divides by the sum without absolute values: the same above 0."""
    return 200 * math.fsum(abs(a - b) / (abs(a) + abs(b)) if a or b else 0.0 for a, b in zip(y, f)) / len(y)


def mape(y, f):
    """In per cent; infinite if a value is 0."""
    return 100 * math.fsum(abs((a - b) / a) if a else math.inf for a, b in zip(y, f)) / len(y)


def seasonal_error(before, period):
    """MASE's unit: the mean error of the seasonal naive forecast in the rows before. 0 if there is no such error."""
    differences = [abs(a - b) for a, b in zip(before[period:], before)]
    return math.fsum(differences) / len(differences) if differences else 0.0


def mase(y, f, before, period):
    return math.fsum(abs(a - b) for a, b in zip(y, f)) / len(y) / seasonal_error(before, period)


def winkler(y, low, high, level=0.8):
    """The mean of Winkler's interval score (1972): the width, and 2 / (1 - level) times the distance of a value outside."""
    miss = 2 / (1 - level)
    return math.fsum(h - l + miss * (max(l - a, 0) + max(a - h, 0)) for a, l, h in zip(y, low, high)) / len(y)


def owa(scores, naive):
    """Mean sMAPE, mean MASE and M4's OWA of (sMAPE, MASE) by series, beside those of Naive 2."""
    mean = [math.fsum(s[k] for s in scores) / len(scores) for k in range(2)]
    base = [math.fsum(s[k] for s in naive) / len(naive) for k in range(2)]
    return mean[0], mean[1], (mean[0] / base[0] + mean[1] / base[1]) / 2


def geometric_mean(values, least=1e-12):
    """A value below `least` counts as that."""
    return math.exp(math.fsum(math.log(max(v, least)) for v in values) / len(values))


def ranks(values):
    """From 1 for the least; equal values share the mean of their ranks."""
    order = sorted(values)
    return [order.index(v) + (order.count(v) + 1) / 2 for v in values]
