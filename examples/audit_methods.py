"""Can the reasons be trusted? Judge three methods on a tiny model, and let a release depend on the result."""

from veridical import Classifier, audit, gate, load_data, train

train("planted", "runs/planted", model="tiny")
classifier = Classifier.load("runs/planted")

# A second run finds what is measured in the folder and only writes the card again.
found = audit(
    classifier,
    load_data("planted:test[:30]"),
    methods="attention, gradient, occlusion",
    metrics="comprehensiveness, sufficiency, decision-flip, reasons-on-top",
    out="audits/planted",
    timed=3,
)
print(*found.summary.verdict, sep="\n")

# One number per document: whatever else you want to know can be computed from them.
flips = found.values("decision-flip", "occlusion")
print(f"\nocclusion flips {(flips <= 0.1).mean():.0%} of the decisions with a tenth of the words")

for check in gate(found, {"occlusion:comprehensiveness": 0.5, "reasons-on-top": 50}):
    print(check.words)
print("the card: audits/planted/card.html")
