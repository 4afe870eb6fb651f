"""Train on a CSV file of your own and explain its test split into a file."""

import csv
from pathlib import Path

from veridical import Classifier, explain_to_file, load_data, read, train
from veridical.report import write_page

# Stands for your file: a column with the text, one with the label, in any order and by any name.
with Path("tickets.csv").open("w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["number", "message", "team"])
    for number in range(400):
        thing, team = (("invoice", "billing"), ("password", "login"))[number % 2]
        writer.writerow([f"T{number}", f"Hello, since day {number % 31} my {thing} is wrong. Please help!", team])

name = "tickets.csv(text=message, label=team, id=number)"
print(load_data(name))

trained = train(name, "runs/tickets", model="tiny")
print(f"accuracy on test: {trained.test['accuracy']:.0%}")

# The file has no split column, so the splits were drawn; the same name always gives the same ones.
test = load_data(f"{name}:test")
done = explain_to_file(Classifier.load("runs/tickets"), test, "occlusion", "tickets.parquet", data=test.name)
print(f"{done.written} explanations written, {done.resumed} were there already")

explanations = read("tickets.parquet")
print(explanations[0].example_id, explanations[0].target, explanations[0].top(2))
print(write_page(explanations, "tickets.html", title="Tickets"), "explanations in tickets.html")
