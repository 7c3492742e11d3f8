#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The subcommands that query, dump and load do what their help says, on files that this script makes.
# usage: tools_commands.py REGNUM [TEST...]
import csv, io, json, os, shutil, signal, subprocess, sys, time

# The module beside this script is not compiled into the work tree.
sys.dont_write_bytecode = True
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
    said = run('query', people, 'Person', 'age > > 3', code=1)
    equal(said.err.splitlines()[-2:], ['  age > > 3', '        ^'])
    said = run('query', people, 'Person', 'age > 3 SORT(nothing)', code=1)
    equal(said.err.splitlines()[-1], ' ' * 15 + '^')
    said = run('query', people, 'Person', 'id < 4', '--aggregate', 'score', '--json').json
    equal(said, {'class': 'Person', 'property': 'score', 'count': 3, 'min': 0.5, 'max': 1.5, 'sum': 3.0, 'avg': 1.0})
    equal(run('query', people, 'Note', '--aggregate', 'text').out, 'count  1\n')
    run('query', people, 'Person', '--aggregate', 'nothing', code=1, says="no property 'nothing'")
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
    # The names of classes and properties are those of the file, too. C1 characters and changes of direction count.
    name = r'No\u001b[31m\u009b\u202ete'
    lines = support.read('people.realm.jsonl').decode().replace('"Note"', f'"{name}"').replace('"text"', r'"te\u009bxt"')
    write('names.jsonl', lines.replace('"note"', r'"\u009b\u202e"'))
    file = path('names.realm')
    run('load', path('names.jsonl'), file)
    known = json.loads(f'"{name}"')
    commands = [['info'], ['info', '--json'], ['schema'], ['stats'], ['stats', '--json'], ['query', known],
                ['query', known, '--json'], ['query', 'Nothing'], ['explain', known], ['dump'], ['export', known, '--json'],
                ['shell', '-c', '.tables', '-c', '.schema', '-c', 'Nothing'], ['salvage', path('names-2.realm')],
                ['migrate-rehearse', '--', 'true'], ['migrate-rehearse', '--json', '--', 'true']]
    for command, *rest in commands:
        said = run(command, file, *rest, code=None)
        for character in '\x1b\x9b\u202e':
            equal(character in said.out + said.err, False, (command, rest))


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


def test_json_of_other_commands():
    people = make('json.realm')
    said = run('info', people, '--json').json
    person, = [each for each in said['classes'] if each['name'] == 'Person']
    equal((said['schemaVersion'], said['objects'], person['objects']), (3, 9, 5))
    equal([each['name'] for each in person['properties'] if each['isPrimaryKey']], ['id'])
    equal(person['uniqueConstraints'], [['name', 'age']])
    equal(run('check', people, '--json').json, {'isWhole': True, 'findings': []})
    run('delete', people, 'Note', 'TRUEPREDICATE', '--json', code=64, says='--json needs --yes')
    equal(run('delete', people, 'Note', 'TRUEPREDICATE', '--json', '--yes').json, {'deleted': 1})
    said = run('compact', people, '--json').json
    equal((said['after'], said['before'] >= said['after']), (os.path.getsize(people), True))
    said = run('salvage', people, path('json-saved.realm'), '--json').json
    equal((said['isComplete'], said['losses'], sum(each['objects'] for each in said['classes'])), (True, [], 8))
    equal(run('load', path('json.realm.jsonl'), path('json-2.realm'), '--verify', '--json').json['lossCount'], 0)


def test_keys():
    write('key', bytes(range(64)))
    secret = make('secret.realm', 3, '--key-file', path('key'))
    run('query', secret, 'Person', code=1, says='environment variable REGNUM_KEY_FILE')
    run('query', secret, 'Person', says='3 objects', env={'REGNUM_KEY_FILE': path('key')})
    run('query', secret, 'Person', says='3 objects', env={'REGNUM_KEY': bytes(range(64)).hex()})
    run('query', secret, 'Person', code=1, says='a key other than', env={'REGNUM_KEY': bytes(64).hex()})
    run('query', secret, 'Person', code=1, says='128 hexadecimal digits', env={'REGNUM_KEY': 'zz'})
    run('query', make('people.realm'), 'Person', code=1, says='unset the environment variable REGNUM_KEY',
        env={'REGNUM_KEY': bytes(64).hex()})
    # The option takes precedence.
    run('query', secret, 'Person', '--key-file', path('key'), says='3 objects', env={'REGNUM_KEY': 'zz'})


def test_nothing_is_left():
    """Lines from standard input are nowhere on disk while a command waits for more, and after it was killed."""
    people = make('left.realm')
    before = set(os.listdir(support.work))
    temporary = path('temporary')
    os.makedirs(temporary)
    for command in [['import', people, 'Person', '-'], ['load', '-', path('left-2.realm')]]:
        for number in [signal.SIGINT, signal.SIGKILL]:
            process = subprocess.Popen([support.regnum, *command], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       env={**os.environ, 'TMPDIR': temporary})
            process.stdin.write(b'id,name\n1,secret\n' * 100_000)
            process.stdin.flush()
            equal(os.listdir(temporary), [])
            process.send_signal(number)
            equal(process.wait(timeout=1800), -number)
            process.stdin.close()
    equal(set(os.listdir(support.work)) - before, {'temporary'})
    # A dry run needs no permission to write.
    folder = path('protected-import')
    os.makedirs(folder)
    shutil.copy(people, folder + '/a.realm')
    os.chmod(folder + '/a.realm', 0o444)
    os.chmod(folder, 0o555)
    os.chmod(temporary, 0o777)
    run('import', folder + '/a.realm', 'Person', '-', '--dry-run', input='id\n9\n', says='1 new',
        user=65534 if os.geteuid() == 0 else None, env={'TMPDIR': temporary})
    os.chmod(folder, 0o755)


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
    # Lines of another program: with blanks, without some properties, and with numbers that have gaps.
    lines = read('people.realm.jsonl').decode()
    lines = lines.replace('"Address", "key": 5,', '"Address", "key": 55,').replace(
        '"Address", "$id": 5}', '"Address", "$id": 55}')
    write('gaps.jsonl', lines)
    run('load', path('gaps.jsonl'), path('gaps.realm'), '--verify', says='9 objects are the same')
    equal(run('query', path('gaps.realm'), 'Person', 'id == 5', '--json').json[0]['home']['street'], 'street 5')
    lines = lines.splitlines()
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


