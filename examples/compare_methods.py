"""Several methods on the same texts, side by side on one page, and how often each finds the planted reason."""

from veridical import Classifier, Explanation, explain, load_data, train
from veridical.report import write_page

METHODS = ["random", "attention", "gradient", "input-x-gradient", "integrated-gradients(steps=20)", "occlusion"]

train("planted", "runs/planted", model="tiny")
classifier = Classifier.load("runs/planted")
data = load_data("planted:test[50@0]")

collected: list[Explanation] = []
for method in METHODS:
    explanations = explain(classifier, data, method=method)
    hits = [
        explanation.top(1)[0][0].overlaps(example.evidence[0])
        for explanation, example in zip(explanations, data, strict=True)
    ]
    queries = explanations[0].measures["queries"]
    print(f"{method:32} finds the reason in {sum(hits) / len(hits):4.0%}, {queries:.0f} queries for a text")
    collected += explanations[:5]

print(write_page(collected, "methods.html", title="Six methods, five texts"), "explanations in methods.html")
