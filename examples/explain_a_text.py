"""Train a tiny classifier on made texts, then ask why it answers as it does."""

from veridical import Classifier, explain, predict, train

# A few seconds. A second run finds the finished model in the folder.
trained = train("planted", "runs/planted", model="tiny")
print(f"accuracy on test: {trained.test['accuracy']:.0%}")

classifier = Classifier.load("runs/planted")
texts = ["it was a beautiful day", "then came an awful night"]

for text, prediction in zip(texts, predict(classifier, texts), strict=True):
    label = prediction.labels[0]
    print(f"{label:9} {prediction.probabilities[label]:.1%}  {text}")

for explanation in explain(classifier, texts, method="integrated-gradients"):
    words = ", ".join(f"{unit.text} {score:+.2f}" for unit, score in explanation.top(3))
    print(f"{explanation.target}, because of: {words}")
