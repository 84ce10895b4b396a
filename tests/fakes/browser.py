"""A headless Chromium that a test drives over the DevTools protocol, and everything that it complains about.

Uses the Chromium of the system, and skips with a reason where there is none.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_START_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.05
_MESSAGE_BYTES = 64 << 20
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # as root, as in CI; the pages are ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--remote-debugging-port=0",
)


class PageFailed(Exception):
    """JavaScript that the test ran has thrown."""


class BrowserPage:
    """One tab. `complaints` are errors of the console and violations of the policy, `requests` all addresses asked."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._reading = asyncio.create_task(self._read())

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        self._number += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[self._number] = answer
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        return await answer

    async def begin(self) -> None:
        """Listens to what the page does."""
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.ask(f"{domain}.enable")

    async def size(self, width: int, height: int, *, scheme: str = "dark") -> None:
        """Gives the window a size in CSS pixels, and the system a colour scheme."""
        await self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.ask("Emulation.setEmulatedMedia", features=features)

    async def open(self, url: str) -> None:
        await self.ask("Page.navigate", url=url)

    async def value(self, expression: str) -> Any:
        """What JavaScript makes of an expression, which may be a promise. Raises `PageFailed`."""
        answer = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise PageFailed(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def text(self) -> str:
        """All text that the page shows."""
        return str(await self.value("document.body.innerText"))

    async def until(self, expression: str, *, seconds: float = 20.0) -> Any:
        """Waits until an expression is true; its value."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            with contextlib.suppress(PageFailed):
                if found := await self.value(expression):
                    return found
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"not within {seconds:g} s: {expression}\n{await self.text()}")
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def screenshot(self, place: Path, *, whole: bool = False) -> None:
        answer = await self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        await asyncio.to_thread(place.write_bytes, base64.b64decode(answer["data"]))

    async def close(self) -> None:
        await self._socket.close()
        await asyncio.wait({self._reading})

    async def _read(self) -> None:
        async for message in self._socket:
            told = msgspec.json.decode(message.data)
            if "id" in told:
                answer = self._answers.pop(told["id"])
                if not answer.done():
                    answer.set_result(told.get("result", {"error": told.get("error")}))
            else:
                self._note(told["method"], told["params"])

    def _note(self, method: str, told: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(str(told["request"]["url"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")


def chromium() -> str:
    """The program; skips the test where there is none."""
    for name in _PROGRAMS:
        if (found := shutil.which(name)) is not None:
            return found
    pytest.skip("there is no Chromium on this machine, so nobody looks at /ui: apt-get install chromium")


@asynccontextmanager
async def browsing(*options: str) -> AsyncIterator[BrowserPage]:
    """A page of a browser of its own, which ends with the block. `options` are further ones of its command."""
    program = chromium()
    with tempfile.TemporaryDirectory(prefix="zonal-browser-", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            *(program, *_OPTIONS, *options, f"--user-data-dir={profile}", "about:blank"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            port = await _port_of(Path(profile))
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
                async with session.get("/json/list") as response:
                    (target,) = [each for each in await response.json() if each["type"] == "page"]
                async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=_MESSAGE_BYTES) as socket:
                    page = BrowserPage(socket)
                    await page.begin()
                    yield page
                    await page.close()
        finally:
            process.kill()
            await process.wait()


async def _port_of(profile: Path) -> int:
    """The port that the browser took, which it writes into a file."""
    place = profile / "DevToolsActivePort"
    deadline = asyncio.get_running_loop().time() + _START_SECONDS
    while not (place.exists() and place.read_text(encoding="utf-8").count("\n")):
        assert asyncio.get_running_loop().time() < deadline, "Chromium did not start"
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return int(place.read_text(encoding="utf-8").splitlines()[0])
