"""Firefox, driven by the protocol that it speaks itself (WebDriver BiDi), as Playwright drives no Firefox of a system.

tornado, which every Jupyter brings, carries the messages. The loop has a thread of its own: Playwright has one in the
test's thread.
"""

import asyncio
import itertools
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 120  # seconds: a limit for what should take a moment, on a machine that is very busy
LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
EVENTS = ["log.entryAdded", "network.beforeRequestSent", "network.fetchError"]
# Firefox itself asks for nothing: its tests are about our pages.
PREFERENCES = {
    "app.normandy.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.systemAddon.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.prefetch-next": False,  # it would fetch the next chapter when idle, and give that up with the tab
    "network.proxy.type": 0,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


class Tab:
    """A page in Firefox, and what went wrong since it was opened."""

    def __init__(self, firefox: "Firefox", context: str) -> None:
        self.firefox, self.context = firefox, context
        self.errors: list[str] = []
        self.requests: list[str] = []

    def note(self, event: str, news: dict[str, Any]) -> None:
        """Keep errors of scripts and the console, and every address asked for."""
        if event == "log.entryAdded" and news["level"] == "error":
            self.errors.append(news["text"])
        elif event == "network.fetchError":
            self.errors.append(f"failed: {news['request']['url']} {news['errorText']}")
        elif event == "network.beforeRequestSent":
            self.requests.append(news["request"]["url"])

    def goto(self, address: str) -> None:
        self.firefox.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression (awaited) as JSON carries it."""
        answer = self.firefox.send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": self.context},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise AssertionError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"]) if answer["result"]["type"] == "string" else None

    def wait(self, expression: str, seconds: float = PATIENCE) -> None:
        """Until the expression is true."""
        said = self.evaluate(
            f"new Promise((done) => {{ const end = Date.now() + {1000 * seconds}; const look = () => "
            f"({expression}) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 50); look() }})"
        )
        assert said, f"{expression} did not come true in {seconds} seconds; errors: {self.errors}"


class Firefox:
    """One running Firefox without a window."""

    def __init__(self, address: str) -> None:
        self.numbers = itertools.count(1)
        self.answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.tabs: dict[str, Tab] = {}
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.socket = self._run(self._connect(f"{address}/session"))
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=EVENTS)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    async def _connect(self, address: str) -> Any:
        from tornado.websocket import websocket_connect

        return await websocket_connect(address, on_message_callback=self._take, max_message_size=1 << 28)

    def _take(self, text: str | bytes | None) -> None:
        """An answer goes to who waits for it, an event to its tab."""
        if text is None:
            for answer in self.answers.values():
                answer.set_exception(ConnectionError("Firefox has ended"))
            self.answers.clear()
            return
        message = json.loads(text)
        if message["type"] == "event":
            news = message["params"]
            context = news.get("context") or news.get("source", {}).get("context")
            if tab := self.tabs.get(context):
                tab.note(message["method"], news)
        elif answer := self.answers.pop(message.get("id"), None):
            answer.set_result(message)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command; its result."""

        async def ask() -> dict[str, Any]:
            number = next(self.numbers)
            answer = self.answers[number] = self.loop.create_future()
            await self.socket.write_message(json.dumps({"id": number, "method": method, "params": parameters}))
            return await answer

        message = self._run(ask())
        if message["type"] == "error":
            raise AssertionError(f"{method}: {message['message']}")
        return message["result"]

    @contextmanager
    def tab(self, address: str, width: int = 1280, height: int = 1000) -> Iterator[Tab]:
        """Open an address in a new tab."""
        context = self.send("browsingContext.create", type="tab")["context"]
        self.send("browsingContext.setViewport", context=context, viewport={"width": width, "height": height})
        tab = self.tabs[context] = Tab(self, context)
        try:
            tab.goto(address)
            yield tab
        finally:
            del self.tabs[context]
            self.send("browsingContext.close", context=context)

    def close(self) -> None:
        self.send("browser.close")
        self.loop.call_soon_threadsafe(self.socket.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()


@contextmanager
def launch(browser: str, profile: Path) -> Iterator[Firefox]:
    """Start this Firefox with an empty profile in this folder; end it, whatever happens."""
    lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    said = profile / "said.txt"
    command = [browser, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with said.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, "HOME": str(profile)}
        )
    try:
        firefox = Firefox(_address(process, said))
        try:
            yield firefox
        finally:
            firefox.close()
            process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], said: Path) -> str:
    """Where it listens, once it says so."""
    wait = threading.Event()
    for _ in range(10 * PATIENCE):
        if found := LISTENS.search(said.read_text()):
            return found[1]
        if process.poll() is not None:
            break
        wait.wait(0.1)
    raise AssertionError(f"Firefox does not listen: {said.read_text()[-500:]}")
