"""Draw README's moving picture from the real widget: the split of the (2, 4, 10) example.

    python tools/gif.py            writes notebooks/images/tensor_moves.gif

The slider is set from place to place and photographed there, so no frame depends on the
machine's speed. Needs playwright with a Chromium on the machine, and pillow, which comes
with matplotlib.
"""

import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from PIL import Image

import mha_lib as mha
from mha_lib.moves.recording import Recording

TARGET = Path(__file__).parents[1] / "notebooks" / "images" / "tensor_moves.gif"
WIDTH, HEIGHT = 1040, 640  # of the page
FRAMES = 16  # of a move
MOVING, RESTING, LAST = 70, 1600, 3000  # milliseconds that a frame stays
COLOURS = 96
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
SCRUB = """at => {
  const slider = document.querySelector(".mha-range");
  slider.value = at;
  slider.dispatchEvent(new Event("input"));
}"""


def split_of_the_example() -> Recording:
    """Return the recording that the picture shows."""
    return mha.watch(
        lambda X: X.reshape(2, 4, 2, 5).permute(0, 2, 1, 3).reshape(4, 4, 5),
        torch.arange(80.0).reshape(2, 4, 10),
        words=mha.example().words,
    )


def places(last: int) -> Iterator[tuple[float, int]]:
    """Yield where the slider stands, and for how long."""
    for step in range(last):
        yield step, RESTING
        for frame in range(1, FRAMES):
            yield step + frame / FRAMES, MOVING
    yield last, LAST


def photographs(recording: Recording, shown: list[float]) -> list[Image.Image]:
    """Return the widget at each place of the slider."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = mha.widgets.TensorMoves(recording).save_html(Path(folder) / "moves.html")
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=list(FLAGS)
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(path.as_uri())
        widget = page.locator(".mha-moves")
        widget.locator(".mha-cell").first.wait_for()
        pictures = []
        for at in shown:
            page.evaluate(SCRUB, at)
            pictures.append(Image.open(io.BytesIO(widget.screenshot())).convert("RGB"))
        browser.close()
    return pictures


def montage(pictures: list[Image.Image]) -> Image.Image:
    """Return the pictures below each other, so that one palette has the colours of all."""
    width, height = pictures[0].size
    whole = Image.new("RGB", (width, height * len(pictures)))
    for place, picture in enumerate(pictures):
        whole.paste(picture, (0, height * place))
    return whole


def main() -> None:
    """Draw the picture and say how large it is."""
    recording = split_of_the_example()
    shown, durations = zip(*places(len(recording.frames) - 1), strict=True)
    pictures = photographs(recording, list(shown))
    palette = montage([pictures[0], pictures[len(pictures) // 2], pictures[-1]]).quantize(COLOURS)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    frames[0].save(
        TARGET, save_all=True, append_images=frames[1:], duration=list(durations), loop=0, optimize=True
    )
    print(f"{TARGET.name}: {len(frames)} frames, {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
