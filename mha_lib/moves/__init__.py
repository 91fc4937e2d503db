"""What happened to each cell.

In: a function and its tensors (`recorder.watch`). On the way: `recording` holds the steps,
`axes` and `meaning` name them, `layout` places them, `cells` gives them their looks. Out: a
figure (`figure.plot_moves`), or what `widgets.tensor_moves` sends to the page.
"""
