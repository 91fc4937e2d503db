"""AttentionPlane without a browser: what torch computes, what the page computes, what is drawn."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import mha_lib as mha
from mha_lib.widgets.attention_plane import AttentionPlane, Box

SCRIPT = Path(mha.__file__).parent / "widgets" / "static" / "attention_plane.js"
Q = torch.tensor([[1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
K = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
V = torch.tensor([[1.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
WORDS = ["small", "cats", "sleep"]


@pytest.fixture
def plane():
    return AttentionPlane(Q, K, V, WORDS)


def attribute(svg: str, css_class: str, name: str) -> list[float]:
    tags = re.findall(rf'<\w+ class="mha-plane-{css_class}"[^>]*>', svg)
    return [float(re.search(rf' {name}="([^"]+)"', tag)[1]) for tag in tags]


def test_it_shows_what_scaled_dot_product_attention_gives(plane):
    for query in ([2.0, 1.0], [0.0, 0.0], [-1.5, 0.25]):
        plane.query = query
        q, k, v = (part.double()[None] for part in (torch.tensor([query]), K, V))
        context = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0, 0]
        torch.testing.assert_close(torch.tensor(plane.attended.context).double(), context)
        scores = q[0] @ k[0].T
        assert plane.attended.scores == tuple(scores[0].tolist())
        torch.testing.assert_close(torch.tensor(plane.attended.scaled).double(), scores[0] / math.sqrt(2))


def test_the_page_computes_the_same(plane):
    """The script's numbers, for queries all over the plane, against torch's."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    queries = (torch.rand(50, 2, generator=torch.Generator().manual_seed(0)) * 6 - 3).double().tolist()
    asked = json.dumps([[query, plane.key_points, plane.value_points, plane.scale] for query in queries])
    code = f"""import {{ attend, place }} from {json.dumps(SCRIPT.as_uri())};
const now = {asked}.map((asked) => attend(...asked));
const drawn = now.map((n) => place({json.dumps(plane.triangle)}, n.context));
console.log(JSON.stringify({{ now, drawn }}));"""
    run = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True, timeout=60
    )
    said = json.loads(run.stdout)
    for query, now, drawn in zip(queries, said["now"], said["drawn"], strict=True):
        plane.query = query
        attended = plane.attended
        for name in ("scores", "scaled", "weights", "context"):
            assert now[name] == pytest.approx(getattr(attended, name), abs=1e-12)
        assert drawn == pytest.approx(Box(**plane.triangle).place(attended.context), abs=1e-9)


def test_the_still_picture_holds_what_is_said(plane):
    plane.query = [1.0, -2.0]
    html, now = plane.fallback(), plane.attended
    assert re.findall(r'<td class="mha-plane-bar">([-\d.]+)</td>', html) == [
        f"{number:.2f}" for row in zip(now.scores, now.scaled, now.weights, strict=True) for number in row
    ]
    x, y = Box(**plane.plane).place([1.0, -2.0])
    assert attribute(html, "query", "x2") == [pytest.approx(x, abs=0.06)]
    assert attribute(html, "query", "y2") == [pytest.approx(y, abs=0.06)]
    x, y = Box(**plane.triangle).place(now.context)
    assert attribute(html, "context", "cx") == [pytest.approx(x, abs=0.06)]
    assert attribute(html, "context", "cy") == [pytest.approx(y, abs=0.06)]
    widths = attribute(html, "share", "stroke-width")
    assert widths == [pytest.approx(1 + 7 * weight, abs=0.06) for weight in now.weights]
    assert plane.status in html and plane.status in repr(plane)


def test_the_arrows_end_at_the_keys_and_equal_keys_share_their_label(plane):
    ends = {Box(**plane.plane).place(key) for key in plane.key_points}
    xs, ys = (attribute(plane.fallback(), "key", name) for name in ("x2", "y2"))
    assert len(xs) == 2 and sorted(zip(xs, ys, strict=True)) == [pytest.approx(end) for end in sorted(ends)]
    assert ">small, sleep</text>" in plane.fallback()


def test_the_context_stays_inside_the_triangle_and_the_query_inside_the_picture(plane):
    plane.query = [3.0, 3.0]
    assert all(0 < weight < 1 for weight in plane.attended.weights)
    with pytest.raises(mha.InputValueError, match="from -3 to 3"):
        plane.query = [3.1, 0.0]
    with pytest.raises(mha.InputValueError, match="two numbers"):
        plane.query = [1.0]


def test_words_reach_the_page_as_text():
    html = AttentionPlane(Q, K, V, ["<b>", "a'b\"c&", "x"]).fallback()
    assert "<b>" not in html and "&lt;b&gt;" in html and "a'b\"c" not in html


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"queries": Q[:2]}, "queries.*\\(2, 2\\)"),
        ({"keys": torch.eye(3)}, "keys.*\\(3, 3\\)"),
        ({"values": V[None]}, "values.*\\(1, 3, 2\\)"),
        ({"words": ["a"]}, "words.*1"),
    ],
)
def test_other_shapes_are_refused(change, said):
    given = {"queries": Q, "keys": K, "values": V, "words": WORDS} | change
    with pytest.raises(mha.InputValueError, match=said):
        AttentionPlane(**given)


def test_a_query_comes_back_from_the_page(plane):
    plane.set_state({"query": [0.5, 0.5]})
    assert plane.query == [0.5, 0.5] and plane.attended.scores == (0.5, 1.0, 0.5)


def test_nothing_given_is_changed():
    before = [part.clone() for part in (Q, K, V)]
    AttentionPlane(Q, K, V, WORDS).query = [0.0, 0.0]
    assert all(torch.equal(a, b) for a, b in zip(before, (Q, K, V), strict=True))
