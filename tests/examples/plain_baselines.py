"""The baselines of `timeseries` and their conformal intervals in plain Python, by what docs/series.md says of them. Nothing here
comes from the program. ETS is not among them: its fits are held against statsmodels (tests/reference/make_baselines.py)."""
import bisect
import math


class Channel:
    """One channel of a file: its values with what is missing filled in by the value before, and which were observed."""

    def __init__(self, values):
        self.seen = [v is not None for v in values]
        self.y = []
        for v in values:
            self.y.append(self.y[-1] if v is None else v)


def least_squares(rows, ys):
    """By Gram and Schmidt, twice: the coefficients of Σ w x = y."""
    columns = [list(c) for c in zip(*rows)]
    q, r = [], []
    for column in columns:
        v, coefficients = list(column), [0.0] * len(q)
        for _ in range(2):
            for k, base in enumerate(q):
                share = math.fsum(a * b for a, b in zip(base, v))
                coefficients[k] += share
                v = [a - share * b for a, b in zip(v, base)]
        norm = math.sqrt(math.fsum(a * a for a in v))
        q.append([a / norm for a in v])
        r.append(coefficients + [norm])
    w = [math.fsum(a * b for a, b in zip(base, ys)) for base in q]
    for i in reversed(range(len(w))):
        w[i] = (w[i] - math.fsum(r[j][i] * w[j] for j in range(i + 1, len(w)))) / r[i][i]
    return w


def last_value(channel, origin, horizon):
    return [channel.y[origin - 1]] * horizon


def drift(channel, origin, horizon):
    step = (channel.y[origin - 1] - channel.y[0]) / (origin - 1)
    return [channel.y[origin - 1] + step * (h + 1) for h in range(horizon)]


def seasonal(period):
    return lambda channel, origin, horizon: [channel.y[origin - period + h % period] for h in range(horizon)]


def growth(period):
    def forecast(channel, origin, horizon):
        g = min(horizon, period)
        factor = math.fsum(channel.y[origin - g : origin]) / math.fsum(channel.y[origin - period - g : origin - period])
        return [factor * v for v in seasonal(period)(channel, origin, horizon)]

    return forecast


def mean_of(channel, train):
    seen = [v for v, s in zip(channel.y[:train], channel.seen) if s]
    mean = math.fsum(seen) / len(seen)
    return lambda _, origin, horizon: [mean] * horizon


def ridge(channel, train, window, horizon, period):
    """Of each step, by a penalty that adds rows to the least squares."""
    waves = min(3, period // 2) if period > 1 else 0
    mean = math.fsum(channel.y[:train]) / train
    unit = math.sqrt(math.fsum((v - mean) ** 2 for v in channel.y[:train]) / train)

    def features(origin):
        x = [channel.y[origin - k] - channel.y[origin - 1] for k in range(2, window + 1)]
        for wave in range(1, waves + 1):
            angle = 2 * math.pi * (wave * (origin % period)) / period
            x += [unit * math.cos(angle), unit * math.sin(angle)]
        return x

    origins = [o for o in range(window, train - horizon + 1) if all(channel.seen[o : o + horizon])]
    xs = [features(o) for o in origins]
    ys = [[channel.y[o + h] - channel.y[o - 1] for h in range(horizon)] for o in origins]

    def fit(xs, ys, share):
        n, columns = len(xs), len(xs[0])
        x_mean = [math.fsum(c) / n for c in zip(*xs)]
        centred = [[v - m for v, m in zip(x, x_mean)] for x in xs]
        penalty = share * math.fsum(v * v for x in centred for v in x) / columns
        rows = centred + [[math.sqrt(penalty) if i == j else 0.0 for j in range(columns)] for i in range(columns)]
        model = []
        for h in range(horizon):
            y_mean = math.fsum(y[h] for y in ys) / n
            w = least_squares(rows, [y[h] - y_mean for y in ys] + [0.0] * columns)
            model.append((y_mean - math.fsum(a * b for a, b in zip(w, x_mean)), w))
        return model

    def steps(model, x):
        return [constant + math.fsum(a * b for a, b in zip(w, x)) for constant, w in model]

    first = len(xs) * 4 // 5

    def late(share):
        model = fit(xs[:first], ys[:first], share)
        return math.fsum((f - y) ** 2 for x, ys_ in zip(xs[first:], ys[first:]) for f, y in zip(steps(model, x), ys_))

    model = fit(xs, ys, min([1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0], key=late))
    return lambda now, origin, _: [now.y[origin - 1] + f for f in steps(model, features(origin))]


def theta(channel, train, period):
    y, seen = channel.y[:train], channel.seen[:train]
    mean = math.fsum(y) / train
    apart = [v - mean for v in y]
    r = [math.fsum(a * b for a, b in zip(apart[k:], apart)) for k in range(period + 1)]
    r = [v / r[0] for v in r]
    has_season = train * r[period] ** 2 / (1 + 2 * math.fsum(v * v for v in r[1:period])) > 1.645**2
    multiplies, season = has_season and min(y) > 0, None
    if has_season:
        half, found = period // 2, [[] for _ in range(period)]
        for t in range(half, train - half):
            if not seen[t]:
                continue
            around = y[t - half : t + half + 1]
            if period % 2 == 0:
                around = [0.5 * around[0], *around[1:-1], 0.5 * around[-1]]
            level = math.fsum(around) / period
            found[t % period].append(y[t] / level if multiplies else y[t] - level)
        season = [math.fsum(f) / len(f) for f in found]
        centre = math.fsum(season) / period
        season = [s / centre if multiplies else s - centre for s in season]

    def without(v, t):
        return v if season is None else v / season[t % period] if multiplies else v - season[t % period]

    plain = [without(v, t) for t, v in enumerate(y)]
    _, slope = least_squares([[1.0, float(t)] for t in range(train) if seen[t]], [p for p, s in zip(plain, seen) if s])

    def rest(alpha):
        """(squares, share, first level): least squares of the errors one row ahead, the share within [0, 1]."""
        level, fades, rows = 0.0, 1.0, []
        for v, s in zip(plain, seen):
            before, fades = fades, fades * (1 - alpha)
            if s:
                rows.append((before, slope * (1 - fades) / alpha, v - plain[0] - level))
            level += alpha * (v - plain[0] - level)
        ww, wd, dd, wr, dr = (math.fsum(r[a] * r[b] for r in rows) for a, b in [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2)])
        share = min(max((ww * dr - wd * wr) / (ww * dd - wd * wd), 0.0), 1.0)
        first = (wr - share * wd) / ww
        return math.fsum((e - w * first - share * d) ** 2 for w, d, e in rows), share, plain[0] + first

    best = min(range(10, 101), key=lambda k: rest(k / 100)[0])
    low, high = max(0.1, (best - 1) / 100), min(1.0, (best + 1) / 100)
    while high - low > 1e-10:  # by thirds: the squares have one least place between them
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if rest(a)[0] < rest(b)[0] else (a, high)
    alpha = min([low, high, (low + high) / 2, 0.1, 1.0], key=lambda a: rest(a)[0])
    _, share, first = rest(alpha)

    def forecast(now, origin, horizon):
        level = first
        for t in range(origin):
            level += alpha * (without(now.y[t], t) - level)
        ahead = (1 - (1 - alpha) ** origin) / alpha
        values = []
        for h in range(horizon):
            value, t = level + share * slope * (h + ahead), origin + h
            values.append(value if season is None else value * season[t % period] if multiplies else value + season[t % period])
        return values

    return forecast


