"""Our explainers against other libraries: same model, texts, number of model queries and precision, in one run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import peers.captum
import peers.ferret
import peers.interpreto
import peers.lime
import peers.shap
from peers import Unavailable, Variant
from precision import bf16_rows
from record import Row, show, write
from timing import Run, interleaved, seconds
from workload import Sizes, Workload, counting, workload

from veridical.explainers import EXPLAINERS
from veridical.masking import Case

LOOPED = peers.captum.LOOPED
AT_LEAST = {"default": 2.0, "tuned": 1.0, "looped": 1.5, "looped, equal steps": 1.0}
"""How many times our seconds a peer takes: as its users get it, at its best, and looped over many documents."""

VARIANTS = [
    *peers.captum.VARIANTS,
    *peers.lime.VARIANTS,
    *peers.shap.VARIANTS,
    *peers.interpreto.VARIANTS,
    *peers.ferret.VARIANTS,
]
METHODS = {
    "lime": "lime(samples={samples})",
    "kernel-shap": "kernel-shap(samples={samples}, tolerance=0.0)",
    "occlusion": "occlusion",
    "integrated-gradients": "integrated-gradients(steps={steps})",
}
_SLACK = 0.03
"""Where a peer's number of inputs differs by more than this, ours is measured again with the peer's number."""


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    warnings.simplefilter("ignore")  # of the peers, about their own insides
    peers.ferret.environment = sizes.ferret
    rows = show(row for row in _rows(sizes) if sizes.only in row.name)
    if sizes.writes:
        write("explainers", rows, beside=bool(sizes.only))
    return all(row.holds for row in rows)


def _rows(sizes: Sizes) -> Iterator[Row]:
    for method in METHODS:
        chosen = [variant for variant in VARIANTS if variant.rival == method and sizes.only in variant.title]
        if chosen:
            texts = sizes.occlusion_texts if method == "occlusion" else sizes.texts
            yield from compare(method, chosen, workload(sizes, texts), sizes.rounds)
    if sizes.only in LOOPED.title:
        yield from looped(workload(sizes, sizes.many_documents))
    if sizes.only in "bf16":
        yield from bf16_rows(workload(sizes, sizes.bf16_texts))


@dataclass(frozen=True)
class Entry:
    """One contestant, warmed up: how it runs, and how many inputs its model was really given."""

    run: Run
    inputs: int
    options: str = ""


def compare(method: str, variants: list[Variant], work: Workload, rounds: int) -> Iterator[Row]:
    """Ours and all variants in turns; one row for each variant, with the real number of model inputs of both."""
    ours = _ours(method, work, work.samples)
    runs, rivals, missing = {"ours": ours}, {}, {}
    for variant in variants:
        try:
            entry = _entry(variant, work)
        except Exception as error:  # a peer that fails is a row, not the end of the run
            missing[variant.title] = _reason(error)
            continue
        runs[variant.title] = entry
        rivals[variant.title] = _matching(method, work, ours, entry, runs)
    best = interleaved({name: entry.run for name, entry in runs.items()}, rounds)
    for variant in variants:
        title = variant.title
        least = AT_LEAST["tuned" if variant.tuned else "default"]
        if title in missing:
            yield Row(title, None, f"not measured: {missing[title]}", at_least=least)
        else:
            rival = rivals[title]
            yield _row(title, least, (best[title], runs[title]), (best[rival], runs[rival]), len(work.texts))


def looped(work: Workload) -> Iterator[Row]:
    """Many documents: with the same number of steps, and with as many as our default takes for a residual of 1%.

    Too long a run to be repeated, so it is counted as it runs.
    """
    few = work.first(4)
    _ours(LOOPED.rival, few, few.samples)
    seconds(LOOPED.make(few))
    names = {"looped, equal steps": METHODS[LOOPED.rival].format(steps=work.steps), "looped": LOOPED.rival}
    runs: dict[str, Run] = {name: _runner(settings, work) for name, settings in names.items()}
    runs["theirs"] = LOOPED.make(work)
    taken, inputs = {}, {}
    for name, run in runs.items():
        with counting(work.model if name == "theirs" else work.classifier.model) as rows:
            taken[name] = seconds(run)
        inputs[name] = sum(rows)
    theirs = (taken["theirs"], Entry(runs["theirs"], inputs["theirs"]))
    for kind, settings in names.items():
        ours = (taken[kind], Entry(runs[kind], inputs[kind], settings))
        title = f"{LOOPED.title}, {len(work.texts)} documents, ours {settings}"
        yield _row(title, AT_LEAST[kind], theirs, ours, len(work.texts))


def _row(title: str, least: float, theirs: tuple[float, Entry], ours: tuple[float, Entry], texts: int) -> Row:
    (their_time, their_entry), (our_time, our_entry) = theirs, ours
    per_input = (their_time / their_entry.inputs) / (our_time / our_entry.inputs)
    facts = {
        "texts": texts,
        "seconds": round(their_time, 3),
        "our seconds": round(our_time, 3),
        "inputs": their_entry.inputs,
        "our inputs": our_entry.inputs,
        "ratio per input": round(per_input, 3),
        "options": their_entry.options,
        "our options": our_entry.options,
    }
    detail = f"{their_time:.2f} s, {their_entry.inputs} inputs; ours {our_time:.2f} s, {our_entry.inputs}"
    if their_entry.options:
        detail += f" ({their_entry.options})"
    return Row(title, round(their_time / our_time, 3), detail, at_least=least, facts=facts)


def _ours(method: str, work: Workload, samples: int) -> Entry:
    name = METHODS[method].format(samples=samples, steps=work.steps)
    run = _runner(name, work)
    with counting(work.classifier.model) as rows:
        run()
    return Entry(run, sum(rows), name)


def _runner(name: str, work: Workload) -> Run:
    explainer = EXPLAINERS.create(name)
    return lambda: explainer.scores(Case.bind(work.classifier, work.examples))


def _entry(variant: Variant, work: Workload) -> Entry:
    """A variant ready to be timed. Counting its inputs also warms it up: some compile code at the first call."""
    options = variant.options[0]
    if len(variant.options) > 1:
        pilot = work.first(2)
        trials = {str(each): variant.make(pilot, **each) for each in variant.options}
        best = interleaved(trials, rounds=2)
        options = min(variant.options, key=lambda each: best[str(each)])
    run = variant.make(work, **options)
    with counting(work.model) as rows:
        run()
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    return Entry(run, getattr(run, "inputs", None) or sum(rows), shown)


def _matching(method: str, work: Workload, ours: Entry, theirs: Entry, runs: dict[str, Entry]) -> str:
    """The name of our run with as many inputs as theirs, made if there is none yet."""
    if "samples" not in METHODS[method] or abs(theirs.inputs / ours.inputs - 1) <= _SLACK:
        return "ours"
    samples = round(work.samples * theirs.inputs / ours.inputs)
    name = f"ours, {samples} samples"
    if name not in runs:
        runs[name] = _ours(method, work, samples)
    return name


def _reason(error: Exception) -> str:
    known = isinstance(error, Unavailable)
    text = (str(error).strip().splitlines() or [""])[0]
    return text if known else f"{type(error).__name__}: {text}"[:200]
