#!/usr/bin/env python3
"""Writes holidays.json: the public holidays of whole countries from 2000 to 2030 as the package `holidays` (0.109) has them.

Italy's Day of National Unity, always a Sunday and no free day by law, is left out."""
import datetime
import json
import pathlib

import holidays

COUNTRIES = ["AT", "BE", "BR", "CZ", "DE", "DK", "FI", "FR", "GB", "IT", "NL", "NO", "PL", "PT", "SE", "US"]
NOT_BY_LAW = {"IT": "National Unity Day"}


def days_of(country):
    found = holidays.country_holidays(
        country, subdiv="ENG" if country == "GB" else None, years=range(1999, 2032), observed=True, language="en_US"
    )
    years = {}
    for day, names in sorted(found.items()):
        if names == NOT_BY_LAW.get(country) or not 2000 <= day.year <= 2030:
            continue
        years.setdefault(str(day.year), []).append(day.strftime("%m%d"))
    return {year: " ".join(days) for year, days in years.items()}


if __name__ == "__main__":
    assert holidays.__version__ == "0.109" and datetime.date(2000, 1, 1) in holidays.country_holidays("AT")
    path = pathlib.Path(__file__).parent / "holidays.json"
    path.write_text(json.dumps({country: days_of(country) for country in COUNTRIES}, indent=0) + "\n")
