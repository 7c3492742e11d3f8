#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Compares the output of `regnum query --json` for a golden file with the golden file's own JSON, value by value.
# usage: tools_expected.py REGNUM FILE.realm FILE.json [ARGUMENTS OF QUERY...]
import base64, datetime, json, math, struct, subprocess, sys


def number(said):
    return float(said) if isinstance(said, str) else said


def real(bits, form, said):
    value = struct.unpack(form, bytes.fromhex(bits))[0]
    said = number(said)
    if math.isnan(value):
        return math.isnan(said)
    return struct.pack(form, said) == struct.pack(form, value)


def date(text, said):
    seconds, nanoseconds = map(int, text.split(','))
    if nanoseconds < 0:
        seconds, nanoseconds = seconds - 1, nanoseconds + 10**9
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        # Beyond the range of Python's calendar.
        return isinstance(said, str) and said.endswith('Z')
    words = at.strftime('%Y-%m-%dT%H:%M:%S').rjust(19, '0')
    if nanoseconds:
        words += ('.%09d' % nanoseconds).rstrip('0')
    return said == words + 'Z'


def equal(golden, said, tables):
    if golden is None:
        return said is None
    if isinstance(golden, list):
        return isinstance(said, list) and len(said) == len(golden) and all(
            equal(g, s, tables) for g, s in zip(golden, said))
    if isinstance(golden, dict):
        return isinstance(said, dict) and said.keys() == golden.keys() and all(
            equal(golden[k], said[k], tables) for k in golden)
    kind, _, text = golden.partition(':')
    if kind == 'int':
        return said == int(text) and not isinstance(said, bool)
    if kind == 'bool':
        return said is (text == 'true')
    if kind == 'string':
        return said == text
    if kind == 'data':
        return said == base64.b64encode(bytes.fromhex(text)).decode()
    if kind == 'float':
        return real(text, '>f', said)
    if kind == 'double':
        return real(text, '>d', said)
    if kind == 'date':
        return date(text, said)
    if kind == 'objectID':
        return said == text
    if kind == 'uuid':
        return said.replace('-', '').lower() == text and said[8] == '-' and said == said.upper()
    if kind == 'decimal128':
        return isinstance(said, str) and said != ''
    if kind == 'link':
        return isinstance(said, dict)
    raise SystemExit(f'unknown value {golden}')


def main():
    regnum, path, golden, *rest = sys.argv[1:]
    tables = json.load(open(golden))['tables']
    compared = 0
    for table in tables:
        said = json.loads(subprocess.run(
            [regnum, 'query', path, table['name'], '--json', *rest], check=True, capture_output=True).stdout)
        assert len(said) == len(table['rows']), table['name']
        for row, said_row in zip(table['rows'], said):
            columns = [c for c in table['columns']]
            for column, value in zip(columns, row[1:]):
                if column['hidden']:
                    continue
                there = said_row[column['name']]
                if not equal(value, there, tables):
                    raise SystemExit(f"{table['name']} {row[0]} {column['name']}: {value} is not {there}")
                compared += 1
    print(f'{compared} values compared')


main()
