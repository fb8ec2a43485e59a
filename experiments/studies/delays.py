"""Heat maps of delays: per packet of a victim, the time that it waited because of each culprit's packets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

_COLORS = "YlOrRd"
_LEAST_NS = 1.0


def draw_delays(
    figure: Figure, delays: Mapping[Axes, NDArray[np.float64]], label: str, ends: bool = False, **bar: Any
) -> None:
    """Draw the means over placements with numbers in all cells and a common scale.

    `delays` has, by panel, ns per packet, [victims, culprits, placements]; NaN for a victim without packets. With
    `ends`, the lowest and the highest placement are below the mean.
    """
    highest = max(float(np.nanmax(values.mean(axis=2), initial=0)) for values in delays.values())
    scale = LogNorm(_LEAST_NS, max(highest, 10 * _LEAST_NS), clip=True)
    for ax, own in delays.items():
        values = own.mean(axis=2)
        ax.imshow(values, cmap=_COLORS, norm=scale, aspect="auto")
        ax.grid(False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        both = ends and own.shape[2] > 1
        for y, x in np.argwhere(np.isfinite(values)):
            color = "white" if float(scale(max(values[y, x], _LEAST_NS))) > 0.6 else "#222222"
            look: dict[str, Any] = {"ha": "center", "va": "center", "color": color}
            ax.text(x, y - 0.15 * both, _text(values[y, x]), fontsize=8, **look)
            if both:
                ax.text(x, y + 0.25, f"{_text(own[y, x].min())} to {_text(own[y, x].max())}", fontsize=6, **look)
    figure.colorbar(ScalarMappable(scale, _COLORS), ax=list(delays), label=label, **bar)


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"
