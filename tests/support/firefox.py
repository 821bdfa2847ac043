"""Firefox, driven by the protocol that it speaks itself (WebDriver BiDi), as Playwright drives no Firefox of a system.

Commands go one after the other, and what Firefox tells meanwhile is noted while their answers are waited for. tornado,
which every Jupyter brings, carries the messages, in a thread of its own: Playwright's loop runs in that of the tests.
"""

import asyncio
import itertools
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 120  # seconds: a limit for what should take a moment, on a machine that is very busy
LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
EVENTS = ["log.entryAdded", "network.beforeRequestSent", "network.fetchError"]
# Firefox itself asks for nothing: its tests are about our pages.
OFF = ["app.normandy", "browser.safebrowsing.malware", "browser.safebrowsing.phishing", "extensions.systemAddon.update"]
OFF += ["network.captive-portal-service", "network.connectivity-service", "toolkit.telemetry"]
PREFERENCES = {f"{name}.enabled": False for name in OFF} | {
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.prefetch-next": False,  # it would fetch the next chapter when idle, and give that up with the tab
    "network.proxy.type": 0,
    "services.settings.server": "data:,",
}


class Firefox:
    """One running Firefox without a window, and what went wrong on its tab since that was opened."""

    def __init__(self, address: str) -> None:
        from tornado.websocket import websocket_connect

        self.thread, self.loop = ThreadPoolExecutor(1), asyncio.new_event_loop()
        self.numbers, self.context = itertools.count(1), ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.socket = self._wait(websocket_connect, f"{address}/session", max_message_size=1 << 28)
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=EVENTS)

    def _wait(self, call: Any, *given: Any, **more: Any) -> Any:
        """What comes of a call that the loop has to wait for."""

        async def work() -> Any:
            return await call(*given, **more)

        return self.thread.submit(self.loop.run_until_complete, work()).result(PATIENCE)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command; its result."""
        number = next(self.numbers)
        self._wait(self.socket.write_message, json.dumps({"id": number, "method": method, "params": parameters}))
        while (message := json.loads(self._wait(self.socket.read_message))).get("id") != number:
            self._note(message["method"], message["params"])
        if message["type"] == "error":
            raise AssertionError(f"{method}: {message['message']}")
        return message["result"]

    def _note(self, event: str, news: dict[str, Any]) -> None:
        """Keep errors of scripts and the console, and every address asked for, if they are of the tab."""
        if self.context != (news.get("context") or news.get("source", {}).get("context")):
            return
        if event == "log.entryAdded" and news["level"] == "error":
            self.errors.append(news["text"])
        elif event == "network.fetchError":
            self.errors.append(f"failed: {news['request']['url']} {news['errorText']}")
        elif event == "network.beforeRequestSent":
            self.requests.append(news["request"]["url"])

    def evaluate(self, expression: str) -> Any:
        """The value of an expression (awaited) as JSON carries it."""
        told, target = f"(async () => JSON.stringify(await ({expression})))()", {"context": self.context}
        answer = self.send("script.evaluate", expression=told, target=target, awaitPromise=True)
        if answer["type"] == "exception":
            raise AssertionError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"]) if answer["result"]["type"] == "string" else None

    @contextmanager
    def tab(self, address: str) -> Iterator["Firefox"]:
        """Open an address in a new tab, the only one that is watched."""
        self.context = self.send("browsingContext.create", type="tab")["context"]
        self.errors, self.requests = [], []
        self.send("browsingContext.setViewport", context=self.context, viewport={"width": 1280, "height": 1000})
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")
        yield self
        self.send("browsingContext.close", context=self.context)


@contextmanager
def launch(browser: str, profile: Path) -> Iterator[Firefox]:
    """Start this Firefox with an empty profile in this folder; end it, whatever happens."""
    lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    said, end = profile / "said.txt", time.monotonic() + PATIENCE
    command = [browser, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with said.open("w") as file:
        home = {**os.environ, "HOME": str(profile)}
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=home)
    try:
        while not (found := LISTENS.search(said.read_text())):
            assert process.poll() is None and time.monotonic() < end, f"Firefox does not listen: {said.read_text()}"
            time.sleep(0.1)
        yield Firefox(found[1])
    finally:
        process.kill()
        process.wait()
