#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The subcommand studio: its server refuses strangers and answers its page; with a browser, the page itself is used as a
# person would, also while another process commits 100 times a second.
# usage: tools_studio.py REGNUM                          the server
#        tools_studio.py REGNUM --browser [IMAGES]       the page in chromium; pictures of it go to the folder IMAGES
#        tools_studio.py REGNUM --figures [OBJECTS]      times and memory for a class of many objects (default 1,000,000)
import base64, gzip, http.client, json, os, pathlib, signal, socket, subprocess, sys, tempfile, threading, time, urllib.error, urllib.parse
import urllib.request

# The modules beside this script and that of Notes are not compiled into the work tree.
sys.dont_write_bytecode = True
import tools_support as support
from tools_support import equal, make, path, run, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'Examples/Notes'))
from browser_check import Browser, png

MARKUP = '<img src=x onerror="window.hacked = true">'
PICTURE = base64.b64encode(png(10, 10)).decode()


class Studio:
    """A running `regnum studio`."""

    def __init__(self, file, *options):
        self.process = subprocess.Popen(
            [support.regnum, 'studio', file, '--json', *options], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f'regnum studio {file} has ended with {self.process.wait()}')
        self.page = json.loads(line)['address']
        self.address, self.token = self.page.split('/#token=')

    def ask(self, name, query=None, body=None, headers=None):
        """Sends a request for data. Returns the status, the header fields and the body."""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        address = f'{self.address}/{name}' + ('?' + urllib.parse.urlencode(query, quote_via=urllib.parse.quote) if query else '')
        fields = {'X-Regnum-Token': self.token, **(headers or {})}
        # Without a type, urllib says that a body is a form.
        if data is not None:
            fields.setdefault('Content-Type', 'text/csv' if isinstance(body, bytes) else 'application/json')
        request = urllib.request.Request(address, data, {k: v for k, v in fields.items() if v is not None})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def json(self, name, query=None, body=None):
        status, _, text = self.ask('api/' + name, query, body)
        if status != 200:
            raise SystemExit(f'{name} {query}: {status} {text[:500]}')
        return json.loads(text)

    def resident(self):
        """The memory of the process in MB."""
        for line in open(f'/proc/{self.process.pid}/status'):
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) // 1024

    def stop(self, with_signal=signal.SIGINT):
        self.process.send_signal(with_signal)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def people(name, count=300):
    """A file with people, among them a picture and texts that look like markup."""
    file = make(name, count)
    write('special.json', json.dumps([
        {'id': 1, 'photo': PICTURE, 'born': '2026-01-31T12:00:00.25Z', 'any': {'a': [1, {'b': MARKUP}]}},
        {'id': 2, 'name': MARKUP, 'tags': [MARKUP], 'home': {'street': MARKUP}}]))
    run('import', file, 'Person', path('special.json'))
    return file


# The server

def test_server():
    file = people('served.realm')
    before = pathlib.Path(file).read_bytes()
    with Studio(file) as studio:
        status, headers, body = studio.ask('', headers={'X-Regnum-Token': None})
        equal(status, 200)
        assert b'main.js' in body and "script-src 'self'" in headers['Content-Security-Policy'], headers
        equal(studio.ask('main.js')[1]['Content-Type'], 'text/javascript; charset=utf-8')
        for wrong in [None, '', 'x', studio.token[:-1]]:
            equal(studio.ask('api/database', headers={'X-Regnum-Token': wrong})[0], 401, wrong)
        equal(studio.ask('api/database', headers={'Host': 'evil.example'})[0], 421)
        equal(studio.ask('api/database', headers={'Origin': 'http://evil.example'})[0], 403)
        equal(studio.ask('../etc/passwd')[0], 404)
        equal(studio.json('database')['isEditing'], False)
        rows = studio.json('rows', {'class': 'Person', 'query': 'age > 2980'})
        equal((rows['count'], [row[0] for row in rows['rows']]), (2, [299, 300]))
        _, headers, csv = studio.ask('api/export', {'class': 'Person', 'columns': '["id"]'})
        equal(csv.decode().split(), ['id', *map(str, range(1, 301))])
        equal(studio.ask('api/export', {'class': 'Person', 'format': 'json', 'query': 'id < 0'})[2], b'[]\n')
        equal(studio.ask('api/change', body={'class': 'Person', 'key': 1, 'values': {'name': '"x"'}})[0], 403)
        # Nothing was written, not even beside the file.
        equal(pathlib.Path(file).read_bytes(), before)
        equal(studio.stop(), 0)


