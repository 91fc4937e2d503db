"""What happened to each cell.

In: a function and its tensors (`recorder.watch`). `following` hears each torch operation, `memory`
knows which cell stands at each address, `shadow` moves the cells' numbers as torch moves the cells;
`meaning` names what came of it by `axes` and says it in a sentence: a `recording`. One way down from
there: `lines` and `layout` place cells and `labels`, `looks` gives them colours and numbers. Out: a
`figure` (plot_moves), a `page` for the widget, or a `still` picture; `compare` holds two results
against each other, `tape` counts what moved in memory.
"""