def import_into_empty(name, text, *options, class_name='Person', **expected):
    """Imports into a new file without objects."""
    write('classes.jsonl', json.dumps(support.CLASSES) + '\n')
    for old in [path(name), path(name + '.lock')]:
        if os.path.exists(old):
            os.remove(old)
    run('load', path('classes.jsonl'), path(name))
    return run('import', path(name), class_name, '-', *options, input=text, **expected)


def test_export_and_import():
    people = make('people.realm', 50)
    for form in ['csv', 'json', 'jsonl']:
        run('export', people, 'Person', '--output', path('out.' + form))
        # Links lead to objects that come later, too.
        reverse = run('export', people, 'Person', 'SORT(id DESC)', '--format', form).out
        import_into_empty('copy.realm', reverse, '--format', form, says='50 new, 0 updated')
        equal(run('export', path('copy.realm'), 'Person', 'SORT(id ASC)', '--format', form).out,
              read('out.' + form).decode(), form)
        run('check', path('copy.realm'), says='is whole')
        run('import', people, 'Person', path('out.' + form), says='0 new, 0 updated, 50 unchanged')
        run('export', people, 'Person', '--output', path('out.' + form), code=1, says='File exists')
        os.remove(path('out.' + form))
    equal(len(run('export', people, 'Person', 'id > 48', '--json').json), 2)
    # Values of each type come back as they were, here of the golden file.
    shutil.copy('Tests/Golden/format-1.realm', path('golden.realm'))
    os.chmod(path('golden.realm'), 0o644)
    for form in ['csv', 'jsonl']:
        for name in ['Values', 'Collections', 'Many', 'Owner']:
            exported = run('export', path('golden.realm'), name, '--format', form).out
            keyed = name != 'Owner'
            if keyed:
                run('import', path('golden.realm'), name, '-', '--format', form, input=exported,
                    says='0 new, 0 updated')
            lines = run('dump', path('golden.realm')).out.splitlines()
            write('schema.jsonl', lines[0])
            write('empty.jsonl', '')
            if os.path.exists(path('fresh.realm')):
                os.remove(path('fresh.realm'))
            run('load', path('empty.jsonl'), path('fresh.realm'), '--schema', path('schema.jsonl'))
            said = run('import', path('fresh.realm'), name, '-', '--format', form, input=exported,
                       code=None if name in ['Collections', 'Owner'] else 0)
            run('check', path('fresh.realm'), says='is whole')
            if said.code == 0:
                equal(run('export', path('fresh.realm'), name, '--format', form).out, exported, name + form)


def test_import_updates():
    """Values that are the same are not written, and those that differ are, whatever their type."""
    people = make('people.realm')

    def put(json_text, outcome):
        said = run('import', people, 'Person', '-', '--format', 'jsonl', '--json', input=json_text).json
        equal({name: said[name] for name in ['inserted', 'updated', 'unchanged'] if said[name]}, {outcome: 1}, json_text)

    for values in ['"score": "nan"', '"score": -0.0', '"score": 0.0', '"tags": ["b", "a"]', '"counts": {"b": 1, "a": 2}',
                   '"home": {"street": "new", "number": 7}', '"home": {"street": "new", "number": null}', '"home": null',
                   '"any": {"$date": "2020-01-01T00:00:00Z"}', '"any": 1.0', '"any": 1', '"any": [1, {"a": null}]',
                   '"any": {"$ref": "Person", "primaryKey": 2}', '"any": {"$literal": {"$x": 1}}', '"any": null',
                   '"best": {"class": "Person", "primaryKey": 4}', '"best": 3', '"best": null', '"photo": "AQI="',
                   '"born": "1969-12-31T23:59:59.5Z"', '"name": "\\u00e9"', '"name": "e\\u0301"', '"age": null']:
        put('{"id": 1, ' + values + '}', 'updated')
        put('{"id": 1, ' + values + '}', 'unchanged')
    run('check', people, says='is whole')
    # The old embedded objects are gone.
    equal(len(run('query', people, 'Address', '--json').json), 2)


def test_csv():
    text = '\ufeffid,name,age,tags\r\n1,"a ""b""\r\nc, d",,"[""x"",""y,z""]"\r\n\r\n2,"",7,\r\n'
    import_into_empty('csv.realm', text, says='2 new')
    found = run('query', path('csv.realm'), 'Person', '--json').json
    equal([(p['id'], p['name'], p['age'], p['tags']) for p in found],
          [(1, 'a "b"\r\nc, d', None, ['x', 'y,z']), (2, '', 7, [])])
    # A property that is not named stays.
    run('import', path('csv.realm'), 'Person', '-', input='id;name\n1;new\n', code=1, says='cannot be used')
    run('import', path('csv.realm'), 'Person', '-', '--separator', ';', input='id;age\n2;8\n', says='1 updated')
    equal(run('query', path('csv.realm'), 'Person', 'id == 2', '--json').json[0]['name'], '')
    # White space within a number, and numbers out of range, are refused. White space around a number is not.
    for text, word in [('id\n"1 0"\n', "'1 0' is not an Int"), ('id,score\n1,1e999\n', 'out of range')]:
        said = import_into_empty('csv.realm', text, code=1)
        equal(word in said.err or word.replace("'", '') in said.err, True, said.err)
    import_into_empty('csv.realm', 'id,score\n 7 , inf\n', says='1 new')
    equal([p['id'] for p in run('query', path('csv.realm'), 'Person', '--json').json], [7])
    # An import that waits for its input does not keep others from writing.
    waiting = subprocess.Popen([support.regnum, 'import', path('csv.realm'), 'Person', '-'], stdin=subprocess.PIPE)
    write('eight.csv', 'id\n8\n')
    run('import', path('csv.realm'), 'Person', path('eight.csv'), says='1 new')
    waiting.communicate(b'id\n9\n', timeout=1800)
    equal([p['id'] for p in run('query', path('csv.realm'), 'Person', '--json').json], [7, 8, 9])
    run('import', path('csv.realm'), 'Person', '.', code=1, says='is a directory')
    import_into_empty('csv.realm', 'id,name\n', says='0 new')
    import_into_empty('csv.realm', '', code=1, says='CSV is empty')
    import_into_empty('csv.realm', 'id,id\n', code=1, says='named twice')


