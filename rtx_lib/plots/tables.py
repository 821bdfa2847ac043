"""A table that the reader sorts and narrows, by mouse and by keyboard; without a script it is a plain table."""

import html
import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from IPython.display import HTML, Markdown

from rtx_lib.plots.control import check_size
from rtx_lib.plots.figure import figcaption, scroll_box

# A click on a column's button: ascending, then descending; what has no value stays last, ties keep their order.
_SORT = """const b=event.target.closest('thead button');if(!b)return;
const head=b.closest('th'),table=this,i=head.cellIndex,up=head.getAttribute('aria-sort')!='ascending';
const body=table.tBodies[0],text=head.dataset.kind=='text',key=r=>r.cells[i].dataset.value;
const rows=[...body.rows].sort((p,q)=>{const a=key(p),c=key(q);
if(a===undefined||c===undefined)return (a===undefined)-(c===undefined);
return (up?1:-1)*(text?a.localeCompare(c,'en',{numeric:true}):a-c)});
body.append(...rows);
table.querySelectorAll('thead th').forEach(e=>e.setAttribute('aria-sort','none'));
head.setAttribute('aria-sort',up?'ascending':'descending');
table.closest('figure').querySelector('.order').textContent=
`Sorted by ${b.textContent.trim()}, ${text?(up?'A to Z':'Z to A'):up?'smallest first':'greatest first'}.`"""
# A change of the choice: the other rows and the column that is chosen by are away, or all is there.
_CHOOSE = """const figure=this.closest('figure'),one=this.value,rows=[...figure.querySelectorAll('tbody tr')];
rows.forEach(r=>r.classList.toggle('away',one!=''&&r.dataset.of!=one));
figure.querySelector('table').classList.toggle('one',one!='');
figure.querySelector('.count').textContent=
`${rows.filter(r=>!r.classList.contains('away')).length} of ${rows.length} rows.`"""
_GROUND = "var(--pst-color-background,var(--jp-layout-color0,Canvas))"
_STYLE = f"""
.book-table table{{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;color:inherit}}
.book-table caption{{text-align:start;caption-side:top;font-weight:600;padding:.3rem 0;color:inherit}}
.book-table th,.book-table td{{padding:.15rem .35rem;border:0;text-align:end;
border-bottom:1px solid rgb(128 128 128/.35);white-space:nowrap;background:none;color:inherit}}
.book-table .text,.book-table tbody th{{text-align:start}}
.book-table tbody th,.book-table thead th:first-child{{position:sticky;left:0;background:{_GROUND};font-weight:600;
min-width:min(9em,30vw);max-width:36vw;white-space:normal;z-index:1}}
.book-table thead th{{vertical-align:bottom;white-space:normal}}
.book-table thead button{{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:.2rem 0;
min-height:44px;text-align:inherit;cursor:pointer}}
.book-table thead button::after{{content:"↕";opacity:.6;padding-left:.25em}}
.book-table [aria-sort=ascending] button::after{{content:"↑";opacity:1}}
.book-table [aria-sort=descending] button::after{{content:"↓";opacity:1}}
.book-table thead button:focus-visible{{outline:3px solid var(--pst-color-accent,currentColor);outline-offset:1px}}
.book-table [role=status]{{min-height:1.5em;margin:.2rem 0 0;font-size:.875rem}}
.book-table select{{font:inherit;min-height:36px;max-width:100%}}
.book-table select:focus-visible{{outline:3px solid var(--pst-color-accent,currentColor);outline-offset:2px}}
@media screen{{.book-table .away,.book-table .one .by{{display:none}}}}
@media print{{.book-table .book-control,.book-table [role=status]{{display:none}}}}
"""
# Without a script nobody could bring back what is away.
_PLAIN = """<noscript><style>.book-table .book-control,.book-table [role=status]{display:none}
.book-table tr.away{display:table-row}.book-table .one .by{display:table-cell}</style></noscript>"""


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markdown:
    """A small table as Markdown, which Jupyter, Colab and the site show alike; ``|`` may not occur in a cell.

    Raises
    ------
    ValueError
        If there is no column, or a row has another number of cells.
    """
    for row in rows:
        if not columns or len(row) != len(columns):
            raise ValueError(f"every row must have {len(columns)} cells, at least one, got {len(row)}: {row!r}")
    lines = [columns, ["---"] * len(columns), *rows]
    return Markdown("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


def sortable_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, *, note: str = "", choose: str | None = None
) -> HTML:
    """A table sorted by its column heads: first ascending, then descending; missing values stay last.

    It scrolls sideways inside its own box, where the first column, each row's name, stays in place.

    Parameters
    ----------
    columns
        The heads.
    rows
        Each of one cell per column. A cell is a text, a number, None where there is nothing, or a tuple (value
        to sort by, text) or (value, text, link). A column whose values are all numbers is sorted as numbers. A
        number from 1,000 on is written with separators: a year is better given as (1997, "1997").
    caption
        The table's name.
    note
        Line below, as HTML.
    choose
        The head of a column whose texts the reader chooses from, in the order in which they come. At first
        only the rows of the first are there, without this column; "all" brings back everything, as do paper and
        a page without scripts.

    Raises
    ------
    ValueError
        If there is no column, a row has another number of cells, the caption holds no word, ``choose`` is
        the head of no column after the first, a link is neither relative nor http(s), or the table exceeds 600 kB.
    """
    if not columns:
        raise ValueError("columns must hold at least one head, got none")
    if not caption.strip():
        raise ValueError(f"caption must be a text that names the table, got {caption!r}")
    if choose is not None and choose not in columns[1:]:
        raise ValueError(f"choose must be one of the heads after the first, {list(columns[1:])}, got {choose!r}")
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"every row must have {len(columns)} cells, got {len(row)}: {row!r}")
    cells = [[_cell(cell) for cell in row] for row in rows]
    kinds = ["number" if _is_number([row[i][0] for row in cells]) else "text" for i in range(len(columns))]
    by = None if choose is None else list(columns).index(choose, 1)
    looks = [kind + " by" * (i == by) for i, kind in enumerate(kinds)]
    heads = "".join(
        f'<th scope="col" class="{look}" data-kind="{kind}" aria-sort="none"><button type="button">'
        f"{html.escape(name)}</button></th>"
        for name, kind, look in zip(columns, kinds, looks, strict=True)
    )
    values = [] if by is None else [row[by][1] for row in cells]
    names = list(dict.fromkeys(values))
    marks = [_belongs(names.index(value)) for value in values] or [""] * len(cells)
    body = "".join(
        f"<tr{mark}>{''.join(_write(*cell, kinds[i], looks[i], i) for i, cell in enumerate(row))}</tr>"
        for mark, row in zip(marks, cells, strict=True)
    )
    one = ' class="one"' if names else ""
    table = (
        f'<table{one} onclick="{html.escape(_SORT)}" onkeydown="event.stopPropagation()">'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
    count = f"{values.count(names[0])} of {len(cells)} rows." if names else ""
    page = (
        f'<figure class="book-fig book-table"><style>{_STYLE}</style>{_choice(choose, names)}'
        f'{scroll_box(table, caption)}<p role="status"><span class="count">{count}</span> '
        f'<span class="order"></span></p>{figcaption(note)}</figure>'
    )
    return HTML(check_size(page, "table"))


def _choice(name: str | None, values: Sequence[str]) -> str:
    """The control above the table that says whose rows are there: the first's at the start."""
    if name is None or not values:
        return ""
    options = "".join(f'<option value="{i}">{html.escape(value)}</option>' for i, value in enumerate(values))
    return (
        '<div class="book-control" onkeydown="event.stopPropagation()">'
        f"<label><span>{html.escape(name[:1].upper() + name[1:])}</span> "
        f'<select autocomplete="off" onchange="{html.escape(_CHOOSE)}">{options}<option value="">all</option></select>'
        f"</label></div>{_PLAIN}"
    )


def _belongs(number: int) -> str:
    """Attributes of a row of the given choice."""
    return f' data-of="{number}"' + ' class="away"' * (number > 0)


def _cell(cell: Any) -> tuple[Any, str, str | None]:
    """A cell as what it is sorted by, its text and its link."""
    value, text, link = (*cell, None)[:3] if isinstance(cell, tuple) else (cell, None, None)
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    if link is not None and ":" in link.split("/")[0] and not link.startswith(("https:", "http:")):
        raise ValueError(f"a link must be relative or of http(s), got {link!r}")
    if text is None:
        plain = isinstance(value, bool) or not _is_number([value])
        text = "–" if value is None else str(value) if plain else _number(value)
    return value, str(text), link


def _is_number(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(hasattr(value, "__float__") for value in known)


def _number(value: Any) -> str:
    """A whole number in full, another with six significant digits, both with separators: ``1,050``."""
    return f"{value:,}" if isinstance(value, Integral) else f"{float(value):,g}"


def _write(value: Any, text: str, link: str | None, kind: str, look: str, column: int) -> str:
    """One cell: the first of a row is its head."""
    tag, scope = ("th", ' scope="row"') if column == 0 else ("td", "")
    sort = repr(float(value)) if kind == "number" and value is not None else str(value)
    key = "" if value is None else f' data-value="{html.escape(sort)}"'
    inner = html.escape(text) if link is None else f'<a href="{html.escape(link)}">{html.escape(text)}</a>'
    return f'<{tag}{scope} class="{look}"{key}>{inner}</{tag}>'
