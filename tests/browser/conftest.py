"""The browser tests' fixtures: see in_browser."""

from in_browser import chromium, context, free_pages, jupyter, lab  # noqa: F401