def test_changes_of_others():
    file = people('followed.realm')
    with Studio(file) as studio:
        version = studio.json('database')['version']
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(studio.json('changes', {'after': version})))
        waiting.start()
        write('more.csv', 'id,name\n1000,More\n')
        run('import', file, 'Person', path('more.csv'))
        waiting.join()
        equal([each['name'] for each in answers[0]['classes']], ['Person'])
        equal(studio.json('rows', {'class': 'Person', 'query': "name == 'More'"})['count'], 1)
        # And the other way round.
        studio.json('editing', body={'on': True})
        studio.json('change', body={'class': 'Person', 'key': 3, 'values': {'name': '"Changed here"'}})
        equal(run('query', file, 'Person', "name == 'Changed here'", '--json').json[0]['id'], 3)
        studio.json('undo', body={})
        equal(run('query', file, 'Person', "name == 'name 3'", '--json').json[0]['id'], 3)
    run('check', file, says='is whole')


def test_refusals():
    file = people('refused.realm')
    run('studio', path('missing.realm'), code=1, says='No such file or directory')
    run('studio', write('none.realm', b'no database, but long enough for one' * 300), code=1, says='invalid mnemonic')
    run('studio', file, '--host', '0.0.0.0', code=64, says='--host needs --token-file')
    short = write('short', 'abc\n')
    run('studio', file, '--token-file', short, code=1, says='needs 32 or more characters')
    known = write('token', 'a' * 40 + '\n')
    os.chmod(known, 0o644)
    run('studio', file, '--token-file', known, code=1, says='chmod 600')
    os.chmod(known, 0o600)
    with Studio(file, '--token-file', known, '--host', '0.0.0.0', '--name', 'db.example') as studio:
        equal(studio.token, 'a' * 40)
        equal(studio.ask('api/database', headers={'Host': 'db.example:1'})[0], 200)
        equal(studio.ask('api/database', headers={'Host': 'evil.example'})[0], 421)
    with Studio(file, '--read-only') as studio:
        port = studio.address.rsplit(':', 1)[1]
        run('studio', file, '--port', port, '--no-browser', code=1, says='cannot be served')
        with Studio(file) as other:
            equal(other.json('database')['name'], 'refused.realm')
            equal(other.address != studio.address, True, 'two pages for a file')
        equal(studio.ask('api/editing', body={'on': True})[0], 403)
        equal(studio.stop(signal.SIGTERM), 0)
    write('key', bytes(range(64)))
    secret = make('secret.realm', 5, '--key-file', path('key'))
    run('studio', secret, code=1, says='is encrypted')
    with Studio(secret, '--key-file', path('key')) as studio:
        equal(studio.json('database')['isEncrypted'], True)


def test_refused_bodies():
    """The body of a refused request is not taken for the next request: it is read, or the connection is closed."""
    file = people('bodies.realm')
    with Studio(file) as studio:
        host, port = studio.address.split('//')[1].split(':')
        connection = http.client.HTTPConnection(host, int(port), timeout=600)
        connection.request('POST', '/api/import', body=b'GET /nothing HTTP/1.1\r\n\r\n' * 200_000)
        answer = connection.getresponse()
        equal((answer.status, len(answer.read()) > 0), (401, True))
        connection.request('GET', '/')
        answer = connection.getresponse()
        equal((answer.status, b'main.js' in answer.read()), (200, True))
        connection.close()
        with socket.create_connection((host, int(port)), timeout=600) as raw:
            raw.sendall(f'POST /api/import HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {64 << 20}\r\n\r\n'.encode())
            text = b''
            while chunk := raw.recv(65_536):
                text += chunk
        equal((text[:12], b'connection: close' in text.lower()), (b'HTTP/1.1 401', True))


