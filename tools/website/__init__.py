"""The collection as a static site, from the committed outputs; nothing is executed.

pages copies the sources and rewrites each notebook, outputs one output, questions a question;
sheets draws what is to be printed; conf is Sphinx's. See __main__ for the command.
"""
