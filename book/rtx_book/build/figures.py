"""A PDF beside each SVG of a folder, where Playwright finds Chromium: `python -m rtx_book.build.figures FOLDER`."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

CHROMIUM = "chromium-headless-shell chromium chromium-browser google-chrome chrome msedge"
PAGE = "<!doctype html>{}<style>body{{margin:0}}svg{{display:block}}</style>{}"


def print_pdf(path: Path, page: Any) -> None:
    """One page as large as the picture, with its title, by a page of Playwright's Chromium."""
    svg = path.read_text(encoding="utf-8")
    page.set_content(PAGE.format(re.findall("<title>.*?</title>", svg, flags=re.S)[0], svg))
    width, height = (re.findall(rf'\b{side}="([\d.]+)"', svg)[0] for side in ("width", "height"))
    page.pdf(path=path.with_suffix(".pdf"), width=f"{width}px", height=f"{height}px")


if __name__ == "__main__":
    pictures = sorted(Path(sys.argv[1]).glob("*.svg"))
    found = next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *CHROMIUM.split()])), None)
    try:
        from playwright.sync_api import sync_playwright  # which comes with the tests

        with sync_playwright() as playwright:
            sheet = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"]).new_page()
            for path in pictures:
                print_pdf(path, sheet)
        print(f"{len(pictures)} figures, each as SVG and PDF: {sys.argv[1]}")
    except Exception as error:
        print(f"No PDF, since there is no Chromium to print them: {str(error).strip().splitlines()[0]}")