def test_old_file():
    """A file in Realm's own format is shown from a copy, and is not changed."""
    fixture = ROOT / 'Tests/RegnumRealmFileTests/Fixtures/all_types_v24.realm.gz'
    old = write('old.realm', gzip.open(fixture).read())
    before = pathlib.Path(old).read_bytes()
    with Studio(old) as studio:
        database = studio.json('database')
        equal((database['name'], database['allowsEditing']), ('old.realm', False))
        assert 'copy' in database['note'], database['note']
        equal(studio.ask('api/editing', body={'on': True})[0], 403)
        for each in database['classes']:
            equal(studio.json('rows', {'class': each['name']})['count'], each['objects'], each['name'])
        copy = pathlib.Path(database['path'])
        equal(studio.stop(), 0)
    equal(copy.exists(), False)
    equal(pathlib.Path(old).read_bytes(), before)


# The page

GRID = "[...document.querySelectorAll('.grid-body .row')]"
PANEL = "document.getElementById('panel')"


def press(browser, key, code=None, modifiers=0):
    number = {'Enter': 13, 'Escape': 27, 'ArrowDown': 40, 'ArrowRight': 39, 'End': 35, 'Home': 36, 'Delete': 46}.get(key, 0)
    keys = {'key': key, 'code': code or key, 'modifiers': modifiers, 'windowsVirtualKeyCode': number}
    if key == 'Enter':
        keys['text'] = '\r'
    elif len(key) == 1 and not modifiers & 6:
        keys['text'] = key
    browser.send('Input.dispatchKeyEvent', type='keyDown', **keys)
    browser.send('Input.dispatchKeyEvent', type='keyUp', **keys)


def type_text(browser, selector, text):
    browser.ask(f'document.querySelector({json.dumps(selector)}).focus(); document.querySelector({json.dumps(selector)}).select?.()')
    browser.send('Input.insertText', text=text)


def click(browser, text, within='document'):
    """Clicks the button with that text, or that name for those who do not see it."""
    script = f"""(() => {{ const all = [...{within}.querySelectorAll('button, summary')];
        const found = all.find(b => b.textContent.trim() === {json.dumps(text)} || b.getAttribute('aria-label') === {json.dumps(text)});
        found?.click(); return Boolean(found); }})()"""
    browser.expect(f'the button {text!r}', script, True)


