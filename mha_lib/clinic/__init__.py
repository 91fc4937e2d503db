"""What is wrong with a layer.

In: somebody's layer. `patient` copies it, `maps` and `calling` find its way around, `choosing`
settles what it takes itself for, `twins` are the right layer and the faulty ones of `bugs` with
its maps; `afterwards` and `questions` look further, `milestones` and `pointing` find the line.
Out: a Diagnosis (`examination`), or which word can see which (`visibility`).
"""
