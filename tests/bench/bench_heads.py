"""What HeadExplorer costs: `make bench`, or `python tests/bench/bench_heads.py`.

From ten thousand weights to forty million, as tensors ready to be shown: the time until the first
picture can leave for the page, and the bytes that it takes; then another block, and a saved page.
BertViz's head view and CircuitsVis' heads beside it, where they are installed (the extra `bench`),
up to the size that they bear.
"""

import json
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from mha_lib.widgets import HeadExplorer

# blocks, heads, words; most seconds and most bytes of the first picture, where a limit is set.
SIZES = ((2, 2, 50), (6, 12, 37), (12, 12, 64), (12, 12, 166), (12, 12, 512))
LIMITS = {(12, 12, 64): (0.060, 1_230_000), (12, 12, 512): (0.300, 4_000_000)}
BLOCK_SECONDS, PAGE_BYTES = 0.150, 30_000_000
MOST_OF_OTHERS = 5_000_000  # weights: beyond that the others take minutes, or the memory
Shown = tuple[int, str]


def weights(blocks: int, heads: int, words: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(blocks, 1, heads, words, words, generator=generator).mul(2).softmax(-1)


def sent(explorer: HeadExplorer) -> int:
    """Return the bytes of the widget's state, its script included."""
    state = explorer.get_state().values()
    return sum(len(v) if isinstance(v, bytes) else len(json.dumps(v, default=len)) for v in state)


def ours(attention: torch.Tensor, words: list[str]) -> Shown:
    """Return the bytes of the overview and of one head, with the static picture, and its page."""
    explorer = HeadExplorer(attention, words)
    bundle, _ = explorer._repr_mimebundle_()
    extra = 0 if explorer.held else len(ask(explorer, [0])["maps"])
    return sent(explorer) + len(bundle["text/html"].encode()) + extra, bundle["text/html"]


def ask(explorer: HeadExplorer, heads: list[int]) -> dict:
    """Ask as the page does: for maps of 122 pixels, and the line of a word."""
    shown = {"most": 122, "index": 0, "side": "query", "measure": "weights"}
    explorer.ask = {"id": explorer.ask.get("id", 0) + 1, "heads": heads, **shown}
    return explorer.answer


def bertviz(attention: torch.Tensor, words: list[str]) -> Shown:
    """Return the bytes of BertViz's head view, and the HTML that it shows."""
    from bertviz import head_view

    html = head_view(list(attention), words, html_action="return").data
    return len(html.encode()), html


def circuitsvis(attention: torch.Tensor, words: list[str]) -> Shown:
    """Return the bytes of CircuitsVis' heads, and the HTML that it shows."""
    from circuitsvis.attention import attention_heads

    html = str(attention_heads(attention[:, 0].flatten(0, 1), words))
    return len(html.encode()), html


def installed() -> dict[str, Callable[[torch.Tensor, list[str]], Shown]]:
    """Return ours and those of the others that are there."""
    calls = {"HeadExplorer": ours}
    for name, call in (("BertViz", bertviz), ("CircuitsVis", circuitsvis)):
        try:
            __import__(name.lower())
            calls[name] = call
        except ImportError as error:
            print(f"{name} is not measured: {error}. It is in the extra `bench`.")
    return calls


def measured(call: Callable[[torch.Tensor, list[str]], Shown], size: tuple[int, int, int]) -> str:
    """Return one line of the table, and hold ours against the limits."""
    attention, words = weights(*size), [f"word{i}" for i in range(size[2])]
    if call is not ours and attention.numel() > MOST_OF_OTHERS:
        return "      not tried"
    times = []
    for _ in range(5 if call is ours else 2):
        start = time.process_time()
        count, html = call(attention, words)
        times.append(time.process_time() - start)
    seconds = statistics.median(times)
    if call is ours and size in LIMITS:
        most_seconds, most_bytes = LIMITS[size]
        assert seconds <= most_seconds, f"slower than it should be: {seconds:.3f} s for {size}"
        assert count <= most_bytes, f"larger than it should be: {count} bytes for {size}"
    network = " (network)" if re.search(r"https?://[^\"']+\.js|cdn|requirejs", html) else ""
    return f"{seconds * 1000:8.0f} ms {count / 1e6:7.2f} MB{network}"


SWITCH = """block => new Promise(done => {
  const menu = [...document.querySelectorAll('.mha-heads-controls label')]
    .find(label => label.textContent.startsWith('Block')).querySelector('select');
  const start = performance.now();
  menu.value = String(block);
  menu.dispatchEvent(new Event('change'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
})"""


def seconds_in_the_page(path: Path) -> float | None:
    """Return how long a browser takes from the choice of a block to its picture; None without Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        page.goto(path.as_uri())
        page.locator(".mha-heads-thumb").first.click()
        page.locator(".mha-heads figure canvas").first.wait_for()
        page.evaluate(SWITCH, 1)
        return statistics.median(page.evaluate(SWITCH, block) for block in (2, 1, 2, 0, 1)) / 1000


def main() -> None:
    calls = installed()
    print("first picture".ljust(28) + "".join(name.ljust(32) for name in calls))
    for size in SIZES:
        blocks, heads, words = size
        count = f"{blocks * heads * words * words:,}"
        print(f"{blocks} × {heads} × {words}".ljust(15) + count.rjust(11), end="  ")
        print("".join(measured(call, size).ljust(32) for call in calls.values()))
    largest = SIZES[-1]
    explorer = HeadExplorer(weights(*largest))
    times = []
    for block in range(1, 6):
        start = time.process_time()
        ask(explorer, list(range(block * largest[1], (block + 1) * largest[1])))
        times.append(time.process_time() - start)
    print(f"another block of the largest: {statistics.median(times) * 1000:.0f} ms")
    assert statistics.median(times) <= BLOCK_SECONDS, "another block is slower than it should be"
    with tempfile.TemporaryDirectory() as folder:
        saved = explorer.save_html(Path(folder) / "heads.html")
        page = saved.stat().st_size
        drawn = seconds_in_the_page(saved)
    if drawn is not None:
        print(f"from its choice to its picture, in the page: {drawn * 1000:.0f} ms of the clock")
        assert drawn + statistics.median(times) <= BLOCK_SECONDS, "another block is slower than it should be"
    print(f"the largest as a page from save_html: {page / 1e6:.1f} MB; {explorer.page_traits()['trouble']}")
    assert page <= PAGE_BYTES, "a larger page than it should be"


if __name__ == "__main__":
    main()