def use_page(browser, studio, other):
    browser.send('Page.navigate', url=studio.page)
    browser.expect('the classes', "document.querySelectorAll('#sidebar li').length", 3)
    browser.expect('the token is not in the address', "location.href.includes('token')", False)
    browser.ask("[...document.querySelectorAll('#sidebar li button')].find(b => b.textContent.startsWith('Person')).click()")
    browser.expect('rows', f"{GRID}[0]?.children[1].textContent", '1')
    browser.expect('text is text', f"{GRID}.some(r => r.textContent.includes({json.dumps(MARKUP)}))", True)
    browser.expect('a badge', "document.getElementById('mode').textContent", 'Read-only')
    # Sorting and scrolling.
    click(browser, 'age')
    click(browser, 'age')
    browser.expect('sorted', f"{GRID}.find(r => r.getAttribute('aria-rowindex') === '2').children[0].textContent", '300')
    click(browser, 'age')
    browser.expect('unsorted', f"{GRID}.find(r => r.getAttribute('aria-rowindex') === '2').children[0].textContent", '1')
    browser.ask("document.querySelector('.grid').focus()")
    press(browser, 'End', modifiers=2)
    browser.expect('the end', f"{GRID}.some(r => r.children[0].textContent === '300')", True)
    press(browser, 'Home', modifiers=2)
    # Whole values are copied, not those that the cells show.
    browser.ask("navigator.clipboard.writeText = async (text) => { window.copied = text; }; 1")
    press(browser, 'End', modifiers=8)
    press(browser, 'c', modifiers=2)
    browser.expect('a copied picture', f"Boolean(window.copied?.split('\\t').includes({json.dumps(PICTURE)}))", True)
    press(browser, 'Escape')
    # The panel, links, back and forward.
    press(browser, 'ArrowDown')
    press(browser, 'Enter')
    browser.expect('the panel', f"{PANEL}.querySelector('h2').textContent", MARKUP)
    browser.expect('no markup was made', "Boolean(window.hacked) || document.querySelectorAll('#panel img, .grid img').length > 0", False)
    browser.ask(f"{PANEL}.querySelector('dd button.link').click()")
    browser.expect('a followed link', f"{PANEL}.querySelector('h2').textContent", 'name 1')
    browser.expect('the path', f"{PANEL}.querySelectorAll('.trail button').length", 1)
    browser.expect('a picture', f"{PANEL}.querySelector('img.picture')?.naturalWidth", 10)
    browser.ask('history.back()')
    browser.expect('back', f"{PANEL}.querySelector('h2').textContent", MARKUP)
    browser.ask('history.forward()')
    browser.expect('forward', f"{PANEL}.querySelector('h2').textContent", 'name 1')
    browser.expect('backlinks', f"[...{PANEL}.querySelectorAll('.backlinks .linked')].some(l => l.textContent.includes('#2'))", True)
    press(browser, 'Escape')
    browser.expect('closed', f"{PANEL}.hidden", True)
    # Queries.
    type_text(browser, '#query', 'best.na')
    browser.expect('a completion', "document.querySelector('#completions li')?.textContent.startsWith('name')", True)
    type_text(browser, '#query', 'age > 2980')
    browser.expect('filtered while typing', "document.querySelector('.status').textContent.startsWith('2 of')", True)
    type_text(browser, '#query', 'age > > 3')
    press(browser, 'Enter')
    browser.expect('the position of an error', "Boolean(document.querySelector('.query-problem mark')?.textContent)", True)
    type_text(browser, '#query', 'age > 2980')
    press(browser, 'Enter')
    click(browser, 'Explain')
    browser.expect('as Swift', "document.querySelector('.facts').textContent.includes('.where { $0.age > 2980 }')", True)
    click(browser, 'Clear the query')
    browser.expect('all rows', "document.querySelector('.status').textContent.startsWith('300 objects')", True)
    # Schema, space and health.
    browser.ask('document.activeElement.blur()')
    press(browser, 's')
    browser.expect('the graph', "document.querySelectorAll('svg.graph g.box').length", 3)
    press(browser, 'm')
    click(browser, 'Check now')
    browser.expect('checked', "document.querySelector('.good')?.textContent.includes('is whole')", True)
    click(browser, 'Measure')
    browser.expect('measured', "document.querySelectorAll('.space').length", 3)
    press(browser, '?')
    browser.expect('the keys', "document.querySelector('dialog h2').textContent", 'Keys')
    click(browser, 'Close', "document.querySelector('dialog')")
    edit(browser)
    follow(browser, studio, other)


