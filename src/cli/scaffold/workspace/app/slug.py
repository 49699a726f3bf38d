"""Slugs of titles."""


def slug(title):
    """A title in lower case, with hyphens between its words."""
    return title.strip().lower().replace(" ", "-").replace("_", "-")
