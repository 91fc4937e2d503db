"""What is wrong with a layer.

In: somebody's layer, found its way around by `foreign`. Out: the bug's name (`examination`,
against the faulty layers in `bugs`), or which word can see which (`visibility`).
"""
