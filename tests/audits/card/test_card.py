"""The card shows every number with a way to its spec, loads nothing, runs nothing, and stands odd audits."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.card import summary_json, write_card
from veridical.audits.card.sections import extremes, ranking_metric, to_show
from veridical.audits.numbers import amount, plain_number, score
from veridical.audits.statistics.summary import summarise
from veridical.core.errors import InputError

BAD = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>\"' &amp; | `x`"


@pytest.fixture(scope="module")
def audit(made_audit) -> Audit:
    return made_audit()


@pytest.fixture(scope="module")
def page(made_explanations, read_page, audit: Audit, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("card") / "card.html"
    write_card(audit, summarise(audit), made_explanations(audit), path)
    return read_page(path)


@pytest.fixture
def card_of(read_page, tmp_path: Path):
    def read(audit: Audit):
        write_card(audit, summarise(audit), None, tmp_path / "card.html")
        return read_page(tmp_path / "card.html")

    return read


def small(rows: list[Measurement], methods: tuple[str, ...] = ("lime", "random"), **changes) -> Audit:
    documents = tuple(Document(id, "pos", 4) for id in dict.fromkeys(row.document for row in rows))
    metrics = (AuditedMetric("flip", {"name": "flip"}, False),)
    values = {"model": {"name": "m"}, "data": "d", "documents": documents, "metrics": metrics, "rows": tuple(rows)}
    return Audit(**{**values, "methods": tuple(AuditedMethod(each, {"name": each}) for each in methods), **changes})


def test_nothing_is_fetched_and_nothing_runs(page) -> None:
    assert not re.search(r"https?://|<script|@import|url\(", page.markup)
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "default-src 'none'" in page.all("meta")[1]["content"]


def test_every_mean_and_interval_is_there(audit: Audit, page) -> None:
    for table in summarise(audit).tables:
        metric = audit.metric(table.metric)
        for cell in table.cells:
            if cell.order == "given":
                assert f"{score(cell.low, metric)} to {score(cell.high, metric)}" in page.text
            assert score(cell.mean, metric) in page.text


def test_every_link_leads_somewhere_and_every_metric_to_its_spec(audit: Audit, page) -> None:
    links = [attributes["href"] for attributes in page.all("a")]
    assert all(link.removeprefix("#") in page.ids() for link in links)
    assert {f"#spec-metric-{index + 1}" for index in range(len(audit.metrics))} <= set(links)
    assert len(page.ids()) == len(set(page.ids()))
    assert '"neighbours": 3' in page.text


def test_all_parts_are_there(page) -> None:
    parts = ("scores", "metrics", "curves", "agreement", "groups", "removal", "cost", "documents", "specs")
    assert all(part in page.ids() for part in parts)
    told = ("kernel-shap(samples=200) does best", "pos-importance: the extra", "review-61: the text is empty", "(46%)")
    assert all(words in page.text for words in told)
    assert "torch 2.9.1" in page.text


def test_best_methods_are_marked_without_colour(audit: Audit, page) -> None:
    best = sum(len(table.best) for table in summarise(audit).tables)
    marks = [
        attributes for attributes in page.all("span") if attributes.get("class") == "mark" and attributes.get("title")
    ]
    assert sum(mark["title"].startswith("best") for mark in marks) == 2 * best  # in both tables
    assert page.text.count("●") >= 2 * best


def test_six_documents_are_shown_by_all_methods(page) -> None:
    assert sum(attributes.get("class") == "document" for attributes in page.all("article")) == 6
    assert page.markup.count("<section><h3>") == 6 * 5


def test_the_same_input_gives_the_same_bytes(made_explanations, audit: Audit, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_card(audit, summarise(audit), made_explanations(audit), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_hostile_names_stay_text(made_audit, made_explanations, read_page, tmp_path: Path) -> None:
    given = made_audit(8)
    metric = dataclasses.replace(given.metrics[0], name=BAD, meaning=BAD, weakness=BAD, spec={"name": BAD, BAD: BAD})
    method = dataclasses.replace(given.methods[0], name=BAD, spec={BAD: BAD}, costs={BAD: 1.0})
    rows = [dataclasses.replace(row, metric=BAD) for row in given.rows if row.metric == given.metrics[0].name]
    rows = [dataclasses.replace(row, method=BAD) if row.method == "attention" else row for row in rows]
    documents = tuple(dataclasses.replace(each, target=f"{BAD}{each.target}", label=BAD) for each in given.documents)
    audit = dataclasses.replace(
        given,
        model={"name": BAD},
        data=BAD,
        documents=documents,
        metrics=(metric,),
        methods=(method, *given.methods[1:]),
        rows=tuple(rows),
        skipped={BAD: BAD},
        failures={BAD: {BAD: BAD}},
        warnings=(BAD,),
        versions={BAD: BAD},
        settings={BAD: BAD},
    )
    explained = made_explanations(given)
    explained = {
        BAD if name == "attention" else name: [
            dataclasses.replace(each, target=BAD, label=BAD, inputs={"text": BAD}, units=(), scores=())
            for each in found
        ]
        for name, found in explained.items()
    }
    write_card(audit, summarise(audit), explained, tmp_path / "card.html")
    page = read_page(tmp_path / "card.html")
    assert not page.all("script")
    assert not page.all("img")
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert all(link["href"].startswith("#") for link in page.all("a"))
    assert page.text.count("alert(1)") > 20


def test_an_audit_of_nothing_says_so(made_audit, card_of) -> None:
    page = card_of(made_audit(0))
    assert "0 documents" in page.text
    assert "Nothing could be measured" in page.text


def test_no_methods_and_no_metrics(card_of) -> None:
    page = card_of(small([], methods=(), metrics=()))
    assert "random was not audited" in page.text


def test_one_method_and_one_document(card_of) -> None:
    page = card_of(small([Measurement("a", "lime", "flip", 0.25)], methods=("lime",)))
    assert "0.250" in page.text
    assert "nan" not in page.text


def test_everything_undefined(card_of) -> None:
    rows = [Measurement(id, method, "flip", float("nan")) for id in "abc" for method in ("lime", "random")]
    page = card_of(small(rows))
    assert page.text.count("undefined") >= 4
    assert not re.search(r"\bnan\b", page.text)


def test_a_method_that_a_metric_did_not_measure(card_of) -> None:
    rows = [Measurement(id, "lime", "flip", 0.1) for id in "abc"]
    assert "not measured" in card_of(small(rows)).text


def test_a_score_without_its_spec_is_refused(tmp_path: Path) -> None:
    rows = [Measurement(id, method, "flip", 0.1) for id in "abc" for method in ("lime", "random")]
    audit = small(rows)
    summary = summarise(audit)
    bare = dataclasses.replace(audit, metrics=(dataclasses.replace(audit.metrics[0], spec={}),))
    with pytest.raises(InputError, match="without its spec"):
        write_card(bare, summary, None, tmp_path / "card.html")
    assert not list(tmp_path.iterdir())


def test_explanations_of_the_documents_to_show_are_enough(
    made_explanations, audit: Audit, page, tmp_path: Path
) -> None:
    summary = summarise(audit)
    ids = to_show(audit, summary)
    few = {
        method: [each for each in found if each.example_id in ids] for method, found in made_explanations(audit).items()
    }
    write_card(audit, summary, few, tmp_path / "card.html")
    assert len(ids) == 6
    assert (tmp_path / "card.html").read_text(encoding="utf-8") == page.markup
    assert to_show(small([], metrics=()), summarise(small([], metrics=()))) == set()


def test_best_and_worst_know_the_direction_and_never_overlap() -> None:
    audit = small(
        [
            Measurement(id, "lime", "flip", value)
            for id, value in zip("abcde", (0.5, 0.1, 0.9, 0.3, float("nan")), strict=True)
        ]
    )
    metric = audit.metrics[0]
    assert extremes(audit, metric, "lime", set("abcde")) == (["b", "d"], ["c", "a"])
    assert extremes(audit, metric, "lime", {"a"}) == (["a"], [])
    assert extremes(audit, metric, "lime", set()) == ([], [])


def test_the_metric_that_was_asked_about_reversed_orders_chooses_documents(audit: Audit) -> None:
    turned = dataclasses.replace(audit, metrics=audit.metrics[::-1])
    assert ranking_metric(turned).name == "auroc"  # stability has no reversed order
    assert ranking_metric(dataclasses.replace(audit, metrics=())) is None


def test_the_summary_as_json_has_the_specs_and_no_nan(made_audit, audit: Audit) -> None:
    found = json.loads(json.dumps(summary_json(audit, summarise(audit)), allow_nan=False))
    assert {each["name"]: each["spec"]["name"] for each in found["metrics"]}["auroc"] == "auroc"
    cell = found["summary"]["tables"][0]["cells"][0]
    assert cell["low"] < cell["mean"] < cell["high"]
    assert cell["scored"] == 60
    json.dumps(summary_json(made_audit(0), summarise(made_audit(0))), allow_nan=False)


def test_amounts_are_whole_where_they_are() -> None:
    assert [amount(each) for each in (3.0, 24.63, 0.0042, 12345.6, float("nan"))] == [
        "3",
        "24.6",
        "0.0042",
        "12,346",
        "–",
    ]


def test_zero_has_no_sign() -> None:
    assert [plain_number(each) for each in (-0.001, -0.21, float("nan"))] == ["0.00", "\u22120.21", "–"]


def test_kinds_of_words_are_shown_where_they_were_looked_at(card_of) -> None:
    metric = AuditedMetric("pos-importance", {"name": "pos-importance"}, True)
    rows = [
        Measurement("1", "lime", "pos-importance", 0.5, details={"ADJ": 0.25, "NOUN": 0.1, "X": float("nan")}),
        Measurement("2", "lime", "pos-importance", 0.5, details={"ADJ": 0.35, "NOUN": float("nan"), "X": float("nan")}),
    ]
    text = card_of(small(rows, metrics=(metric,))).text
    assert "Kinds of words" in text
    assert re.search(r"ADJ\s*30\.00", text)
    assert re.search(r"NOUN\s*10\.00", text)


def test_an_attack_is_told_by_its_counts_and_shares(card_of) -> None:
    metric = AuditedMetric("attack", {"name": "attack"}, False, percent=True)
    right = {"right": 1.0, "queries": 5.0, "words": 20.0}
    rows = [
        Measurement("1", "the model", "attack", 1.0, details={**right, "perturbed": 0.1}),
        Measurement("2", "the model", "attack", 0.0, details={**right, "perturbed": float("nan")}),
        Measurement("3", "the model", "attack", float("nan"), details={"right": 0.0, "words": 20.0}),
    ]
    text = card_of(small(rows, methods=("the model",), metrics=(metric,))).text
    assert "Can the model be fooled?" in text
    assert re.search(r"attack\s*2\s*1\s*50\.0\s*66\.7\s*33\.3\s*10\.0\s*5", text)