def edit(browser):
    browser.ask('history.go(-2)')
    browser.expect('the grid again', f"{GRID}.length > 5", True)
    press(browser, 'e')
    browser.expect('editing', "document.getElementById('mode').textContent", 'Editing')
    browser.ask("document.querySelector('.grid').focus()")
    press(browser, 'Home', modifiers=2)
    press(browser, 'Enter')
    click(browser, 'Edit name')
    type_text(browser, '#panel textarea', 'Renamed')
    click(browser, 'Store')
    browser.expect('stored', f"{GRID}.find(r => r.getAttribute('aria-rowindex') === '2').textContent.includes('Renamed')", True)
    click(browser, 'Edit age')
    type_text(browser, '#panel form input', 'old')
    click(browser, 'Store')
    browser.expect('a refused value', "document.querySelector('#panel .problem')?.textContent", 'age has to be a whole number.')
    click(browser, 'Cancel')
    browser.ask("document.activeElement.blur()")
    press(browser, 'u')
    browser.expect('undone', f"{GRID}.find(r => r.getAttribute('aria-rowindex') === '2').textContent.includes('name 1')", True)
    click(browser, 'Delete', PANEL)
    browser.expect('a preview', "document.querySelector('dialog').textContent.includes('Note.owner')", True)
    click(browser, 'Delete', "document.querySelector('dialog footer')")
    browser.expect('deleted', "document.querySelector('.status').textContent.startsWith('299 objects')", True)
    browser.ask("document.activeElement.blur()")
    press(browser, 'u')
    browser.expect('restored', "document.querySelector('.status').textContent.startsWith('300 objects')", True)
    press(browser, 'Escape')
    press(browser, 'n')
    browser.expect('a new object', "document.querySelector('dialog h2')?.textContent", 'New Person')
    type_text(browser, "dialog input[aria-label='id']", '5000')
    click(browser, 'Create', "document.querySelector('dialog')")
    browser.expect('created', f"{PANEL}.textContent.includes('5000')", True)
    browser.ask("document.activeElement.blur()")
    press(browser, 'u')
    browser.expect('undone too', "document.querySelector('.status').textContent.startsWith('300 objects')", True)
    press(browser, 'Escape')


def keep_selection(browser, other):
    """The selection stays on its object when one above it is deleted."""
    browser.ask("document.querySelector('.grid').focus()")
    press(browser, 'Home', modifiers=2)
    for _ in range(5):
        press(browser, 'ArrowDown')
    current = "document.querySelector('.grid-body .row.current')?.children[0].textContent"
    selected = browser.ask(current)
    above = int(browser.ask(f"{GRID}.find(r => r.getAttribute('aria-rowindex') === '4').children[0].textContent"))
    other.json('delete', body={'class': 'Person', 'keys': [above]})
    browser.expect('deleted by another', "document.querySelector('.status').textContent.startsWith('299 objects')", True)
    browser.expect('the selected object', current, selected)
    browser.expect('its new row', "document.querySelector('.grid-body .row.current')?.getAttribute('aria-rowindex')", '6')
    other.json('undo', body={})
    browser.expect('restored by another', "document.querySelector('.status').textContent.startsWith('300 objects')", True)


def follow(browser, studio, other):
    """Another process commits 100 times a second: the page shows it, keeps its place, and stays quick."""
    other.json('editing', body={'on': True})
    ended = threading.Event()
    commits = [0]

    def write_on():
        while not ended.is_set():
            start = time.monotonic()
            other.json('change', body={'class': 'Person', 'key': 2, 'values': {'age': str(commits[0] % 1000)}})
            commits[0] += 1
            time.sleep(max(0, 0.01 - (time.monotonic() - start)))

    keep_selection(browser, other)
    browser.ask("document.querySelector('.grid').focus()")
    press(browser, 'Home', modifiers=2)
    # Controls are not replaced with each commit: a click or the focus would be lost.
    browser.ask("window.control = document.querySelector('#sidebar li button'); document.getElementById('mode').focus()")
    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        browser.expect('changed cells are marked', f"{GRID}.some(r => r.querySelector('.changed'))", True)
        equal(browser.ask("window.control.isConnected && document.activeElement.id === 'mode'"), True, 'the controls')
        browser.ask("document.querySelector('.grid').scrollTop = 100 * 28")
        browser.expect('scrolled', f"{GRID}.some(r => r.children[0].textContent === '105')", True)
        for _ in range(20):
            time.sleep(0.1)
            top = browser.ask("document.querySelector('.grid').scrollTop")
            equal(abs(top - 2800) <= 28, True, f'the place while others commit: {top}')
        type_text(browser, '#query', 'id == 7')
        browser.expect('a query meanwhile', "document.querySelector('.status').textContent.startsWith('1 of')", True)
        click(browser, 'Clear the query')
    finally:
        ended.set()
        writer.join()
    print(f'ok: {commits[0]} commits of another process')
    equal(commits[0] > 50, True, 'commits')
    browser.expect('the last state', "document.querySelector('.status').textContent.startsWith('300 objects')", True)


