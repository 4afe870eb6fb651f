"""The foundation's bars: the engine, its memory, and gradients, on the embedded model and short reviews."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from record import Row, show, write
from timing import interleaved, seconds
from workload import Sizes

from veridical.core.values import Example
from veridical.data import load
from veridical.explainers import InputXGradient
from veridical.masking import Case, Engine
from veridical.models.new import start
from veridical.models.transformer import Transformer

BUDGETS = (768, 1024, 1536, 2048)


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    many = sizes.many_questions
    bars: list[tuple[str, Callable[[Sizes], tuple[float, str]], float]] = [
        ("engine time / bare forward time of the same inputs", engine_overhead, 1.10),
        (f"peak memory, {many // 100}x more questions / base", memory_growth, 1.20),
        (f"input x gradient / predicting, {max(sizes.documents):,} short texts", gradient_cost, 4.0),
    ]
    measured = ((name, *function(sizes), bar) for name, function, bar in bars)
    rows = show(Row(name, round(ratio, 3), detail, at_most=bar) for name, ratio, detail, bar in measured)
    if sizes.writes:
        write("foundation", rows)
    return all(row.holds for row in rows)


def engine_overhead(sizes: Sizes) -> tuple[float, str]:
    """Occlusion questions through the engine, against bare forwards of the very same inputs at the best batch size."""
    classifier = _classifier()
    examples = load(f"reviews:test[:{sizes.engine_texts}]").examples
    example, keep = _one_word_missing(Case.bind(classifier, examples))

    def through_engine() -> None:
        case = Case.bind(classifier, examples)
        case.ask(example, keep)

    case = Case.bind(classifier, examples)
    rows = case.eraser(classifier, case.batch.rows.select(example), keep)
    bare = {budget: _bare(classifier, rows, budget) for budget in BUDGETS}
    best = min(bare, key=lambda budget: seconds(bare[budget]))
    # Many rounds: what is to be told apart is a few percent, and a busy machine varies by more.
    ours, theirs = interleaved({"ours": through_engine, "bare": bare[best]}, 4 * sizes.rounds).values()
    return ours / theirs, f"{len(example)} inputs, {ours:.1f} s against {theirs:.1f} s (best batch: {best} tokens)"


def memory_growth(sizes: Sizes) -> tuple[float, str]:
    """Peak memory of a process that asks 100 times as many questions, over that of one that asks some."""
    many = sizes.many_questions
    small, large = (_peak_in_process(count) for count in (100, many))
    return large / small, f"100 questions {small:.0f} MB, {many:,} questions {large:.0f} MB"


def gradient_cost(sizes: Sizes) -> tuple[float, str]:
    """Explaining 1,000 short texts by input x gradient, over predicting them."""
    classifier = _classifier()
    examples = load(f"reviews:train[:{max(sizes.documents)}]").examples

    def predicting() -> None:
        Engine().predict(classifier, examples)

    def explaining() -> None:
        for start_at in range(0, len(examples), 250):
            InputXGradient().scores(Case.bind(classifier, examples[start_at : start_at + 250]))

    ours, theirs = interleaved({"explaining": explaining, "predicting": predicting}, sizes.rounds).values()
    return ours / theirs, f"{ours:.1f} s against {theirs:.1f} s"


def _classifier() -> Transformer:
    return start("embedded", load("reviews:test[:1]").examples, ["negative", "positive"])


def _one_word_missing(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    example, unit = torch.nonzero(case.live, as_tuple=True)
    keep = case.live[example]
    keep[torch.arange(len(unit)), unit] = False
    return example, keep


def _bare(classifier: Transformer, rows: object, budget: int) -> Callable[[], None]:
    """The model alone on ready-made batches of the given size, without any of our code in between."""
    batches = [rows.select(pack).inputs for pack in Engine(tokens=budget).packs(rows.lengths)]  # type: ignore[attr-defined]

    def forward() -> None:
        classifier.model.eval()
        with torch.no_grad():
            for inputs in batches:
                classifier.model(**inputs)

    return forward


def _peak_in_process(count: int) -> float:
    done = subprocess.run([sys.executable, __file__, str(count)], capture_output=True, text=True, check=True)
    return float(done.stdout.strip().splitlines()[-1])


def _ask_many(count: int) -> float:
    """Ask about random parts of one text of 20 words, and give this process's peak memory in megabytes."""
    classifier = _classifier()
    words = " ".join(load("reviews:test[:10]")[index].inputs["text"] for index in range(10))  # type: ignore[misc]
    case = Case.bind(classifier, [Example.of(" ".join(str(words).split()[:20]))])
    keep = torch.rand(count, case.live.shape[1], generator=torch.Generator().manual_seed(0)) < 0.5
    case.ask(torch.zeros(count, dtype=torch.long), keep)
    return peak_memory()


def peak_memory() -> float:
    """Megabytes. Not by `getrusage`, which counts the parent's memory at the time of the fork as the child's."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    print(_ask_many(int(sys.argv[1])))
