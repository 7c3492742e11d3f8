# SPDX-License-Identifier: Apache-2.0
"""Drives chromium over its debugging pipe (no library needed) against notes-server: adds a note with a picture by
the page's own form, sees one that a second process adds appear without a reload, searches, edits, deletes, undoes,
stops the server, and measures the page at a width of 320 points.

usage: browser_check.py PROGRAM [SCREENSHOT.png]     (1,400 points wide; SCREENSHOT-320.png and SCREENSHOT-dark.png too)
"""
import base64
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in (x % 256, y % 256, 160)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Browser:
    """One page of a headless chromium."""

    def __init__(self, folder):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def take_pipes():
            # Chromium reads commands from descriptor 3 and writes answers to 4.
            os.dup2(to_browser, 203)
            os.dup2(from_browser, 204)
            os.dup2(203, 3)
            os.dup2(204, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-background-networking", "--no-first-run", "--window-size=1000,800",
             f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=take_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.buffer, self.page = 0, b"", None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.page = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.page:
            message["sessionId"] = self.page
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                got = os.read(self.input, 1 << 20)
                if not got:
                    sys.exit("chromium ended")
                self.buffer += got
            answer, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def ask(self, script):
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def expect(self, words, script, wanted):
        end = time.monotonic() + 1800
        found = None
        while time.monotonic() < end:
            # The element that the script reads may not exist yet.
            found = self.ask("(() => { try { return (" + script + ") } catch (error) { return String(error) } })()")
            if found == wanted:
                print("ok:", words)
                return
            time.sleep(0.1)
        sys.exit(f"{words}: expected {wanted!r}, found {found!r}")


def serve(program, folder, port=None):
    port = port or free_port()
    process = subprocess.Popen([program, "--folder", folder, "--port", str(port)], stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(9000):
        try:
            urllib.request.urlopen(address + "/changes?after=-1", timeout=5).read()
            return process, address
        except OSError:
            time.sleep(0.2)
    sys.exit("the server does not answer")


FORM = """(() => {
  form.title.value = "Harbour"; form.content.value = "Boats at <i>six</i>"; form.tags.value = "sea, evening";
  form.followUp.checked = true;
  const bytes = Uint8Array.from(atob("%s"), c => c.charCodeAt(0)), files = new DataTransfer();
  files.items.add(new File([bytes], "harbour.png", { type: "image/png" }));
  form.picture.files = files.files;
  form.requestSubmit();
})()"""
TITLES = "[...document.querySelectorAll('li h2')].map(h => h.textContent).join('|')"
WIDTHS = "[innerWidth, document.documentElement.scrollWidth === document.documentElement.clientWidth]"
EDIT = """(() => {
  document.querySelector("li button.edit").click();
  form.title.value = "Port"; form.content.value = "%s";
  form.requestSubmit();
})()"""


def text(part):
    return f"document.getElementById('{part}').textContent"


def is_hidden(part):
    return f"document.getElementById('{part}').hidden"


def photograph(browser, file, width, scheme="light"):
    """Sets the width of the window, and takes a picture if there is a file for it."""
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    if file:
        data = browser.send("Page.captureScreenshot")["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))


def check(program, screenshot, work):
    running = []
    try:
        first, address = serve(program, work + "/notes")
        running.append(first)
        second, elsewhere = serve(program, work + "/notes")
        running.append(second)
        browser = Browser(work + "/browser")
        running.append(browser.process)
        browser.send("Page.enable")
        browser.send("Page.navigate", url=address + "/")
        browser.expect("an empty page", "document.getElementById('status')?.textContent", "0 notes, 0 to follow up")
        browser.ask("window.loadedOnce = true")
        browser.ask(FORM % base64.b64encode(png(340, 200)).decode())
        browser.expect("a note by the form", TITLES, "\u2691 Harbour")
        browser.expect("its picture, 170 points wide", "document.querySelector('li img')?.naturalWidth", 170)
        browser.expect("text is text", "document.querySelector('li p').textContent", "Boats at <i>six</i>")
        body = json.dumps({"title": "From another process", "content": "Nobody loaded the page again.",
                           "color": "aa3333", "tags": ["elsewhere"]}).encode()
        urllib.request.urlopen(urllib.request.Request(elsewhere + "/notes", body, method="POST")).read()
        browser.expect("a note of another process", TITLES, "From another process|\u2691 Harbour")
        browser.expect("the page was not loaded again", "window.loadedOnce", True)
        browser.ask("search.value = 'EVENING'; search.oninput()")
        browser.expect("a search", TITLES, "\u2691 Harbour")
        browser.ask("search.value = 'mountain'; search.oninput()")
        browser.expect("a search without a result", text("empty"), "No note contains “mountain”.")
        browser.ask("search.value = 'EVENING'; search.oninput()")
        browser.expect("its end", is_hidden("empty"), True)
        browser.ask(EDIT % ("w" * 300))
        browser.expect("an edited note", TITLES, "\u2691 Port")
        browser.expect("the form is for a new note again", text("heading"), "New note")
        browser.expect("the focus is on the note", "document.activeElement.getAttribute('aria-label')", "Edit “Port”")
        browser.expect("the picture stays", "document.querySelector('li img')?.naturalWidth", 170)
        browser.expect("the next undo", text("undo"), "Undo the change of “Harbour”")
        file = pathlib.Path(screenshot)
        for width, scheme, name in ((320, "dark", "dark"), (320, "light", "320"), (1400, "light", "")):
            named = file.with_name(file.stem + (name and "-" + name) + file.suffix) if screenshot else None
            photograph(browser, named, width, scheme)
            browser.expect(f"no part is wider than {width} points", WIDTHS, [width, True])
        browser.ask("document.querySelector('li button.delete').click()")
        browser.expect("a deletion", TITLES, "")
        browser.ask("document.getElementById('undo').click()")
        browser.expect("an undo", TITLES, "\u2691 Port")
        browser.expect("of the picture too", "document.querySelector('li img')?.naturalWidth", 170)
        browser.ask("document.querySelector('li button.delete').click()")
        browser.expect("a deletion again", TITLES, "")
        browser.ask("search.value = ''; search.oninput()")
        browser.expect("the other note", TITLES, "From another process")
        first.kill()
        first.wait()
        browser.expect("a server that has stopped", is_hidden("offline"), False)
        running[0], _ = serve(program, work + "/notes", address.rsplit(":", 1)[1])
        browser.expect("a server that is back", is_hidden("offline"), True)
        browser.expect("all is there", TITLES, "From another process")
        print("all passed, 0 failed")
    finally:
        for process in running:
            process.kill()
            process.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        check(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "", work)
