"""Where the browser of the tests is looked for, and what is done where there is none."""

import os
import sys

import pytest
from support import browser


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without browsers, whose path is an empty folder."""
    for name in ("CHROMIUM", "FIREFOX", "RTX_BROWSER", "RTX_REQUIRE_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(browser, "PLACES", {"chromium": [], "firefox": []})
    monkeypatch.setenv("PATH", str(tmp_path))


def test_the_named_browser_goes_before_the_systems_and_a_slip_is_told(bare, monkeypatch, tmp_path):
    assert browser.find() is None and browser.find("firefox") is None
    for name in ("chromium", "firefox", "other"):
        path = tmp_path / (f"{name}.bat" if os.name == "nt" else name)
        path.touch(0o755)
    assert browser.find().startswith(str(tmp_path / "chromium")) and browser.find("firefox")
    monkeypatch.setenv("CHROMIUM", "other")
    assert browser.find().startswith(str(tmp_path / "other"))
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(ValueError, match="variable CHROMIUM must name a browser, got 'no-such-browser'"):
        browser.find()
    monkeypatch.setenv("RTX_BROWSER", "0")
    assert browser.find() is None and browser.find("firefox") is None


@pytest.mark.parametrize(
    ("status", "required", "root", "called"),
    [
        (0, "0", [], ["playwright"]),
        (1, "0", [], ["playwright"]),  # a test command asks nobody for root's rights
        (1, "1", None, ["playwright"]),
        (1, "1", [], ["playwright", "apt-get"]),
        (1, "1", ["sudo", "-n"], ["playwright", "sudo"]),
    ],
)
def test_what_is_tried_to_bring_one(bare, monkeypatch, status, required, root, called):
    calls = []
    monkeypatch.setenv("RTX_REQUIRE_ALL", required)
    monkeypatch.setattr(browser, "as_root", lambda: root)
    browser.bring(call=lambda command: calls.append([*command]) or status)
    assert [command[0] if command[0] != sys.executable else command[2] for command in calls] == called
