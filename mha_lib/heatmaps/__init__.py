"""Attention weights as pictures.

In: weights, `words` and masks, as people have them (`read`). Out: one heatmap on given axes
(`draw`), a figure of all heads (`figure.plot_heads`) or a `sheet` of thumbnails, with the words
for them read back from what was drawn (`drawn`, `said`), or a table as HTML (`html`). Large
maps are made small in `pool`.
"""
