"""What HeadExplorer costs: `make bench`, or `python tests/bench/bench_heads.py`.

Weights of 12 layers × 12 heads × 64 words, as Python objects ready to be shown: the time to
make them, in turn within one run, and the bytes that reach the page. BertViz's head view
beside it, where it is installed.
"""

import json
import re
import statistics
import tempfile
import time
from pathlib import Path

import torch

from mha_lib.widgets import HeadExplorer

LAYERS, HEADS, WORDS = 12, 12, 64
MOST_SECONDS, MOST_BYTES = 0.060, 1_300_000


def weights() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(LAYERS, 1, HEADS, WORDS, WORDS, generator=generator).mul(2).softmax(-1)


def ours(attention: torch.Tensor, words: list[str]) -> tuple[int, str]:
    """Return the bytes that HeadExplorer sends, script and static picture included, and its page."""
    explorer = HeadExplorer(attention, words)
    bundle, _ = explorer._repr_mimebundle_()
    state = explorer.get_state().values()
    plain = [v if isinstance(v, bytes) else json.dumps(v, ensure_ascii=False).encode() for v in state]
    return sum(map(len, plain)) + len(bundle["text/html"].encode()), bundle["text/html"]


def theirs(attention: torch.Tensor, words: list[str]) -> tuple[int, str]:
    """Return the bytes of BertViz's head view, and the HTML that it shows."""
    from bertviz import head_view

    html = head_view(list(attention), words, html_action="return").data
    return len(html.encode()), html


def main() -> None:
    calls = {"HeadExplorer": ours}
    try:
        import bertviz  # noqa: F401

        calls["BertViz head_view"] = theirs
    except ImportError as error:
        print(f"BertViz is not measured: {error}. It is in the extra `bench`.")
    attention, words = weights(), [f"word{i}" for i in range(WORDS)]
    times: dict[str, list[float]] = {name: [] for name in calls}
    sizes, remote = {}, {}
    for call in calls.values():
        call(attention, words)
    for _ in range(7):
        for name, call in calls.items():
            start = time.process_time()
            sizes[name], html = call(attention, words)
            times[name].append(time.process_time() - start)
            remote[name] = len(re.findall(r"""https?://[^"']+\.js|cdn|requirejs""", html))
    print(f"{LAYERS} layers × {HEADS} heads × {WORDS} words")
    for name in calls:
        milliseconds = statistics.median(times[name]) * 1000
        network = "needs the network" if remote[name] else "no network"
        print(f"{name:20} {milliseconds:7.1f} ms {sizes[name] / 1e6:7.2f} MB   {network}")
    with tempfile.TemporaryDirectory() as folder:
        page = HeadExplorer(attention, words).save_html(Path(folder) / "heads.html").stat().st_size
    print(f"as a page from save_html: {page / 1e6:.2f} MB")
    assert page <= MOST_BYTES, "a larger page than it should be"
    assert statistics.median(times["HeadExplorer"]) <= MOST_SECONDS, "slower than it should be"
    assert sizes["HeadExplorer"] <= MOST_BYTES, "larger than it should be"


if __name__ == "__main__":
    main()
