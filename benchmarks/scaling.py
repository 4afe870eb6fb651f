"""How our time grows: seconds per document against the words of a document, and against the number of documents."""

from __future__ import annotations

from collections.abc import Iterator

from record import write
from timing import seconds
from workload import Sizes, reviews, trained

from veridical.core.values import Example
from veridical.data import load
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.models import Classifier

BY_WORDS = {
    "input-x-gradient": "input-x-gradient",
    "integrated-gradients": "integrated-gradients(steps=20)",
    "occlusion": "occlusion",
    "lime": "lime(samples={samples})",
    "kernel-shap": "kernel-shap(samples={samples}, tolerance=0.0)",
}
BY_DOCUMENTS = {
    "input-x-gradient": "input-x-gradient",
    "integrated-gradients": "integrated-gradients(steps=5)",
    "occlusion": "occlusion",
    "lime": "lime(samples=24)",
}
"""Smaller budgets than anyone would use: what is shown is the growth, and a thousand documents are many."""

_AT_ONCE = 250
"""Documents that share a case, as `explain` has them."""


def measure(sizes: Sizes) -> bool:
    """Both series, printed and recorded; there is no bar to hold."""
    classifier = Classifier.load(str(trained(sizes.train_on)))
    _explain(classifier, BY_DOCUMENTS["input-x-gradient"], reviews(4))  # the first run of a model is slower
    series = {"words": list(_by_words(classifier, sizes)), "documents": list(_by_documents(classifier, sizes))}
    if sizes.writes:
        write("scaling", [], **series)
    return True


def _by_words(classifier: Classifier, sizes: Sizes) -> Iterator[dict[str, object]]:
    for words in sizes.words:
        documents = made_of(classifier, words, 1 if words >= 100 else 4)
        for method, settings in BY_WORDS.items():
            # A linear model needs more answers than words, so the budget grows with them.
            name = settings.format(samples=max(100, 2 * words + 2))
            yield _told(classifier, method, name, documents, words)


def _by_documents(classifier: Classifier, sizes: Sizes) -> Iterator[dict[str, object]]:
    short = [*reviews(10_000, 5, 11), *_more(5, 11)]
    for count in sizes.documents:
        for method, name in BY_DOCUMENTS.items():
            yield _told(classifier, method, name, short[:count], words=None)


def _told(
    classifier: Classifier, method: str, name: str, documents: list[Example], words: int | None
) -> dict[str, object]:
    taken = seconds(lambda: _explain(classifier, name, documents)) / len(documents)
    size = {"documents": len(documents)} if words is None else {"words": words}
    told = ", ".join(f"{value} {unit}" for unit, value in size.items())
    print(f"  {told:16}{name:52}{taken:10.4f} s per document", flush=True)
    return {"method": method, "settings": name, **size, "seconds per document": round(taken, 6)}


def _explain(classifier: Classifier, name: str, documents: list[Example]) -> None:
    explainer = EXPLAINERS.create(name)
    for at in range(0, len(documents), _AT_ONCE):
        explainer.scores(Case.bind(classifier, documents[at : at + _AT_ONCE]))


def made_of(classifier: Classifier, words: int, count: int) -> list[Example]:
    """Documents of just so many words of one piece each, so that the longest still fits into the model."""
    text = " ".join(str(example.inputs["text"]) for example in load("imdb:test[:60]").examples)
    vocabulary = classifier.tokenizer.get_vocab()  # type: ignore[attr-defined]
    whole = [word for word in text.lower().split() if word.isalpha() and word in vocabulary]
    return [Example.of(" ".join(whole[at * words : (at + 1) * words])) for at in range(count)]


def _more(fewest: int, most: int) -> list[Example]:
    """Training reviews of these lengths: the test split has too few for a thousand documents."""
    found = load("reviews:train").examples
    return [one for one in found if fewest <= len(str(one.inputs["text"]).split()) <= most]
