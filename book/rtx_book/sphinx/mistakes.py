"""The parts ``mistakes`` and ``mistakes-report``: the museum, from ``mistakes.yml`` and ``results/mistakes.json``."""

import json
from pathlib import Path
from typing import Any

import yaml

WIDTH, HEIGHT = 240, 120


def short(x: float) -> str:
    """A number on an axis: "0.123", "12k", "3.4M"."""
    return f"{x:.3g}" if abs(x) < 1e3 else f"{x / 1e3:.0f}k" if abs(x) < 1e6 else f"{x / 1e6:.1f}M"


def chart(losses: list[float], sound: list[float], window: int) -> dict[str, Any]:
    """Two curves of losses over steps as the points of an SVG, and the numbers at the ends of its axes.

    The axis goes from 0, or the lowest loss below, to the highest loss, so that a curve out of all proportion is seen
    to be that.
    """
    low, high = min(0.0, *losses), max(*losses, *sound)

    def line(curve: list[float]) -> str:
        xs = (WIDTH * (place + 0.5) / len(curve) for place in range(len(curve)))
        return " ".join(f"{x:.1f},{HEIGHT * (high - y) / (high - low):.1f}" for x, y in zip(xs, curve, strict=True))

    numbers = {"low": low, "high": high, "last": losses[-1], "sound_last": sound[-1]}
    told = {name: short(x) for name, x in numbers.items()}
    return {"own": line(losses), "sound": line(sound), "steps": window * len(losses), **told}


def context(root: Path) -> dict[str, Any]:
    """The mistakes under the look of their curve, each with its chart and the lines of `checkup` that failed."""
    looks = yaml.safe_load((root / "book" / "mistakes.yml").read_text(encoding="utf-8"))
    record = json.loads((root / "book" / "results" / "mistakes.json").read_text(encoding="utf-8"))
    for name, one in ((name, one) for own in looks.values() for name, one in own.items()):
        if name not in record["mistakes"]:
            raise ValueError(f"mistakes.json lacks {name}: python -m rtx_book.runs.mistakes writes it")
        found = record["mistakes"][name]
        sound = record["sound"][one.get("mixer", "Recurrence")]
        one |= {"chart": chart(found["losses"], sound, record["window"]), "failed": found["failed"]}
    told = {key: record[key] for key in ("commit", "versions", "report")}
    return {"looks": looks, "width": WIDTH, "height": HEIGHT, **told}
