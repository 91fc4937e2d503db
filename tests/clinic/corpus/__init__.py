"""Layers as people write them, right and wrong, for `diagnose` to be held against.

Each style is a class or function of its own, in the manner of some public code and copied from
none; a word in `fault` makes the mistake in the place where it is made in that style.
"""
