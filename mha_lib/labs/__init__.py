"""What the labs measure with: tiny trainings, a real model's heads, and the cost.

Import the module you need: `from mha_lib.labs import training`.
"""
