"""Attention weights as pictures.

In: weights, words and masks, as people have them (`read`). Out: one heatmap on given axes
(`draw`), a figure of all heads (`figure.plot_heads`), or a table as HTML (`html`).
"""
