#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The subcommands that query, dump and load do what their help says, on files that this script makes.
# usage: tools_commands.py REGNUM [TEST...]
import csv, io, json, os, shutil, stat, subprocess, sys
import tools_support as support
from tools_support import equal, make, path, read, run, write


def test_query_modes():
    people = make('people.realm')
    said = run('query', people, 'Person', 'age > 10 SORT(age DESC) LIMIT(2)', '--json')
    equal([p['id'] for p in said.json], [5, 4])
    equal(said.json[0]['home'], {'street': 'street 5', 'number': None})
    equal(said.json[0]['best'], {'class': 'Person', 'primaryKey': 4})
    equal([p['id'] for p in run('query', people, 'Person', 'SORT(score ASC) LIMIT(3)', '--mode', 'json').json], [1, 2, 3])
    equal(len(run('query', people, 'Person', "name == 'SORT(x)'", '--json').json), 0)
    rows = list(csv.reader(io.StringIO(run('query', people, 'Person', 'id <= 2', '--mode', 'csv').out)))
    equal(rows[0][:4], ['id', 'name', 'age', 'score'])
    equal(rows[2][:4], ['2', 'name 2', '20', '1.0'])
    table = run('query', people, 'Note', '--mode', 'table').out.splitlines()
    equal(table, ['text  owner', '----  -----', 'note  1', '1 object'])
    equal(run('query', people, 'Note', '--mode', 'line').out, ' text = note\nowner = 1\n')
    equal(run('query', people, 'Person', 'DISTINCT(score)').out.splitlines()[-1], '5 objects')
    run('query', people, 'Person', 'LIMIT(x)', code=1, says='needs a number of objects')
    run('query', people, 'Person', 'SORT(nothing)', code=1, says="property 'Person.nothing' does not exist")
    run('query', people, 'Person', 'LIMIT(1) age > 3', code=1, says='only another one of them may follow')
    run('query', people, 'Person', '--mode', 'xml', code=64, says='text, table, json, csv')
    run('query', people, 'Nothing', '--json', code=1, says="has no class 'Nothing'")
    equal(run('query', people, 'Nothing', '--json', code=1).out, '')


def test_terminal_is_safe():
    make('people.realm')
    lines = support.read('people.realm.jsonl').decode().replace('"note"', r'"a\u001b[31m\nb"')
    write('control.jsonl', lines)
    run('load', path('control.jsonl'), path('control.realm'))
    for mode in ['table', 'line', 'text', 'json']:
        said = run('query', path('control.realm'), 'Note', '--mode', mode)
        equal('\x1b' in said.out, False, mode)
    equal('a\x1b[31m\nb' in run('query', path('control.realm'), 'Note', '--mode', 'csv').out, True)


def test_explain():
    people = make('people.realm', 2000)
    said = run('explain', people, 'Person', "name == 'name 7'", '--json').json
    equal((said['indexes'], said['found'], said['objects']), (['name'], 1, 2000))
    said = run('query', people, 'Person', 'age == 70', '--explain', '--json').json
    equal((said['indexes'], said['found'], said['advisedIndexes']), ([], 1, ['age']))
    run('explain', people, 'Person', 'age == 70', says='an index on age would save')


def test_looking_needs_no_permission():
    people = make('people.realm')
    folder = path('protected')
    os.makedirs(folder)
    shutil.copy(people, folder + '/a.realm')
    os.chmod(folder + '/a.realm', 0o444)
    os.chmod(folder, 0o555)
    before = open(folder + '/a.realm', 'rb').read()
    # Root may write everywhere.
    user = 65534 if os.geteuid() == 0 else None
    for command in [['info'], ['schema'], ['query', 'Person'], ['explain', 'Person'], ['check'], ['dump']]:
        run(command[0], folder + '/a.realm', *command[1:], user=user)
    run('delete', folder + '/a.realm', 'Person', 'TRUEPREDICATE', '--yes', user=user, code=1)
    equal(os.listdir(folder), ['a.realm'])
    equal(open(folder + '/a.realm', 'rb').read() == before, True)
    os.chmod(folder, 0o755)


