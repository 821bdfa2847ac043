"""How several workers of pytest-xdist share the tests.

The first worker to be free executes the book and builds its site, while the others go on; the pages are opened in
browsers last, by all of them. One process alone keeps the same order.
"""

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # one process then does everything
    LoadScopeScheduling = object

EXECUTED = "tests/book/notebooks/test_execution.py::test_notebook_runs"
# At the executed book.
LOOKS = ("tests/book/notebooks/test_execution.py", "tests/book/pages/", "tests/book/build/test_replicate.py")
BOOK, ELSE, NOTEBOOKS, BROWSER = range(4)
# The first of these make what the others look at, and the last would have to wait for it.
STARTS = {
    BOOK: (EXECUTED, "tests/book/pages/test_pages.py"),
    NOTEBOOKS: "tests/book/notebooks/",  # minutes: not at the end
    BROWSER: "tests/book/pages/",
}


def part(name):
    """The place of a test in the order."""
    return next((place for place, start in STARTS.items() if name.startswith(start)), ELSE)


def scope(name):
    """Tests of one scope go to one worker, one after the other, and share what their modules and sessions set up."""
    return {BOOK: "book", BROWSER: name}.get(part(name), name.partition("::")[0])


class ByFile(LoadScopeScheduling):
    """A worker takes a file at a time, the book as a whole, and of the browser's tests one at a time."""

    def _split_scope(self, nodeid):
        return scope(nodeid)
