"""Makes a picture of the tutorial from a figure of a run, in 128 colours: `python picture.py FIGURE.png OUT.png`."""

import sys

from PIL import Image


def main(figure: str, picture: str, width: str = "1200") -> None:
    """Scale the figure down to `width` pixels and write it."""
    whole = Image.open(figure).convert("RGB")
    size = int(width), whole.height * int(width) // whole.width
    small = whole.resize(size, Image.Resampling.LANCZOS).quantize(128, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
