#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What the tests of the subcommands share: they run regnum, and compare its exit code and what it wrote.
import json, os, signal, subprocess, tempfile

# A command does not heed a signal that its parent process ignores, as SIGINT is in the background of a shell.
signal.signal(signal.SIGINT, signal.default_int_handler)

regnum = None
work = tempfile.mkdtemp()
os.chmod(work, 0o755)

CLASSES = {"schemaVersion": 3, "classes": [
    {"name": "Person", "kind": "object", "properties": [
        {"name": "id", "type": "int", "primaryKey": True},
        {"name": "name", "type": "string", "indexed": True},
        {"name": "age", "type": "int", "optional": True},
        {"name": "score", "type": "double"},
        {"name": "born", "type": "date", "optional": True},
        {"name": "photo", "type": "data", "optional": True},
        {"name": "best", "type": "link", "target": "Person", "optional": True},
        {"name": "home", "type": "link", "target": "Address", "optional": True},
        {"name": "tags", "type": "string", "collection": "list"},
        {"name": "counts", "type": "int", "collection": "dictionary"},
        {"name": "any", "type": "any", "optional": True}]},
    {"name": "Address", "kind": "embedded", "properties": [
        {"name": "street", "type": "string"}, {"name": "number", "type": "int", "optional": True}]},
    {"name": "Note", "kind": "object", "properties": [
        {"name": "text", "type": "string"}, {"name": "owner", "type": "link", "target": "Person", "optional": True}]},
], "rules": [{"class": "Person", "unique": ["name", "age"]}]}


def path(name):
    return os.path.join(work, name)


def write(name, content):
    with open(path(name), 'wb') as file:
        file.write(content if isinstance(content, (bytes, bytearray)) else content.encode())
    return path(name)


def read(name):
    with open(path(name), 'rb') as file:
        return file.read()


class Said:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments, code=0, says=None, input='', env=None, user=None):
    """Runs regnum. The exit code and, in what it wrote to either stream, the text `says` have to be as expected."""
    done = subprocess.run(
        [regnum, *map(str, arguments)], input=input.encode() if isinstance(input, str) else input, capture_output=True,
        env={**os.environ, **(env or {})}, timeout=1800, user=user)
    said = Said(done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace'))
    if code is not None and done.returncode != code or (says and says not in said.out + said.err):
        raise SystemExit(
            f"regnum {' '.join(map(str, arguments))}\nended with {said.code}, not {code}, or did not say: {says}\n"
            f"{said.out[:2000]}\n{said.err[:2000]}")
    return said


def equal(found, wanted, what=''):
    if found != wanted:
        raise SystemExit(f'{what}\nfound  {found!r}\nwanted {wanted!r}')


def make(name, people=5, *options):
    """Makes a file with people, of whom each odd one has a home, and a note of the first."""
    lines = [json.dumps(CLASSES)]
    for number in range(1, people + 1):
        value = {"id": number, "name": f"name {number}", "age": number * 10, "score": number / 2,
                 "tags": [f"t{number}", "x"], "counts": {"a": number}, "any": number}
        if number % 2:
            value["home"] = {"$ref": "Address", "$id": number}
        if number > 1:
            value["best"] = {"$ref": "Person", "$id": number - 1}
        lines.append(json.dumps({"class": "Person", "key": number, "value": value}))
    for number in range(1, people + 1, 2):
        lines.append(json.dumps({"class": "Address", "key": number, "value": {"street": f"street {number}"}}))
    lines.append(json.dumps({"class": "Note", "key": 1, "value": {"text": "note", "owner": {"$ref": "Person", "$id": 1}}}))
    write(name + '.jsonl', '\n'.join(lines) + '\n')
    target = path(name)
    for old in [target, target + '.lock']:
        if os.path.exists(old):
            os.remove(old)
    run('load', path(name + '.jsonl'), target, *options)
    return target
