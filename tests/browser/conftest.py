"""The browser tests' fixtures: see in_browser."""

from in_browser import chromium, context, jupyter, lab  # noqa: F401
