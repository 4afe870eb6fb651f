"""Explain a scikit-learn pipeline, or anything else that turns texts into probabilities."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from veridical import Classifier, explain, explain_to_file, load_data

data = load_data("planted:train")
pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
pipeline.fit([example.inputs["text"] for example in data], [example.label for example in data])

classifier = Classifier.load(pipeline)
print("classes:", ", ".join(classifier.labels))

# Deleting suits a bag of words, which would take a mask token for one more word.
method = "occlusion(eraser=delete)"
explanation = explain(classifier, ["an awful way to end the day"], method=method)[0]
print(explanation.target, [(unit.text, round(score, 2)) for unit, score in explanation.top(2)])

done = explain_to_file(classifier, load_data("planted:test[:50]"), method, "pipeline.parquet")
print(f"{done.written} explanations in pipeline.parquet ({done.resumed} were there already)")
