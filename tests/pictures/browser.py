"""A headless Chromium for tests of pages, spoken to over a pipe in the DevTools protocol.

with Browser(path) as browser:
    page = browser.open(file)
    page.run("document.title")
    page.problems     # errors of its console, and what it has asked the network for
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 30


def find() -> str | None:
    """The path of a browser; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, path: str, width: int = 1200, height: int = 800) -> None:
        self.folder = tempfile.mkdtemp()
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()

        def ends() -> None:  # the browser reads from 3 and writes to 4
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [
                path,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
                f"--user-data-dir={self.folder}",
                f"--window-size={width},{height}",
            ],
            preexec_fn=ends,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest = b""
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self.send("Browser.close")
        self.process.terminate()
        self.process.wait(SECONDS)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while True:
            found = self.receive(end)
            if found.get("id") == self.number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]
            self.events.append(found)

    def receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.into, 1 << 20)
            if not data:
                raise OSError("the browser has gone")
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def open(self, file: pathlib.Path) -> Page:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, attached["sessionId"], file.as_uri())
        page.load()
        return page


class Page:
    def __init__(self, browser: Browser, session: str, url: str) -> None:
        self.browser, self.session, self.url = browser, session, url

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.send(method, self.session, **params)

    def load(self) -> None:
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=self.url)
        end = time.monotonic() + SECONDS
        while not self.run("document.body && document.body.dataset.ready === 'yes'"):
            if time.monotonic() > end:
                raise TimeoutError(f"the page is not ready: {self.problems}")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    @property
    def problems(self) -> list[str]:
        """What the console has told, exceptions, and requests for anything but the page."""
        self.run("0")
        found = []
        for e in self.browser.events:
            params = e.get("params", {})
            if e.get("sessionId") != self.session:
                continue
            if e.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif e.get("method") == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
            elif e.get("method") == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif e.get("method") == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if url != self.url and not url.startswith("data:"):
                    found.append(f"asks for {url}")
            elif e.get("method") == "Page.javascriptDialogOpening":
                found.append("a dialog opened")
        return found

    def screenshot(self, path: pathlib.Path) -> None:
        import base64

        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))