def test_refused_lines():
    text = ('id,name,age,score,born,home\n'            # 1
            '1,good,1,1.5,2020-01-01T00:00:00.25Z,"{""street"": ""s"", ""number"": null}"\n'
            'x,bad id,,,,\n'                           # 3
            '3,"two\nlines",notanumber,1,,\n'          # 4 and 5
            '4,few\n'                                  # 6
            '5,quote" within,1,1,,\n'                  # 7
            '6,good,2,1,yesterday,\n'                  # 8
            '7,good,1,1,,\n'                           # 9: as 1 by its unique constraint
            '8,good,,0,,\n')                           # 10
    said = import_into_empty('refused.realm', text, code=1)
    reasons = {int(line.split(':')[0][5:]): line for line in said.err.splitlines()}
    equal(sorted(reasons), [3, 4, 6, 7, 8, 9], said.err)
    equal("property 'id': 'x' is not an Int" in reasons[3], True)
    equal("property 'age': 'notanumber' is not an Int" in reasons[4], True)
    equal('it has 2 fields, not 6' in reasons[6], True)
    equal('quotation mark' in reasons[7], True)
    equal("'yesterday' is not a date" in reasons[8], True)
    equal('unique constraint (name, age)' in reasons[9], True)
    equal(run('query', path('refused.realm'), 'Person', '--json').json, [])
    before = read('refused.realm')
    said = run('import', path('refused.realm'), 'Person', '-', '--dry-run', '--json', input=text, code=1)
    equal(said.json, {'inserted': 2, 'updated': 0, 'unchanged': 0, 'refused': 6, 'written': False})
    equal(read('refused.realm') == before, True, 'a dry run changes nothing')
    run('import', path('refused.realm'), 'Person', '-', '--skip-refused', input=text, code=2, says='2 new')
    equal([p['id'] for p in run('query', path('refused.realm'), 'Person', '--json').json], [1, 8])
    said = run('import', path('refused.realm'), 'Person', '-', '--format', 'jsonl', code=1, input=(
        '{"id": 9}\n{"id": 1.5}\n{"id": 10, "age": "1"}\n{"id": 11, "unknown": 1}\n{"name": "no id"}\n'
        '{"id": 12, "best": {"primaryKey": 99}}\n{"id": 13, "score": null}\n[1]\n{"id": 14,}\n{"id":'))
    equal([int(line.split(':')[0][5:]) for line in said.err.splitlines()], [2, 3, 4, 5, 7, 8, 9, 10, 6], said.err)
    equal('1 new' in said.out, True, said.out)
    # A line that is refused at the end, for its link, changes nothing, and neither do those that link to its object.
    said = run('import', path('refused.realm'), 'Person', '-', '--format', 'jsonl', '--skip-refused', code=2, input=(
        '{"id": 1, "score": 77, "best": 99}\n{"id": 20, "best": 98}\n{"id": 21, "best": 20}\n{"id": 22, "best": 1}\n'))
    equal([int(line.split(':')[0][5:]) for line in said.err.splitlines()], [1, 2, 3], said.err)
    equal('1 new, 0 updated, 0 unchanged, 3 refused' in said.out, True, said.out)
    equal([(p['id'], p['score']) for p in run('query', path('refused.realm'), 'Person', '--json').json],
          [(1, 1.5), (8, 0.0), (22, 0.0)])
    run('delete', path('refused.realm'), 'Person', 'id == 22', '--yes')
    run('import', path('refused.realm'), 'Nothing', '-', input='a\n', code=1, says="has no class 'Nothing'")
    run('import', path('refused.realm'), 'Address', '-', input='a\n', code=1, says='is embedded')
    run('import', path('refused.realm'), 'Person', path('nothing.csv'), code=1, says='cannot be read')
    run('import', path('refused.realm'), 'Person', '-', '--read-only', input='id\n', code=1, says='open read-only')


def test_stats_and_pins():
    people = make('people.realm', 2000)
    said = run('stats', people, '--json').json
    person = [c for c in said['classes'] if c['name'] == 'Person'][0]
    equal((person['objects'], said['objects']), (2000, 3001))
    sizes = {p['name']: p for p in person['properties']}
    equal((sizes['name']['indexBytes'] > 0, sizes['age']['indexBytes'], sizes['best']['backlinkBytes'] > 0), (True, 0, True))
    equal(sizes['name']['valueBytes'] > 2000 * 5, True)
    values = sum(p['valueBytes'] for p in person['properties'])
    equal(person['rowGroupBytes'] * 0.6 < values <= person['rowGroupBytes'], True, (values, person))
    equal(sum(p['indexBytes'] for p in person['properties']) <= person['indexBytes'], True)
    pages = said['reservedPages'] + said['reachablePages'] + said['pendingPages'] + said['freePages']
    equal(pages * said['pageBytes'] <= said['fileBytes'], True)
    run('stats', people, says='Person.name')
    run('stats', 'Tests/Golden/format-1.realm', says='Many')
    equal(run('pins', people, '--json').json['processes'], [])
    run('pins', people, says='No other process')
    watching = subprocess.Popen([support.regnum, 'watch', people, 'Person'], stdout=subprocess.PIPE)
    watching.stdout.readline()
    said = run('pins', people, '--json').json
    equal([p['process'] for p in said['processes']], [watching.pid])
    equal(said['processes'][0]['versions'], [said['newestVersion']])
    run('pins', people, says=f'process {watching.pid}: keeps version')
    watching.terminate()
    equal(watching.wait(), 0)
    reading = subprocess.Popen([support.regnum, 'watch', people, 'Person', '--read-only'], stdout=subprocess.PIPE)
    reading.stdout.readline()
    run('pins', people, says='processes that only read: keeps version')
    reading.terminate()
    reading.wait()


