"""The page of a study: what was found in short, and curves with a line for each variant."""

from veridical.audits.statistics.findings import Curve, Estimate
from veridical.studies.page import figures, write_study_page
from veridical.studies.results import Results, StudyCurve


def curve(variant, method="its layer", place="mine", means=(0.2, 0.6)):
    estimates = tuple(Estimate(mean, mean - 0.1, mean + 0.1, 8) for mean in means)
    return StudyCurve("mine", place, variant, Curve("post-hoc-accuracy(curve=[1, 2])", method, (1.0, 2.0), estimates))


CURVES = (curve("scc"), curve("vmask"), curve("scc", place="far"), curve("scc", method="random"))
FOUND = Results(
    study="made",
    title="Is it <shown>?",
    size="small",
    setting="model tiny",
    data_sets={"mine": "the whole of mine.csv"},
    lines=(),
    objectives={},
    curves=CURVES,
)


def test_variants_share_a_figure_and_the_floor_has_none():
    found = list(figures(CURVES))
    assert [each.title for each in found] == [
        "mine: post-hoc-accuracy(curve=[1, 2]) of its layer",
        "mine → far: post-hoc-accuracy(curve=[1, 2]) of its layer",
    ]
    assert "vmask" in found[0].drawn
    assert "vmask" not in found[1].drawn


def test_the_page_is_whole_and_escaped(tmp_path):
    write_study_page(FOUND, [("Found:", ["scc <better>"]), ("Missing:", [])], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "made: Is it &lt;shown&gt;?" in text
    assert "<li>scc &lt;better&gt;</li>" in text
    assert "Missing" not in text
    assert text.count("<svg") == 2
    assert "<script" not in text
