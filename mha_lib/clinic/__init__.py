"""What is wrong with a layer.

In: somebody's layer. `patient` copies it, `names` and `projections` find its four projections (a `reading`),
`calling` finds out how it is called, `forms` are the masks that it may take.
On the way: `running` runs it on `probes` while a `recorder` looks on. `choosing` and `masking`
settle what it takes itself for (a `choice`) by comparing it with its `twins`: the right layer and
those of `bugs` (made by `faulty`), with its own projections. `afterwards` and `questions` look further,
`milestones` and `pointing` find the line.
Out: `findings` as data, put together by `examination` and into sentences by `words`; or which
word can see which (`visibility`).
"""
