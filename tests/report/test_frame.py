"""The start of every page."""

from veridical.report.frame import head


def test_the_head_forbids_scripts_and_outside_requests() -> None:
    assert "default-src 'none'" in head("t", "")
    assert "&lt;script&gt;" in head("<script>", "")
