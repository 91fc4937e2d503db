"""What notebook 10 says of MiniLM's heads, with its own sentences and with others."""

import pytest
from lesson import lesson, tell

from mha_lib.labs import minilm

pytestmark = pytest.mark.skipif(bool(minilm.missing()), reason="needs the model")

MORE_PAIRS = [
    ("A hot soup and a cold drink in the garden.", "hot", "cold", "garden"),
    ("The king met the queen in the garden.", "king", "queen", "garden"),
    ("The baby saw the infant near the table.", "baby", "infant", "table"),
    ("A quick answer and a fast reply in the morning.", "quick", "fast", "morning"),
    ("The boat passed the ship near the garden.", "boat", "ship", "garden"),
    ("He bought bread and paid money at the corner.", "bought", "paid", "corner"),
    ("The rock hit the stone near the table.", "rock", "stone", "table"),
    ("The shop and the store at the corner.", "shop", "store", "corner"),
    ("She began early and we started late in the garden.", "began", "started", "garden"),
    ("The end of the finish in the morning.", "end", "finish", "morning"),
    ("A lawyer met an attorney at the corner.", "lawyer", "attorney", "corner"),
    ("The gift was a present in the morning.", "gift", "present", "morning"),
    ("The movie is a film about the garden.", "movie", "film", "garden"),
    ("The sofa and the couch by the window.", "sofa", "couch", "window"),
    ("The error was a mistake in the letter.", "error", "mistake", "letter"),
]


def test_related_words_opposites_too_and_not_all():
    names = lesson("10")
    ratios = {}
    for cases in (names["synonyms"], names["controls"], {" – ".join(case[1:3]): case for case in MORE_PAIRS}):
        for pair, case in cases.items():
            alike, other, _ = names["pair_weights"](*case)
            ratios[pair] = alike / other
    tell("weight of the pair in units of the third word's", {pair: round(r, 1) for pair, r in ratios.items()})
    assert all(ratios[pair] > 10 for pair in [*names["synonyms"], "big – small", "sad – happy", "car – road"])
    assert all(ratios[pair] < 10 for pair in ("pupil – student", "bank – shore"))


def test_rest_is_on_cls_and_carries_little():
    names = lesson("10")
    for sentence in (names["sentence"], *names["others"], names["long"]):
        read = names["model"].read(sentence)
        on_cls = minilm.relations(read.words[0])["[CLS]"]
        resting = minilm.relation_score(read.weights[:, 0], on_cls) > 0.3
        carried = read.weights * read.value_lengths[..., None, :]
        home = minilm.relation_score((carried / carried.sum(-1, keepdim=True))[:, 0], on_cls)[resting]
        tell(
            f"{len(read.words[0])} pieces: over 0.3 on [CLS] in",
            int(resting.sum()),
            "of 72 heads;",
            "over 0.3 of what these take home:",
            int((home > 0.3).sum()),
        )
        assert resting.sum() > 30 and (home > 0.3).sum() <= 4


def test_silencing_the_clearest_head_has_no_steady_direction():
    names = lesson("10")
    for pair, change in names["changed"].items():
        order = change.abs().argsort(descending=True).tolist()
        tell(
            f"{pair}: 1 C changes what is missing by {change[2]:+.0%}, rank {order.index(2) + 1} of 72;",
            f"the largest is {change[order[0]]:+.0%} by {order[0] // 12 + 1} {'ABCDEFGHIJKL'[order[0] % 12]}",
        )
        assert order[0] != 2 and change[2].abs() < 0.3
    signs = {change[2].item() > 0 for change in names["changed"].values()}
    assert signs == {True, False}
