"""What mkdocs asks while it builds the site: which pages a search finds first."""

BOOSTS = {
    "docs/operators.md": 8,
    "docs/language.md": 4,
    "docs/tour.md": 4,
    "docs/errors.md": 4,
    "docs/performance/": 0.5,
    "docs/errors/": 0.5,
    "CHANGELOG.md": 0.25,
}
"""Beginning of a path -> how much more than others a page counts; the first that fits."""


def on_page_markdown(markdown, page, **_):
    """Called by mkdocs for each page."""
    for start, boost in BOOSTS.items():
        if page.file.src_uri.startswith(start):
            page.meta.setdefault("search", {})["boost"] = boost
            break
    return markdown
