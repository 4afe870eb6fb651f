"""The figures of the documentation, drawn from the recorded results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import LogFormatter
from record import RESULTS

FIGURES = Path(__file__).parent.parent / "docs" / "explanation" / "figures"
# Okabe and Ito's colours, which can be told apart without seeing all of them; markers and dashes help in print.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8860B")
_OTHERS = 7  # the look of lines that have none of their own
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h")
DASHES = ("-", "--", "-.", ":", "--", "-.", ":", "-", "-")
SHOWN = (
    "veridical kernel-shap",
    "veridical kernel-shap (preset=l2e)",
    "captum KernelShap",
    "shap KernelExplainer",
    "shap PermutationExplainer",
    "shapiq KernelSHAP (paired)",
    "shapiq SVARM",
    "shapiq kADDSHAP",
    "veridical student, refined",
)
"""More lines cannot be told apart; the others are in the results."""


def draw() -> None:
    """Draw what there are results for."""
    for part, figure in (("accuracy", _accuracy), ("scaling", _scaling), ("distilled", _distilled)):
        path = RESULTS / f"{part}.json"
        if path.exists():
            figure(json.loads(path.read_text()))


def _accuracy(found: dict[str, Any]) -> None:
    figure, panels = _panels()
    titles = {"logit": "exact values", "long": "50,000-query reference"}
    for axes, (kind, title) in zip(panels, titles.items(), strict=True):
        curves = found["curves"][kind]
        named = [name for name in curves if name in SHOWN or kind == "long"]
        for name in named:
            points = curves[name]
            queries = [point["queries"] for point in points]
            axes.plot(queries, [point["error"] for point in points], label=name, **_style(name, SHOWN))
        words = sorted({game["words"] for game in found["games"][kind]})
        _finish(axes, f"{_range(words)} words, {title}", "model queries per text", "mean error / mean |value|")
    _save(figure, "accuracy-per-query")


def _scaling(found: dict[str, Any]) -> None:
    figure, panels = _panels()
    for axes, size in zip(panels, ("words", "documents"), strict=True):
        methods = list(dict.fromkeys(point["method"] for point in found[size]))
        for method in methods:
            points = [point for point in found[size] if point["method"] == method]
            settings = {point["settings"] for point in points}
            label = settings.pop() if len(settings) == 1 else f"{method}(samples=100 and up)"
            taken = [point["seconds per document"] for point in points]
            label = label.replace(", tolerance=0.0", "")
            axes.plot([point[size] for point in points], taken, label=label, **_style(method, methods))
        titles = {"words": "longer documents", "documents": "more documents of 5 to 11 words"}
        _finish(axes, titles[size], f"{size}{' of a document' if size == 'words' else ''}", "seconds per document")
    threads = found["machine"]["threads"]
    figure.suptitle(f"MiniLM (6 layers, 23M weights), {threads} CPU threads, fp32", fontsize=9)
    _save(figure, "scaling")


def _distilled(found: dict[str, Any]) -> None:
    """How long one text takes, on a logarithmic scale: beside MiniLM with the prediction, beside BERT without it."""
    figure, panels = _panels()
    for axes, model in zip(panels, ("MiniLM", "BERT-base"), strict=True):
        times = [time for time in found["times"] if time["model"] == model]
        methods = list(dict.fromkeys(time["method"] for time in times))
        for batch, colour, shift in ((1, COLOURS[1], 0.2), (64, COLOURS[2], -0.2)):
            some = [time for time in times if time["batch"] == batch]
            places = [methods.index(time["method"]) + shift for time in some]
            values = [time["milliseconds"] for time in some]
            axes.barh(places, values, 0.36, color=colour, label=f"batch {batch}")
            for place, value in zip(places, values, strict=True):
                told = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
                axes.text(value * 1.1, place, told, va="center", fontsize=7)
        axes.set_yticks(range(len(methods)), [name.replace(", background=reviews:train", "") for name in methods])
        axes.invert_yaxis()
        most = max(time["milliseconds"] for time in times)
        axes.set(xscale="log", title=f"{model}, {times[0]['kind']}", xlabel="milliseconds per text")
        axes.set_xlim(1, most * 4)
        axes.legend(fontsize=8, frameon=False)
    figure.suptitle(f"{found['machine']['threads']} CPU threads, fp32; texts of 12 to 60 words", fontsize=9)
    _save(figure, "distilled-times")


def _panels() -> tuple[Any, Any]:
    matplotlib.use("svg")
    # Without a salt and with a date each drawing would differ from the last.
    matplotlib.rcParams.update({"svg.hashsalt": "veridical", "font.size": 9, "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False})
    return pyplot.subplots(1, 2, figsize=(11, 4.8), layout="constrained")


def _style(name: str, among: Any) -> dict[str, Any]:
    at = list(among).index(name) if name in among else _OTHERS
    first = at == 0
    return {
        "color": COLOURS[at % len(COLOURS)],
        "marker": MARKERS[at % len(MARKERS)],
        "linestyle": DASHES[at % len(DASHES)],
        "linewidth": 2.2 if first else 1.4,
        "markersize": 5,
    }


class _Plain(LogFormatter):
    """0.01 rather than a power of ten; on a short axis also numbers between the powers."""

    def __call__(self, value: float, position: int | None = None) -> str:
        return f"{value:g}" if super().__call__(value, position) else ""


def _finish(axes: Any, title: str, across: str, up: str) -> None:
    axes.set(xscale="log", yscale="log", title=title, xlabel=across, ylabel=up)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_formatter(lambda value, _position: f"{value:g}")
    for set_formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        set_formatter(_Plain(minor_thresholds=(1.5, 0.5)))
    axes.legend(fontsize=8, frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))


def _range(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _save(figure: Any, name: str) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    print(f"drawn: docs/explanation/figures/{name}.svg", flush=True)