def test_keys():
    write('key', bytes(range(64)))
    secret = make('secret.realm', 3, '--key-file', path('key'))
    run('query', secret, 'Person', code=1, says='environment variable REGNUM_KEY_FILE')
    run('query', secret, 'Person', says='3 objects', env={'REGNUM_KEY_FILE': path('key')})
    run('query', secret, 'Person', says='3 objects', env={'REGNUM_KEY': bytes(range(64)).hex()})
    run('query', secret, 'Person', code=1, says='another key', env={'REGNUM_KEY': bytes(64).hex()})
    run('query', secret, 'Person', code=1, says='128 hexadecimal digits', env={'REGNUM_KEY': 'zz'})
    run('query', make('people.realm'), 'Person', code=1, says='unset the environment variable REGNUM_KEY',
        env={'REGNUM_KEY': bytes(64).hex()})
    # The option takes precedence.
    run('query', secret, 'Person', '--key-file', path('key'), says='3 objects', env={'REGNUM_KEY': 'zz'})


def test_output():
    people = make('people.realm', 3000)
    for command in ['query', 'dump']:
        arguments = [support.regnum, command, people] + (['Person'] if command == 'query' else [])
        for ignores in [True, False]:
            process = subprocess.Popen(
                arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=not ignores)
            process.stdout.read(10)
            process.stdout.close()
            equal((process.stderr.read(), process.wait()), (b'', 0), 'a closed pipe')
        with open('/dev/full', 'wb') as full:
            done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE)
        equal((done.returncode, b'cannot be written' in done.stderr), (1, True), 'a full device')


def test_dump_and_load():
    for golden in ['format-1', 'format-1-rules', 'format-1-trees', 'format-1-sequences']:
        source = f'Tests/Golden/{golden}.realm'
        lines = run('dump', source).out
        write(golden + '.jsonl', lines)
        run('load', path(golden + '.jsonl'), path(golden + '.realm'), '--verify', says='objects are the same')
        equal(run('schema', path(golden + '.realm')).out, run('schema', source).out, golden)
        run('check', path(golden + '.realm'), says='is whole')
        # From a file with dense numbers of objects the lines are the same, byte by byte.
        again = run('dump', path(golden + '.realm')).out
        run('load', '-', path(golden + '-2.realm'), input=again)
        equal(run('dump', path(golden + '-2.realm')).out == again, True, golden)
    equal([name for name in os.listdir(support.work) if 'loading' in name or 'lines' in name], [])
    run('load', path('format-1.jsonl'), path('format-1.realm'), code=1, says='File exists')
    run('dump', 'Tests/Golden/format-1.realm', 'Nothing', code=1, says="has no class 'Nothing'")
    # A difference is found: the number of a link, and a value.
    make('people.realm')
    lines = read('people.realm.jsonl').decode().splitlines()
    write('reordered.jsonl', '\n'.join([lines[0], lines[2], lines[1], *lines[3:]]))
    run('load', path('reordered.jsonl'), path('reordered.realm'), '--verify', code=2, says='differs from line')
    equal(os.path.exists(path('reordered.realm')), False)
    broken = lines[:3] + [lines[3][:40]]
    write('broken.jsonl', '\n'.join(broken))
    run('load', path('broken.jsonl'), path('broken.realm'), code=1)
    write('rules.jsonl', lines[0].replace('"unique": ["name", "age"]', '"unique": ["score"]'))
    run('load', path('rules.jsonl'), path('rules.realm'), code=1, says='unique constraints')
    equal([name for name in os.listdir(support.work) if name.startswith(('broken.realm', 'rules.realm'))], [])
    key = write('key', bytes(range(64)))
    run('load', path('format-1.jsonl'), path('format-1s.realm'), '--verify', '--key-file', key)
    equal(run('dump', path('format-1s.realm'), '--key-file', key).out, run('dump', path('format-1.realm')).out)


def main():
    support.regnum = sys.argv[1]
    tests = {name: test for name, test in globals().items() if name.startswith('test_')}
    for name, test in tests.items():
        if len(sys.argv) == 2 or name in sys.argv[2:]:
            test()
            print(f'{name} passed')
    shutil.rmtree(support.work)


main()
