"""Every sentence that a picture or widget shows, one module a picture.

Plain constants and format strings, so that another language is another set of modules.
"""
