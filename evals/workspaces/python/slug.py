"""Slugs of titles."""


def slug(title):
    """A title in lower case, with hyphens between its words."""
    text = title.strip().lower()
    return text.replace(" ", "-").replace("_", "-").strip("-")