def take_pictures(browser, studio, folder):
    """The page at two widths, light and dark, and its other views."""
    def picture(name):
        time.sleep(0.5)
        data = browser.send('Page.captureScreenshot')['data']
        pathlib.Path(folder, name + '.png').write_bytes(base64.b64decode(data))

    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    grid = studio.address + '/#/c/Person?q=age%20%3E%2030&o=Person:3'
    for width, height, is_mobile in [(1400, 860, False), (400, 820, True)]:
        browser.send('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=is_mobile)
        for scheme in ['light', 'dark']:
            browser.send('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
            for name, address in [('grid', studio.address + '/#/c/Person'), ('object', grid), ('schema', studio.address + '/#/schema'),
                                  ('space', studio.address + '/#/maintenance')]:
                browser.send('Page.navigate', url=address)
                browser.expect(f'{name} at {width}', "document.querySelector('#main')?.textContent.length > 5", True)
                too_wide = browser.ask('document.documentElement.scrollWidth > innerWidth')
                equal(too_wide, False, f'{name} at {width} is as wide as the window')
                picture(f'studio-{name}-{width}-{scheme}')


def test_page(folder):
    file = people('page.realm')
    with Studio(file) as studio, Studio(file) as other, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            browser.send('Page.enable')
            browser.send('Runtime.enable')
            browser.send('Emulation.setDeviceMetricsOverride', width=1400, height=860, deviceScaleFactor=1, mobile=False)
            use_page(browser, studio, other)
            if folder:
                take_pictures(browser, studio, folder)
        finally:
            browser.process.kill()
            browser.process.wait()
    run('check', file, says='is whole')


# Figures

def figures(count):
    lines = ['id,name,age,score'] + [f'{n},name {n * 7919 % count},{n % 100},{n / 8}' for n in range(count)]
    write('many.csv', '\n'.join(lines) + '\n')
    file = make('many.realm', 1)
    start = time.monotonic()
    run('import', file, 'Person', path('many.csv'))
    print(f'import {count / (time.monotonic() - start):,.0f} rows/s, file of {os.path.getsize(file) / 1e6:,.0f} MB')
    with Studio(file) as studio:
        def measure(words, query):
            start = time.monotonic()
            answer = studio.json('rows', {'class': 'Person', 'limit': 100, **query})
            print(f'{words:34} {(time.monotonic() - start) * 1000:8.1f} ms   {answer["count"]:>10,} rows')

        measure('first rows', {})
        measure('a window in the middle', {'offset': count // 2})
        measure('by an index', {'sort': 'name'})
        measure('without an index', {'sort': 'score', 'descending': 1})
        measure('without an index, in the middle', {'sort': 'score', 'descending': 1, 'offset': count // 2})
        measure('the same again', {'sort': 'score', 'descending': 1, 'offset': count // 2 + 100})
        measure('filter without an index', {'query': 'age == 42'})
        measure('filter by an index', {'query': "name == 'name 77'"})
        measure('filter by text', {'query': "name CONTAINS '777'"})
        print(f'memory {studio.resident()} MB')


if __name__ == '__main__':
    support.regnum = os.path.realpath(sys.argv[1])
    if sys.argv[2:3] == ['--browser']:
        test_page(sys.argv[3] if len(sys.argv) > 3 else '')
        print('1 passed, 0 failed')
    elif sys.argv[2:3] == ['--figures']:
        figures(int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
    else:
        tests = [test_server, test_changes_of_others, test_refusals, test_refused_bodies, test_old_file]
        for test in tests:
            test()
        print(f'{len(tests)} passed, 0 failed')
