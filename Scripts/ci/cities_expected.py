#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The answers of Examples/Cities, computed from the data files alone, without the database.

usage: cities_expected.py FOLDER               prints the expected JSON object
       cities_expected.py FOLDER ANSWERS.json  compares; prints each difference and fails if there is one
       cities_expected.py --self-test
"""
import collections
import json
import pathlib
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def read(folder):
    folder = pathlib.Path(folder)
    countries = lines(folder / "countries.jsonl")
    cities = [c for p in sorted(folder.glob("cities*.jsonl")) for c in lines(p)]
    return countries, cities


def expected(countries, cities):
    by_code = {c["iso"]: c for c in countries}
    largest = sorted(cities, key=lambda c: (-c["population"], c["name"].encode()))[:5]
    continents = collections.Counter()
    for city in cities:
        if city["countrycode"] in by_code:
            continents[by_code[city["countrycode"]]["continentcode"]] += city["population"]
    return {
        "cities": len(cities),
        "countries": len(countries),
        "largest": [
            {
                "name": c["name"],
                "country": by_code[c["countrycode"]]["name"],
                "population": c["population"],
            }
            for c in largest
        ],
        "tenMillion": sum(c["population"] >= 10_000_000 for c in cities),
        "japanOverMillion": sum(c["population"] > 1_000_000 and c["countrycode"] == "JP" for c in cities),
        "populationByContinent": dict(sorted(continents.items())),
        "alternateNameYork": sum(
            any("york" in name.lower() for name in c["alternatenames"]) for c in cities),
    }


def differences(wanted, given):
    if not isinstance(given, dict):
        return ["the answers are not one JSON object"]
    result = [f"{k}: expected {v!r}, got {given.get(k)!r}" for k, v in wanted.items() if given.get(k) != v]
    return result + [f"{k} was not asked for" for k in given if k not in wanted]


def self_test():
    countries = [{"iso": "JP", "name": "Japan", "continentcode": "AS"}]
    cities = [
        {"name": n, "countrycode": "JP", "population": p, "alternatenames": a}
        for n, p, a in [("B", 10_000_000, ["New YORK"]), ("A", 10_000_000, []), ("C", 1_000_000, ["Yor", "k"])]
    ]
    answer = expected(countries, cities)
    assert [c["name"] for c in answer["largest"]] == ["A", "B", "C"], answer
    assert (answer["tenMillion"], answer["japanOverMillion"], answer["alternateNameYork"]) == (2, 2, 1), answer
    assert answer["populationByContinent"] == {"AS": 21_000_000}, answer
    assert differences(answer, dict(answer)) == []
    assert differences(answer, dict(answer, cities=4, extra=1)) == [
        "cities: expected 3, got 4", "extra was not asked for"]


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    wanted = expected(*read(arguments[0]))
    if len(arguments) == 1:
        print(json.dumps(wanted, ensure_ascii=False, indent=2))
        return 0
    with open(arguments[1], encoding="utf-8") as file:
        found = differences(wanted, json.load(file))
    for difference in found:
        print(difference, file=sys.stderr)
    print(f"{arguments[1]}: {len(wanted) - len(found)} of {len(wanted)} answers equal", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
