"""What notebook 11 says of time, measured ten times over: the claims must hold on a busy machine."""

import pytest
from lesson import lesson, tell
from torch.nn import functional as F

from mha_lib.labs import cost


@pytest.mark.parametrize("run", range(10))
def test_time_goes_with_the_square_and_heads_cost(run):
    names = lesson("11")
    inputs, by_steps = names["inputs"], names["by_steps"]
    powers = {}
    for name, attend in (("by steps", by_steps), ("fused", F.scaled_dot_product_attention)):
        given = map(inputs, names["lengths"])
        times = [cost.seconds(lambda x=x, attend=attend: attend(*x)) for x in given]
        powers[name] = cost.growth(names["lengths"], times)
    ratios = {L: names["attention_over_projections"](L) for L in (32, 64, 128, 512)}
    heads = [cost.seconds(lambda x=x: by_steps(*x)) for x in names["shared"]]
    tell("powers", {name: round(power, 2) for name, power in powers.items()})
    tell("attention's time in units of the projections'", {L: round(ratio, 2) for L, ratio in ratios.items()})
    tell("heads 1, 2, 4, …, 32: times the time of one", [round(time / heads[0], 1) for time in heads])
    assert all(1.5 < power < 2.5 for power in powers.values())
    assert all(ratios[L] > L / 128 for L in ratios)
    assert heads[5] / heads[3] > heads[2] / heads[0] and heads[5] > 2 * heads[0]
