"""The first picture of the race's explorer, as the page's script would draw it: for print, and without a script."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rtx_lib.plots.lanes import three

AXES = ("steps", "seconds", "FLOPs")
WIDTH, HEIGHT = 480, 330
BOX = (42, 24, 362, 288)  # the plot's left, top, right and bottom, in the picture's units
PREFIXES = ("", "k", "M", "G", "T", "P", "E")
DASH_LENGTHS = ("", "7 3", "2 2.5", "7 2.5 2 2.5", "4 2", "10 3 3 3")
BANDS = 6  # most chosen lanes whose bands are all drawn
MARKS = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.5-3.5h7v7h-7z",
    "m0-4.6l4.4 7.8h-8.8z",
    "m0-5l4.4 5-4.4 5-4.4-5z",
    "m0 4.6l4.4-7.8h-8.8z",
    "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "m0-8l2.2 5.2 5.6.4-4.3 3.6 1.4 5.5-4.9-3-4.9 3 1.4-5.5-4.3-3.6 5.6-.4z",  # a star: the reader's
)


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Where the marks of an axis stand: powers of ten, or steps of 1, 2, 2.5 or 5 times one."""
    if logarithmic and high / low >= 100:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**e for e in range(first, last + 1, math.ceil((last - first + 1) / 6))]
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
        marks = [m * 10.0**e for e in powers for m in (1, 2, 5)]
        return [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
    raw = (high - low) / 4.5
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(m for m in (1, 2, 2.5, 5, 10) if m * power >= raw)
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _tenths(value: float) -> float:
    """Rounded as the page's script rounds: a half goes up."""
    return math.floor(10 * value + 0.5) / 10


def draw_chart(task: Mapping[str, Any], lanes: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The picture, and what is said of the whole budget."""
    x0, y0, x1, y1 = BOX
    entries = task["lanes"]
    far = max((entry["s"][-1] for entry in entries.values()), default=1)
    bottom, top = task["y"]

    def px(step: float) -> float:
        return _tenths(x0 + (x1 - x0) * step / far)

    def py(value: float) -> float:
        share = math.log(value / bottom) / math.log(top / bottom) if task["log"] and value > 0 else -1.0
        if not task["log"]:
            share = (value - bottom) / (top - bottom)
        return _tenths(y1 - (y1 - y0) * min(1.0, max(0.0, share)))

    def path(steps: Sequence[float], values: Sequence[float | None]) -> str:
        parts, pen = [], "M"
        for step, value in zip(steps, values, strict=True):
            if value is not None:
                parts.append(f"{pen}{px(step):g} {py(value):g}")
            pen = "M" if value is None else "L"
        return "".join(parts)

    grid = [
        f'<path d="M{px(v):g} {y0}V{y1}"/><text x="{px(v):g}" y="{y1 + 16}" text-anchor="middle">{three(v)}</text>'
        for v in ticks(0, far, False)
    ] + [
        f'<path d="M{x0} {py(v):g}H{x1}"/>'
        f'<text x="{x0 - 5}" y="{_tenths(py(v) + 4):g}" text-anchor="end">{three(v)}</text>'
        for v in ticks(bottom, top, task["log"])
    ]
    above = []
    for i, (name, v) in enumerate(task["lines"]):
        kind = "dotted" if i or task["line"] is None else "dashed"
        grid.append(f'<path class="{kind}" d="M{x0} {py(v):g}H{x1}"/>')
        above.append(f'<text class="name" x="{x1 - 3}" y="{_tenths(py(v) - 4):g}" text-anchor="end">{name}</text>')
    ends: dict[int, tuple[float, float]] = {}
    drawn = {}
    for k, lane in enumerate(lanes):
        entry, strong = entries.get(k), k in task["best"]
        pieces = dict.fromkeys(("band", "line", "marks"), "")
        if entry:
            pieces["line"] = path(entry["s"], entry["m"])
            seen = [i for i, value in enumerate(entry["m"]) if value is not None]
            if strong and seen:
                by = max(1, math.ceil(len(seen) / 5))
                points = [i for n, i in enumerate(seen) if n % by == k % by and i != seen[-1]] + [seen[-1]]
                at = [(px(entry["s"][i]), py(entry["m"][i])) for i in points]
                pieces["marks"] = "".join(f"M{x:g} {y:g}{MARKS[lane['mark']]}" for x, y in at)
                ends[k] = at[-1]
                if entry["n"] > 1 and len(task["best"]) <= BANDS:
                    back = path(entry["s"][::-1], entry["l"][::-1]).replace("M", "L", 1)
                    pieces["band"] = f"{path(entry['s'], entry['h'])}{back}Z"
        drawn[k] = pieces
    places = _spread([(y, len(lanes[k]["label"]), k) for k, (_, y) in ends.items()], y0, y1)
    groups = []
    for k in sorted(drawn, key=lambda k: ((k in entries) + (k in ends) + ("yours" in lanes[k]), k)):
        lane, pieces, strong = lanes[k], drawn[k], k in ends
        leader = name = ""
        if strong:
            (x, y), height, label = ends[k], places[k], lane["label"]
            leader = f"M{_tenths(x + 4):g} {y:g}L{x1 + 14} {_tenths(height):g}"
            name = "".join(
                f'<tspan x="{x1 + 16}" y="{_tenths(height + 4 + 14 * i - 7 * (len(label) - 1)):g}">{part}</tspan>'
                for i, part in enumerate(label)
            )
        groups.append(
            f'<g data-lane="{k}" class="{"strong" if strong else "pale"}{" yours" if "yours" in lane else ""}" '
            f'style="--lane:{lane["colour"]};--dash:{lane["dash"] or "none"}">'
            + "".join(f'<path class="{kind}" d="{d}"/>' for kind, d in pieces.items())
            + f'<path class="leader" d="{leader}"/><text>{name}</text><path class="hit" d="{pieces["line"]}"/></g>'
        )
    order = sorted(
        (k for k in entries if entries[k]["m"][-1] is not None),
        key=lambda k: -entries[k]["m"][-1] if task["higher"] else entries[k]["m"][-1],
    )
    lead = ", ".join(f"{lanes[k]['name']} {three(entries[k]['m'][-1])}" for k in order[:3])
    says = f"{'best three ' if len(order) > 3 else ''}at {three(far)} {AXES[0]}: {lead or 'no value yet'}"
    alt = html.escape(f"{task['label']} of {len(entries)} models on {task['name']}, over {AXES[0]}; {says}")
    chart = (
        f'<svg data-part="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}">'
        f'<g class="grid" data-part="grid">{"".join(grid)}</g>'
        f'<text data-part="unit" x="{(x0 + x1) // 2}" y="{y1 + 35}" text-anchor="middle">{AXES[0]}</text>'
        f'<text data-part="label" x="4" y="11">{html.escape(task["label"])}</text>'
        f'<path class="cursor" data-part="cursor" d="M{px(far):g} {y0}V{y1}"/><g>{"".join(groups)}</g>'
        f'<g class="names" data-part="names">{"".join(above)}</g></svg>'
    )
    return chart, says


def _spread(ends: list[tuple[float, int, int]], top: float, bottom: float) -> dict[int, float]:
    """Heights of the names, 14 units for each of their lines, moved apart: down first, then up from the bottom."""
    ends = sorted(ends)
    places: list[float] = []
    free = top - 8
    for y, lines, _ in ends:
        places.append(max(y, free + 7 * lines))
        free = places[-1] + 7 * lines
    free = bottom + 14
    for i in reversed(range(len(ends))):
        places[i] = min(places[i], free - 7 * ends[i][1])
        free = places[i] - 7 * ends[i][1]
    return {k: place for (_, _, k), place in zip(ends, places, strict=True)}
