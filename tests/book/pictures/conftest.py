from support.drawing import ax, book_style  # noqa: F401