def test_watch():
    for options in [[], ['--read-only']]:
        people = make('people.realm')
        watching = subprocess.Popen(
            [support.regnum, 'watch', people, 'Person', 'age > 10 SORT(age DESC)', *options], stdout=subprocess.PIPE)
        first = json.loads(watching.stdout.readline())
        equal(first['count'], 4)
        run('import', people, 'Person', '-', input='id,age\n2,200\n3,5\n9,90\n')
        said = json.loads(watching.stdout.readline())
        equal(said['version'] > first['version'], True)
        equal([(e['key'], e['index'], e['object']['age']) for e in said['insertions']], [(6, 1, 90)])
        equal([(e['key'], e['index'], e['object']['age']) for e in said['deletions']], [(3, 2, 30)])
        # A link to a changed object counts, too.
        equal(sorted(e['object']['id'] for e in said['modifications']), [2, 4, 5], said)
        # A commit without an effect on the results is not shown.
        run('import', people, 'Note', '-', input='text\nother\n')
        run('delete', people, 'Person', 'id == 9', '--yes')
        said = json.loads(watching.stdout.readline())
        equal([e['object']['id'] for e in said['deletions']], [9], said)
        equal((said['insertions'], said['modifications'], said['count']), ([], [], 3))
        watching.send_signal(2)
        equal(watching.wait(), 0)
    people = make('people.realm')
    # It goes on at a hangup that its parent ignores, as under nohup.
    watching = subprocess.Popen(
        [support.regnum, 'watch', people, 'Person'], stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    watching.stdout.readline()
    watching.send_signal(signal.SIGHUP)
    run('delete', people, 'Person', 'id == 5', '--yes')
    equal(json.loads(watching.stdout.readline())['count'], 4)
    watching.terminate()
    equal(watching.wait(), 0)
    people = make('people.realm')
    run('watch', people, 'Person', '--seconds', '0', says='"count":5')
    said = run('watch', people, 'Person', 'id < 3', '--initial', '--seconds', '0').json
    equal([e['object']['id'] for e in said['insertions']], [1, 2])
    run('watch', people, 'Nothing', code=1, says='has no class')
    # The reader closes its end while nothing is written.
    watching = subprocess.Popen([support.regnum, 'watch', people, 'Person'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    watching.stdout.readline()
    watching.stdout.close()
    equal((watching.wait(timeout=1800), watching.stderr.read()), (0, b''))
    # --count, and a second process that commits meanwhile.
    watching = subprocess.Popen(
        [support.regnum, 'watch', people, 'Person', '--count', '1'], stdout=subprocess.PIPE)
    watching.stdout.readline()
    run('delete', people, 'Person', 'id == 5', '--yes')
    equal(watching.wait(timeout=1800), 0)
    equal(len(watching.stdout.readlines()), 1)


def test_diff():
    people = make('people.realm')
    equal(run('diff', people, people).out, '')
    shutil.copy(people, path('other.realm'))
    run('import', path('other.realm'), 'Person', '-', '--format', 'jsonl',
        input='{"id": 2, "age": null, "tags": []}\n{"id": 6, "name": "six"}\n')
    run('delete', path('other.realm'), 'Person', 'id == 5', '--yes')
    said = run('diff', people, path('other.realm'), '--json', code=3)
    equal([(d['change'], d.get('primaryKey')) for d in said.lines], [('changed', 2), ('removed', 5), ('added', 6)])
    equal(said.lines[0]['properties'], {'age': {'before': 20, 'after': None}, 'tags': {'before': ['t2', 'x'], 'after': []}})
    run('diff', people, path('other.realm'), code=3, says='~ Person 2: age: 20 -> null')
    run('diff', people, path('other.realm'), 'Note', code=0)
    run('diff', people, path('other.realm'), '--schema-only', code=0)
    run('diff', people, path('other.realm'), 'Nothing', code=1, says="has no class 'Nothing'")
    run('diff', people, path('missing.realm'), code=1, says=f"'{path('missing.realm')}': No such file")
    changed = read('people.realm.jsonl').decode().replace('"schemaVersion": 3', '"schemaVersion": 4').replace(
        '{"name": "score", "type": "double"}', '{"name": "score", "type": "float"}')
    write('changed.jsonl', changed)
    run('load', path('changed.jsonl'), path('changed.realm'))
    run('diff', people, path('changed.realm'), '--schema-only', code=3, says='~ Person.score: Double -> Float')
    run('diff', people, path('changed.realm'), '--schema-only', code=3, says='~ schema version: 3 -> 4')
    write('key', bytes(range(64)))
    secret = make('secret.realm', 5, '--key-file', path('key'))
    run('diff', people, secret, '--other-key-file', path('key'))
    run('diff', people, secret, code=1, says='is encrypted')
    # The key is that of the first file only.
    run('diff', secret, people, '--key-file', path('key'))
    run('diff', secret, people, '--other-key-file', path('key'), code=1, says='is encrypted')
    run('diff', secret, people, '--key-file', path('key'), '--other-key-file', path('key'), code=1, says='is not encrypted')


def rehearse(*program, file=None, options=(), env=None, **expected):
    """Rehearses with the file of people; it is never changed, and no copy of it is left."""
    file = file or path('people.realm')
    temporary = rehearsals()
    before = read(os.path.basename(file))
    said = run('migrate-rehearse', file, *options, '--', *program, env={'TMPDIR': temporary, **(env or {})}, **expected)
    equal((read(os.path.basename(file)) == before, os.listdir(temporary)), (True, []), program)
    return said


def rehearsals():
    os.makedirs(path('rehearsals'), exist_ok=True)
    return path('rehearsals')


def start_rehearsal(*arguments):
    """Starts a rehearsal with the file of people; `arguments` are its options, and after -- the program."""
    return subprocess.Popen(
        [support.regnum, 'migrate-rehearse', path('people.realm'), *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, 'TMPDIR': rehearsals()})


def test_migrate_rehearse():
    people = make('people.realm')
    key = write('key', bytes(range(64)))
    temporary = rehearsals()

    # The path is an argument and in the environment. What the program prints does not mix with the report.
    script = 'test "$1" = "$REGNUM_FILE" && test "$2" = "x{}" && echo "$1"'
    said = rehearse('sh', '-c', script, 'sh', '{}', 'x{}', options=['--json'])
    equal(said.err.endswith('/after/people.realm\n'), True, said.err)
    said = said.json
    equal((said['status'], said['signal'], said['isWhole'], said['schema'], said['losses']), (0, None, True, [], []))
    equal(said['warnings'], ['the program has written nothing to the file'])
    equal((said['schemaVersion'], said['fileBytes']['before']), ({'before': 3, 'after': 3}, said['fileBytes']['after']))
    equal([(c['name'], c['objects'], c['compared'], c['kept']) for c in said['classes']],
          [(name, {'before': n, 'after': n}, n, n) for name, n in [('Address', 3), ('Note', 1), ('Person', 5)]])

    # Programs that fail or are none.
    rehearse('sh', '-c', 'exit 3', code=1, says='ended with status 3')
    equal(rehearse('sh', '-c', 'kill -9 $$', options=['--json'], code=1).json['signal'], 9)
    rehearse('no-such-program', code=1, says="'no-such-program' is not a program")
    rehearse(temporary, code=1, says='is not a program')
    for arguments in [[people], [people, '--'], ['--', 'true']]:
        run('migrate-rehearse', *arguments, code=64)

    # Lost objects and values.
    delete = [support.regnum, 'delete', '{}', 'Person', 'id == 5', '--yes']
    said = rehearse(*delete, code=2, says="class 'Person' has lost 1 object")
    equal('--allow-loss' in said.err, True, said.err)
    said = rehearse(*delete, options=['--allow-loss', '--json']).json
    equal((len(said['losses']), said['warnings']), (2, []), said)
    rehearse(support.regnum, 'import', '{}', 'Person', write('null.csv', 'id,age\n1,\n'), code=2,
             says="property 'Person.age' has lost its value in 1 object")
    rehearse(support.regnum, 'import', '{}', 'Person', write('more.csv', 'id,age\n1,11\n9,90\n'),
             says='Person: objects 5 -> 6, 5 compared, 4 with their old values')
    # Another object in place of the old one, and a list with fewer elements.
    script = '"$2" delete "$1" Note TRUEPREDICATE --yes && "$2" import "$1" Note "$3"'
    rehearse('sh', '-c', script, 'sh', '{}', support.regnum, write('notes.csv', 'text\nother\n'), code=2,
             says="lost: class 'Note' has lost 1 object")
    write('shorter.jsonl', '{"id": 1, "tags": ["x"]}\n')
    rehearse(support.regnum, 'import', '{}', 'Person', path('shorter.jsonl'), '--format', 'jsonl',
             says="warning: property 'Person.tags' has fewer elements in 1 object")

    # A changed schema: score has another type, tags are gone, photo, which has no values, too.
    lines = [json.loads(line) for line in read('people.realm.jsonl').decode().splitlines()]
    properties = lines[0]['classes'][0]['properties']
    lines[0]['classes'][0]['properties'] = [
        {**p, 'type': 'float'} if p['name'] == 'score' else p for p in properties if p['name'] not in ['tags', 'photo']]
    for line in lines[1:]:
        line['value'].pop('tags', None)
    for version, warnings in [(4, 0), (3, 1)]:
        lines[0]['schemaVersion'] = version
        changed = path(f'changed-{version}.realm')
        run('load', write('changed.jsonl', '\n'.join(map(json.dumps, lines)) + '\n'), changed)
        said = rehearse('cp', changed, '{}', code=2, options=['--json']).json
        equal(said['losses'], ["property 'Person.tags' has lost its value in 5 objects"])
        equal(len(said['warnings']), warnings, said)
        subjects = [d['subject'] for d in said['schema'] if d['subject'].startswith('Person.')]
        equal(sorted(subjects), ['Person.photo', 'Person.score', 'Person.tags'])
        person, = [c for c in said['classes'] if c['name'] == 'Person']
        equal((person['compared'], person['kept'], person['lostValues']), (5, 5, {'tags': 5}))
    rehearse('cp', changed, '{}', options=['--allow-loss'], says='the schema version is still 3')

    # The copy is damaged or gone afterwards.
    golden = bytearray(open('Tests/Golden/format-1.realm', 'rb').read())
    for page in range(3, len(golden) // 4096):
        golden[page * 4096 + 2000] ^= 0xff
    for program in [['cp', write('damaged-copy.realm', golden), '{}'], ['cp', '/dev/null', '{}'], ['rm', '{}']]:
        said = rehearse(*program, options=['--allow-loss', '--json'], code=2).json
        equal((said['isWhole'], len(said['findings']) > 0, said['classes']), (False, True, []), program)

    # An encrypted file has encrypted copies, which --keep keeps.
    secret = make('secret.realm', 3, '--key-file', key)
    folder = path('kept')
    delete = [support.regnum, 'delete', '{}', 'Note', 'TRUEPREDICATE', '--yes']
    rehearse(*delete, file=secret, code=1, says='is encrypted')
    rehearse(*delete, file=secret, options=['--keep', folder], code=2, says='Note', env={'REGNUM_KEY_FILE': key})
    rehearse(*delete, file=secret, options=['--keep', folder], code=1, says='File exists', env={'REGNUM_KEY_FILE': key})
    equal(os.stat(folder).st_mode & 0o777, 0o700)
    for name, count in [('before', 1), ('after', 0)]:
        run('query', f'{folder}/{name}/secret.realm', 'Note', code=1, says='is encrypted')
        equal(len(run('query', f'{folder}/{name}/secret.realm', 'Note', '--json', '--key-file', key).json), count)
    # A copy with another key, or without one, is not damaged.
    for program, file in [(people, secret), (secret, people)]:
        rehearse('cp', program, '{}', file=file, code=1, says='it cannot be compared',
                 env={'REGNUM_KEY_FILE': key} if file == secret else {})
    # A protected file has a copy that can be written.
    os.chmod(people, 0o444)
    rehearse(support.regnum, 'delete', '{}', 'Note', 'TRUEPREDICATE', '--yes', options=['--allow-loss'])
    os.chmod(people, 0o644)

    # A signal goes to the program and its programs. When they have ended, the copies are removed.
    script = 'trap "echo caught; exit 0" INT TERM; echo ready; while :; do sleep 0.1; done'
    for number in [signal.SIGINT, signal.SIGTERM]:
        process = start_rehearsal('--', 'sh', '-c', script)
        equal(process.stderr.readline(), b'ready\n')
        equal(len(os.listdir(temporary)), 1)
        process.send_signal(number)
        out, err = process.communicate(timeout=1800)
        # A shell may name the signal that has ended its program.
        equal((process.returncode, out, b'caught\n' in err), (-number, b'', True), err)
        equal(os.listdir(temporary), [])


def is_stopped(process):
    if not os.path.exists('/proc/self/stat'):
        return subprocess.run(['ps', '-o', 'state=', '-p', str(process)], capture_output=True).stdout.strip()[:1] == b'T'
    with open(f'/proc/{process}/stat') as file:
        return file.read().rsplit(')', 1)[1].split()[0] == 'T'


def test_ends_of_rehearsals():
    people = make('people.realm')
    temporary = rehearsals()

    # A signal reaches a program that is stopped, as by reading from the terminal.
    process = start_rehearsal('--', 'sh', '-c', 'echo $$; kill -STOP $$; exec sleep 1800')
    program = int(process.stderr.readline())
    while not is_stopped(program):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=1800)
    equal((process.returncode, os.listdir(temporary)), (-signal.SIGTERM, []))

    # The copies of a rehearsal that was killed are removed by the next one. Those of a running one stay, and a folder
    # that is so young that it may not be locked yet.
    process = start_rehearsal('--', 'sh', '-c', 'echo $$; exec sleep 1800')
    program = int(process.stderr.readline())
    folder, = os.listdir(temporary)
    os.utime(os.path.join(temporary, folder), (0, 0))
    young = os.path.join(temporary, 'regnum-rehearsal-young')
    os.mkdir(young)
    others = sorted([folder, os.path.basename(young)])
    run('migrate-rehearse', people, '--', 'true', env={'TMPDIR': temporary})
    equal(sorted(os.listdir(temporary)), others)
    process.kill()
    process.wait()
    os.kill(program, signal.SIGKILL)
    os.rmdir(young)
    rehearse('true')

    # If the reader of the output closes its end, the exit code is the same. A report may be longer than the buffer.
    delete = [support.regnum, 'delete', '{}', 'Note', 'TRUEPREDICATE', '--yes']
    classes = [{"name": f"Class{number:03}" + 'x' * 40, "kind": "object", "properties": [{"name": "a", "type": "int"}]}
               for number in range(900)]
    write('many.jsonl', json.dumps({"schemaVersion": 1, "classes": classes}) + '\n')
    run('load', path('many.jsonl'), path('many.realm'))
    for arguments, code in [(['--', *delete], 2), (['--allow-loss', '--', *delete], 0),
                            (['--', 'sh', '-c', 'cp "$1" "$REGNUM_FILE"; exit 7', 'sh', path('many.realm')], 1)]:
        process = start_rehearsal(*arguments)
        process.stdout.close()
        process.stderr.read()
        equal((process.wait(timeout=1800), os.listdir(temporary)), (code, []), arguments)


def test_edit():
    people = make('people.realm')

    def edit(script, *arguments, **expected):
        return run('edit', people, 'Person', *arguments, env={'EDITOR': script, 'VISUAL': ''}, **expected)

    edit("sed -i 's/name 2/new/'", '2', says='stored')
    equal(run('query', people, 'Person', 'id == 2', '--json').json[0]['name'], 'new')
    equal(edit('true', '2', '--json').json, {'changed': False})
    edit("sed -i 's/street 3/x/'", '#3', says='stored')
    equal(run('query', people, 'Person', 'id == 3', '--json').json[0]['home']['street'], 'x')
    said = edit("sed -i 's/: 20,/: true,/'", '2', code=1, says="property 'age': true is not an Int")
    kept = said.err.split("Your text is in '")[1].split("'")[0]
    equal('true' in open(kept).read(), True)
    equal(os.stat(kept).st_mode & 0o777, 0o600)
    os.remove(kept)
    said = edit("sed -i 's/\"id\": 2/\"id\": 7/'", '2', code=1, says='the primary key must not be changed')
    edit('echo x >', '2', code=1, says='it is not JSON')
    edit('false', '2', code=1, says="the editor 'false' ended with 1")
    said = edit("sh -c 'echo mine > \"$0\"; exit 3'", '2', code=1, says="ended with 3. Your text is in '")
    kept = said.err.split("Your text is in '")[1].split("'")[0]
    equal(open(kept).read(), 'mine\n')
    os.remove(kept)
    edit('true', '99', code=1, says="There is no 'Person'")
    edit('true', 'x', code=1, says='cannot be a primary key')
    # Another process changes the object while the editor is open.
    write('change.sh', f'{support.regnum} import {people} Person - <<END > /dev/null\nid,age\n2,99\nEND\n'
          "sed -i 's/new/mine/' $1\n")
    edit(f'sh {path("change.sh")}', '2', code=1, says='was changed by another process meanwhile')
    equal(run('query', people, 'Person', 'id == 2', '--json').json[0]['name'], 'new')
    run('check', people, says='is whole')


def test_shell_in_a_pipe():
    people = make('people.realm')
    said = run('shell', people, input='.tables\n.mode csv\nPerson id < 3 SORT(id DESC);\n# a comment\n\n.count Note\n')
    equal(said.out.splitlines()[:3], ['class    objects', '-------  -------', 'Address  3'])
    equal([line.split(',')[0] for line in said.out.splitlines()[5:8]], ['id', '2', '1'])
    equal(said.out.splitlines()[-1], '1')
    said = run('shell', people, code=1, input='Nothing\nPerson age >\n.nothing\n.mode x\n.count\nNote\n')
    equal([line[:15] for line in said.err.splitlines()], [f'regnum: line {n}:' [:15] for n in range(1, 6)])
    equal('1 object' in said.out, True)
    said = run('shell', people, '--bail', code=1, input='Nothing\nNote\n')
    equal('1 object' in said.out, False)
    run('shell', people, input='.schema Person\n', says='name: String, indexed')
    run('shell', people, input='.schema\n', says='embedded class Address')
    run('shell', people, input='.help\n', says='.explain')
    run('shell', people, input='.aggregate Person age id > 1\n', says='avg    35')
    run('shell', people, input='.aggregate Person\n', code=1, says='needs a class and a property')
    run('shell', people, input='.stats\n.pins\n.timer on\n.explain Person name == "a"\n', says='the index on name')
    run('shell', people, input='.limit 2\nPerson\n', says='2 of 5 objects')
    run('shell', people, input='.quit\nNothing\n')
    run('shell', people, '-c', '.mode json', '-c', 'Note', says='"text": "note"')
    equal(run('shell', people, '--json', '-c', 'Person id == 1').json[0]['id'], 1)
    run('shell', path('missing.realm'), code=1, says='No such file')


def test_shell_in_a_terminal():
    import pty, select, time
    people = make('people.realm')
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update({'HOME': support.work, 'TERM': 'xterm'})
        os.execv(support.regnum, [support.regnum, 'shell', people])

    def until(text):
        """Reads until the text appears."""
        seen = b''
        end = time.time() + 1800
        while text.encode() not in seen:
            if time.time() > end or not select.select([terminal], [], [], 1800)[0]:
                raise SystemExit(f'the shell did not show {text!r}: {seen!r}')
            seen += os.read(terminal, 4096)
        return seen.decode()

    def send(text):
        os.write(terminal, text.encode())

    until('regnum> ')
    # Completion of a class, of a property and of a keyword; the arrow to the left.
    send('Per\tag\t< 20 SO\tid)\r')
    shown = until('1 object')
    equal('name 1' in shown, True, shown)
    send('.mode line\r')
    until('regnum> ')
    # Up twice, and again.
    send('\x1b[A\x1b[A')
    until('Person age < 20 SORT( id)')
    send('\r')
    until('name = name 1')
    # Control-C gives up a line, a backspace deletes a character.
    send('garbage\x03')
    until('regnum> ')
    send('.count Notex\x7f\r')
    until('\n1\r')
    # The place of an error is shown below it.
    send('Person age > > 3\r')
    until('\n        ^')
    send('\x04')
    _, status = os.waitpid(process, 0)
    equal(os.waitstatus_to_exitcode(status), 0)
    equal(read('.regnum_history').decode().splitlines()[:2], ['Person age < 20 SORT( id)', '.mode line'])
    equal(os.stat(path('.regnum_history')).st_mode & 0o777, 0o600)


def test_every_subcommand_on_bad_files():
    """Each subcommand says in one sentence why it cannot use a file, and changes nothing."""
    make('people.realm')
    key = write('key', bytes(range(64)))
    secret = make('secret.realm', 3, '--key-file', key)
    write('empty.realm', b'')
    write('text.realm', b'no database, but long enough for one' * 300)
    golden = bytearray(open('Tests/Golden/format-1.realm', 'rb').read())
    write('cut.realm', golden[:len(golden) // 2 & -4096])
    for page in range(3, len(golden) // 4096):
        golden[page * 4096 + 2000] ^= 0xff
    write('damaged.realm', golden)
    old = 'Tests/RegnumRealmFileTests/Fixtures/all_types_v24.realm.gz'
    import gzip
    write('old.realm', gzip.open(old).read())
    write('one.csv', 'id\n1\n')
    commands = [['query', 'Person'], ['explain', 'Person'], ['stats'], ['pins'], ['export', 'Person'], ['watch', 'Person'],
                ['import', 'Person', path('one.csv')], ['edit', 'Person', '1'], ['shell', '-c', '.tables'],
                ['diff', path('people.realm')], ['dump'], ['migrate-rehearse', '--', 'true']]
    files = [('missing.realm', 1, 'No such file'), ('empty.realm', 1, 'too short'), ('text.realm', 1, 'not a Regnum database'),
             ('damaged.realm', 2, 'no commit of the file is complete'), ('cut.realm', 2, 'ends before its content'),
             ('secret.realm', 1, 'is encrypted'), ('old.realm', 1, 'import-realm')]
    for name, *rest in commands:
        for file, code, says in files:
            if name == 'dump' and file in ['old.realm', 'text.realm', 'empty.realm', 'cut.realm', 'damaged.realm']:
                continue
            before = read(file) if os.path.exists(path(file)) else None
            said = run(name, path(file), *rest, code=code, says=says, env={'EDITOR': 'true'})
            equal(said.err.count('\n'), 1, (name, file, said.err))
            equal(read(file) if os.path.exists(path(file)) else None, before, (name, file))
        run(name, path('missing') + '/missing.realm', *rest, code=1, says='No such file')
        run(name, support.work, *rest, code=1, says='is not a file')
        help_text = run(name, '--help').out
        equal('regnum ' + name in help_text, True, name)
        equal('--json' in help_text or name == 'dump', True, name)
    run('stats', secret, '--key-file', key)
    # A file of Regnum is not imported as one of Realm.
    for file in ['people.realm', 'secret.realm', 'damaged.realm']:
        run('import-realm', path(file), path('none.realm'), code=1, says='is a Regnum database already')
    # What is no dump is not loaded.
    lines = read('people.realm.jsonl')
    write('cut.jsonl', lines[:len(lines) // 2])
    bad = ['missing.jsonl', 'empty.realm', 'text.realm', 'damaged.realm', 'people.realm', 'old.realm', 'cut.jsonl', 'one.csv']
    before = sorted(os.listdir(support.work))
    for name in [*map(path, bad), support.work]:
        said = run('load', name, path('none.realm'), code=1)
        equal(said.err.count('\n'), 1, (name, said.err))
    equal(sorted(os.listdir(support.work)), before)
    for name in ['info', 'schema', 'check', 'delete', 'compact', 'salvage', 'import-realm', 'load']:
        help_text = run(name, '--help').out
        equal((f'regnum {name} ' in help_text.split('USAGE')[0], '--json' in help_text), (True, True), name)


def test_backups():
    people = make('backup-people.realm', 5000)
    run('backup', people, path('backup-copy.realm'), says='has a copy of the newest version')
    equal(run('dump', path('backup-copy.realm')).out, run('dump', people).out)
    run('check', path('backup-copy.realm'), says='is whole')
    run('backup', people, path('backup-copy.realm'), code=1)
    equal(run('dump', path('backup-copy.realm')).out, run('dump', people).out)
    said = run('backup', people, path('backup-slow.realm'), '--rate', '50', '--json').json
    equal((said['file'], said['copiedBytes'] > 4096), (path('backup-slow.realm'), True))

    repository = path('backup-repository')
    run('backups', repository, code=1, says='No such folder')
    # Nothing but --new makes one: the folder may be that of a disk that is not mounted.
    for option in ['--repository', '--follow']:
        run('backup', people, repository, option, code=1, says='No such folder')
    equal(os.path.exists(repository), False)
    os.makedirs(repository)
    run('backup', people, repository, '--follow', code=1, says='is not a repository')
    equal(os.listdir(repository), [])
    first = run('backup', people, repository, '--new', '--json').json
    run('backup', people, repository, '--new', code=1, says='has a repository')
    run('backup', people, repository, '--repository', says='is in the repository already')
    before = run('dump', people).out
    run('delete', people, 'Person', 'id == 7', '--yes')
    second = run('backup', people, repository, '--json').json
    equal(second['version'] > first['version'], True)
    equal(second['storedBytes'] < first['storedBytes'], True)
    equal(run('backups', repository, '--json').lines, [first, second])
    equal(len(run('backups', repository).out.splitlines()), 2)

    run('restore', repository, path('backup-old.realm'), '--at', str(first['version']), '--dry-run', says='would be fetched')
    equal(os.path.exists(path('backup-old.realm')), False)
    run('restore', repository, path('backup-old.realm'), '--at', str(first['version']), says='restored to')
    equal(run('dump', path('backup-old.realm')).out, before)
    run('check', path('backup-old.realm'), says='is whole')
    run('restore', repository, path('backup-old.realm'), code=1, says='File exists')
    said = run('restore', repository, path('backup-new.realm'), '--at', second['date'], '--json').json
    equal((said['version'], said['isRestored']), (second['version'], True))
    equal(run('dump', path('backup-new.realm')).out, run('dump', people).out)
    run('restore', repository, path('backup-none.realm'), '--at', '999999', code=1, says='no backup of version 999999')
    run('restore', repository, path('backup-none.realm'), '--at', '2001-01-01', code=1, says='oldest backup')
    run('restore', repository, path('backup-none.realm'), '--at', 'yesterday', code=64, says='--at is a version')
    run('restore', work_folder(), path('backup-none.realm'), code=1, says='is not a repository')

    run('verify', repository, says='2 backups can be restored')
    equal(run('verify', repository, '--full', '--json').json['isRestorable'], True)
    run('prune', repository, code=64, says='Say what to keep')
    # Those of the last hour are kept.
    said = run('prune', repository, '--keep-last', '1', '--dry-run', '--json').json
    equal((len(said['kept']), said['removed'], said['isDone']), (2, [], False))
    run('prune', repository, '--keep-hourly', '24', '--keep-daily', '30', says='0 deleted, 2 kept')
    run('prune', repository, '--remove', str(first['number']), code=1, says='of the last hour')
    run('prune', repository, '--remove', '999999', code=1, says='no backup with the number 999999')
    run('prune', repository, '--remove', '1', '--dry-run', code=64, says='leave --dry-run out')
    run('backup', people, repository, '--keep-daily', '30', code=64, says='with --follow')

    other = path('other')
    run('backup', people, other, '--new', says='is a new repository')
    pack = max(os.listdir(repository + '/packs'), key=lambda name: os.path.getsize(repository + '/packs/' + name))
    with open(repository + '/packs/' + pack, 'r+b') as file:
        file.truncate(0)
    run('verify', repository, code=2, says='missing or damaged')
    run('restore', repository, path('backup-none.realm'), code=2, says='damaged')
    equal(os.path.exists(path('backup-none.realm')), False)
    run('verify', repository, '--heal', '--from', other, code=2, says='healed')
    run('restore', repository, path('healed.realm'), says='restored to')
    with open(other + '/packs/' + os.listdir(other + '/packs')[0], 'r+b') as file:
        file.truncate(0)
    run('verify', other, '--heal', '--from', people, says='healed')
    run('verify', other, '--full', says='1 backup can be restored')
    equal(run('dump', path('healed.realm')).out, run('dump', people).out)


def work_folder():
    os.makedirs(path('no-repository'), exist_ok=True)
    return path('no-repository')


def test_encrypted_backups():
    write('key', bytes(range(64)))
    key = ['--key-file', path('key')]
    secret = make('secret-backup.realm', 20, *key)
    repository = path('secret-repository')
    run('backup', secret, repository, '--new', code=1, says='is encrypted')
    equal(os.path.exists(repository), False)
    equal(run('backup', secret, repository, '--new', '--json', *key).json['isEncrypted'], True)
    run('verify', repository, says='1 backup can be restored')
    run('verify', repository, '--full', *key, says='1 backup can be restored')
    run('restore', repository, path('secret-restored.realm'), says='restored to')
    run('query', path('secret-restored.realm'), 'Person', code=1, says='is encrypted')
    run('query', path('secret-restored.realm'), 'Person', *key, says='20 objects')
    run('backup', secret, path('secret-copy.realm'), *key, says='has a copy')
    run('query', path('secret-copy.realm'), 'Person', *key, says='20 objects')


def test_repository_forms():
    people = make('form-people.realm', 5000)
    dumped = run('dump', people).out
    write('repository-key', bytes(range(64, 128)))
    write('wrong-key', bytes(64))
    key = ['--repository-key-file', path('repository-key')]
    run('backup', people, path('no-form'), '--compress', '--repository', code=64, says='specify --new')
    run('backup', people, path('no-form.realm'), *key, code=1, says='a copy has the key of its file')
    plain = run('backup', people, path('form-plain'), '--new', '--json').json
    made = run('backup', people, path('form-small'), '--new', '--compress', '--json', code=None)
    # Scripts/nightly runs this with the trait.
    compress = [] if "trait 'Compression'" in made.err else ['--compress']
    if compress:
        equal(made.json['storedBytes'] < plain['storedBytes'] * 0.8, True)
    else:
        equal((made.code, os.path.exists(path('form-small'))), (1, False))
        run('backup', people, path('form-small'), '--new')
    run('backup', people, path('form-own'), '--new', *compress, *key, says='is a new repository')
    equal(b'Person' in folder_bytes(path('form-plain')), True)
    equal(b'Person' in folder_bytes(path('form-own')), False)
    for form, arguments in [('form-small', []), ('form-own', key)]:
        run('delete', people, 'Person', f'id == {len(form)}', '--yes')
        run('backup', people, path(form), *arguments)
        equal(len(run('backups', path(form), '--json', *arguments).lines), 2)
        run('verify', path(form), '--full', *arguments, says='2 backups can be restored')
        first = run('backups', path(form), '--json', *arguments).lines[0]['version']
        run('restore', path(form), path(form + '.realm'), '--at', str(first), *arguments, says='restored to')
        equal(run('dump', path(form + '.realm')).out, dumped)
        run('prune', path(form), '--keep-last', '1', *arguments, says='2 kept')
    for arguments in [[], ['--repository-key-file', path('wrong-key')]]:
        for command in [['backups', path('form-own')], ['verify', path('form-own')],
                        ['restore', path('form-own'), path('form-none.realm')], ['backup', people, path('form-own')]]:
            run(*command, *arguments, code=1, says='--repository-key-file')
    run('verify', path('form-small'), *key, code=1, says='not encrypted with a key of its own')
    os.environ['REGNUM_REPOSITORY_KEY_FILE'] = path('repository-key')
    run('verify', path('form-own'), '--heal', '--from', path('form-plain'), says='2 backups can be restored')
    del os.environ['REGNUM_REPOSITORY_KEY_FILE']


def folder_bytes(folder):
    names = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return b''.join(open(name, 'rb').read() for name in names)


def test_following_backup():
    people = make('people.realm', 20)
    repository = path('followed')
    versions = []
    for turn in range(2):
        process = subprocess.Popen(
            [support.regnum, 'backup', people, repository, '--follow', '--keep-daily', '30', '--json']
            + ([] if turn else ['--new']), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        if turn == 0:
            versions.append(json.loads(process.stdout.readline())['version'])
        for number in range(2):
            run('delete', people, 'Person', f'id == {turn * 2 + number + 1}', '--yes')
            versions.append(json.loads(process.stdout.readline())['version'])
        # It releases the repository, so that the next one need not wait.
        process.send_signal(signal.SIGINT)
        equal(process.wait(), 0)
    equal(versions, sorted(set(versions)))
    equal([line['version'] for line in run('backups', repository, '--json').lines], versions)
    run('restore', repository, path('followed.realm'))
    equal(run('dump', path('followed.realm')).out, run('dump', people).out)


def main():
    support.regnum = sys.argv[1]
    tests = {name: test for name, test in globals().items() if name.startswith('test_')}
    for name, test in tests.items():
        if len(sys.argv) == 2 or name in sys.argv[2:]:
            test()
            print(f'{name} passed')
    shutil.rmtree(support.work)


main()