def baselines(channels, train, window, horizon, period):
    """{name: [forecast by channel]}, each a function of a channel, an origin and a horizon."""
    positive = all(v > 0 for channel in channels for v in channel.y)
    found = {"last value": [last_value for _ in channels], "drift": [drift for _ in channels]}
    found[f"seasonal naive ({period})"] = [seasonal(period) for _ in channels]
    if positive:
        found[f"seasonal naive ({period}) times growth"] = [growth(period) for _ in channels]
    found["mean of training"] = [mean_of(c, train) for c in channels]
    found[f"ridge regression ({window})"] = [ridge(c, train, window, horizon, period) for c in channels]
    found["Theta"] = [theta(c, train, period) for c in channels]
    return found


class Interval:
    """Of one channel: as wide as the errors before were, each step by itself (examples/timeseries/series/conformal.h)."""

    def __init__(self, channel, window, horizon, deviation, least, level):
        self.channel, self.window, self.deviation, self.least, self.level = channel, window, deviation, least, level
        self.to_come = [[] for _ in range(horizon)]  # (row, error)
        self.known = [[] for _ in range(horizon)]  # errors, as they became known

    def unit(self, origin):
        rows = range(origin - self.window, origin)
        y = [self.channel.y[row] for row in rows if self.channel.seen[row]] or [0.0]
        mean = math.fsum(y) / len(y)
        spread = math.sqrt(math.fsum((v - mean) ** 2 for v in y) / len(y))
        return self.deviation * max(spread / self.deviation, 0.1) ** (1 / 3)

    def learn(self, origin, forecast):
        for h, f in enumerate(forecast):
            if self.channel.seen[origin + h]:
                bisect.insort(self.to_come[h], (origin + h, abs(f - self.channel.y[origin + h]) / self.unit(origin)))

    def quantile(self, h, level):
        errors = sorted(self.known[h])
        k = max(math.ceil(level * (len(errors) + 1) - 1e-9), 1)
        return math.nan if len(errors) < 8 or k > len(errors) else errors[k - 1]

    def put(self, origin, forecast):
        """[(low, high)] of each step."""
        result = []
        for h, f in enumerate(forecast):
            while self.to_come[h] and self.to_come[h][0][0] < origin:
                self.known[h].append(self.to_come[h].pop(0)[1])
                self.known[h] = self.known[h][-500:]
            width = self.unit(origin) * self.quantile(h, self.level)
            result.append((max(self.least, f - width), f + width))
        return result


def scored_rows(channels, forecasts, train, valid, end, window, horizon, deviations, level):
    """The test's forecasts of one baseline as rows of the file that `evaluate --out` writes."""
    names = [chr(ord("a") + k) for k in range(len(channels))]
    least = [0.0 if min(c.y[:train]) >= 0 else -math.inf for c in channels]
    intervals = [Interval(c, window, horizon, d, low, level) for c, d, low in zip(channels, deviations, least)]

    def origins(begin, end):
        rows = range(begin, end - horizon + 1)
        return [o for o in rows if any(c.seen[o + h] for c in channels for h in range(horizon))]

    for origin in origins(train, valid):
        for channel, forecast, interval in zip(channels, forecasts, intervals):
            interval.learn(origin, [max(interval.least, f) for f in forecast(channel, origin, horizon)])
    rows = []
    for origin in origins(valid, end):
        for name, channel, forecast, interval in zip(names, channels, forecasts, intervals):
            values = [max(interval.least, f) for f in forecast(channel, origin, horizon)]
            for h, (low, high) in enumerate(interval.put(origin, values)):
                seen = channel.seen[origin + h]
                row = {"channel": name, "step": h + 1, "truth": channel.y[origin + h] if seen else "", "forecast": values[h]}
                row.update({"low": "" if math.isnan(low) else low, "high": high})
                rows.append(row)
            interval.learn(origin, values)
    return rows
