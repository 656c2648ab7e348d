"""Models of unroll in Python: load one, score a text or forecast a series with it, look inside.

    import unroll
    unroll.forecast([112, 118, 132, 129, 121, 135], steps=3).values     # without any file
    unroll.load("last.safetensors").score("the dog near the men sleeps .").perplexity
"""
from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Union, overload

from . import _unroll
from ._unroll import Error, glibc

__all__ = ["Error", "Forecast", "LanguageModel", "Score", "SeriesModel", "forecast", "glibc", "load"]

Error.__module__ = __name__
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Values = Iterable[Union[float, None]]  # of one series, oldest first; None or NaN: missing, and at the end a row to forecast


class Score(NamedTuple):
    """How well a model expected a text."""

    perplexity: float
    tokens: int  # words or characters, and the end of each line
    unknown: int  # of these the vocabulary lacks so many


class Forecast(NamedTuple):
    """The forecast of one column of one series."""

    values: list[float]
    low: list[float | None]  # the interval; None: it is not known
    high: list[float | None]
    time: list[str]  # of each step; a row's number in a series without times
    interval: str  # its meaning
    series: str  # its name in a file of several; else ""
    column: str
    notes: list[str]  # guesses and warnings, a line each


class LanguageModel:
    """A model of the program ptb. load() makes it."""

    def __init__(self, model: _unroll.TextModel) -> None:
        self._model = model

    def score(self, text: str) -> Score:
        """Scores a text, a line a sentence; the state goes on from line to line."""
        return Score(*self._model.score(text))

    def look(self, path: Path, text: str) -> None:
        """Writes an HTML page: the model's values while it reads a text of 400 words at most."""
        self._model.look(text, os.fsdecode(path))


class SeriesModel:
    """A model of the program timeseries. load() makes it."""

    def __init__(self, model: _unroll.SeriesModel) -> None:
        self._model = model

    def forecast(self, csv: Path | None = None, steps: int | None = None, *, future: Path | None = None) -> list[Forecast]:
        """Forecasts each column that the model forecasts, of each series.

        csv: a file with the model's columns. None: the series that trained it. steps: None: the model's horizon. future: a
        file of what is known of the rows to forecast.
        """
        return _forecasts(self._model.forecast(_path(csv), _steps(steps), _path(future)))

    def look(self, path: Path, csv: Path | None = None, *, series: str = "", at: str = "", target: str = "") -> None:
        """Writes an HTML page: the model's values while it reads a window, and what the forecast rests on.

        series: which one, of a model of several. at: the first row to forecast, by its time; of a detector, the row to give a
        label. "": the last whose truth is known. target: the column whose forecast is looked at. "": the first.
        """
        self._model.look(_path(csv), os.fsdecode(path), series, at, target)


def load(path: Path) -> LanguageModel | SeriesModel:
    """Loads a model's file, NAME.safetensors, of either program."""
    model = _unroll.load(os.fsdecode(path))
    return LanguageModel(model) if isinstance(model, _unroll.TextModel) else SeriesModel(model)


@overload
def forecast(  # type: ignore[overload-overlap]  # bytes are numbers too, but a path here
    data: Path, steps: int | None = None, *, columns: str | Iterable[str] = ()
) -> list[Forecast]: ...
@overload
def forecast(data: Values, steps: int | None = None) -> Forecast: ...
def forecast(
    data: Path | Values, steps: int | None = None, *, columns: str | Iterable[str] = ()
) -> list[Forecast] | Forecast:
    """Forecasts without a model, by the mean of a few forecasters; one is a network that comes with this package.

    data: the values of a series, or the path of a CSV file, of which each column of numbers is forecast, or `columns`. A value that
    is None or NaN is missing; the last ones are rows to forecast instead, and the first of them is the first step.
    steps: None: as many as there are rows to forecast; without any a season of at most 60 rows, but no more than a quarter of the
    rows; without one 12, but no more than a tenth.
    """
    if isinstance(data, (str, bytes, os.PathLike)):
        return _forecasts(_unroll.forecast(_path(data), _steps(steps), [columns] if isinstance(columns, str) else list(columns)))
    if columns:
        raise Error("forecast: columns are for a file")
    with _in_file(data) as csv:
        found = _forecasts(_unroll.forecast(csv, _steps(steps), []))[0]
        return found._replace(notes=[_by_index(note, csv) for note in found.notes])


def _path(path: Path | None) -> str:
    return "" if path is None else os.fsdecode(path)


def _steps(steps: int | None) -> int:
    if steps is not None and not 1 <= steps <= 1_000_000:
        raise Error(f"forecast: steps {steps} must be in [1, 1000000]")
    return steps or 0


def _forecasts(text: str) -> list[Forecast]:
    found = json.loads(text)
    return [
        Forecast(
            values=of["values"],
            low=of.get("low", [None] * len(of["values"])),
            high=of.get("high", [None] * len(of["values"])),
            time=one["time"],
            interval=one["interval"],
            series=one.get("series", ""),
            column=column,
            notes=found["notes"],
        )
        for one in found["forecasts"]
        for column, of in one["forecast"].items()
    ]


def _by_index(message: str, csv: str) -> str:
    """A message on the file of values as one on the values: line 2 of the file is the value of index 0."""
    message = re.sub(rf"{re.escape(csv)}:(\d+):( column 1 \('value'\):)?", r"the values: line \1:", message).replace(csv, "the values")
    return re.sub(r"\blines? (\d+)(?: to (\d+))?", lambda m: " to ".join(f"index {int(line) - 2}" for line in m.groups() if line), message)


@contextlib.contextmanager
def _in_file(values: Values) -> Iterator[str]:
    """A CSV file of the values; an error that names it speaks of the values instead."""
    lines = ["NaN" if x is None or x != x else f"{float(x):.16e}" for x in values]  # a form that no date or decimal comma has
    with tempfile.NamedTemporaryFile("w", prefix="unroll-", suffix=".csv") as file:
        file.write("".join(f"{line}\n" for line in ["value", *lines]))
        file.flush()
        try:
            yield file.name
        except Error as error:
            raise Error(_by_index(str(error), file.name)) from None
