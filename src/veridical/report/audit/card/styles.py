"""The style sheet of cards: that of pages, with tables, plots and a print that unfolds everything."""

from __future__ import annotations

from veridical.report.styles import STYLES

CARD_STYLES = (
    STYLES
    + """
body { max-width: 82rem; }
a { color: inherit; text-decoration-color: var(--vd-soft); text-underline-offset: .18em; }
a.spec { font-weight: inherit; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 1.2rem 0 0; font-size: .87rem; color: var(--vd-soft); }
section { padding-top: 0; margin-top: 2.6rem; }
section h2 { margin: 0 0 .7rem; font-size: 1.22rem; font-weight: 650; color: var(--vd-ink); letter-spacing: -.01em; }
h3 { margin: 0; font-size: 1.02rem; font-weight: 650; overflow-wrap: anywhere; }
h4 { margin: 0; font-size: .85rem; font-weight: 600; overflow-wrap: anywhere; }
p { margin: .6rem 0; max-width: 62rem; }
.intro { margin: -.3rem 0 .9rem; color: var(--vd-soft); }
.soft, .quiet, .legend, .under { color: var(--vd-soft); }
.legend { margin: .5rem 0 .9rem; font-size: .82rem; }
.verdict { padding: 1.2rem 1.5rem; border-left: 5px solid var(--vd-ink); }
.verdict p { margin: .45rem 0; }
.verdict p:first-child { font-size: 1.18rem; line-height: 1.45; font-weight: 450; }
.caveats { border-left: 5px solid var(--for); }
.caveats h3 { font-size: .93rem; }
.caveats h3 + ul { margin-bottom: .8rem; }
.caveats ul:last-child { margin-bottom: 0; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
li { margin: .2rem 0; overflow-wrap: anywhere; max-width: 62rem; }
.scroll { width: fit-content; max-width: 100%; overflow-x: auto;
  margin: .5rem 0; background: var(--vd-paper); border: 1px solid var(--vd-line); border-radius: 8px; }
article .scroll, details .scroll { border-radius: 6px; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .42rem .65rem; text-align: right; white-space: nowrap; vertical-align: top; }
thead th { color: var(--vd-soft); font-weight: 500; border-bottom: 1px solid var(--vd-line); vertical-align: bottom;
  white-space: normal; overflow-wrap: break-word; max-width: 13rem; }
tbody tr + tr > * { border-top: 1px solid var(--vd-line); }
tbody th { text-align: left; font-weight: 500; white-space: normal; overflow-wrap: anywhere;
  max-width: 20rem; }
th:first-child { position: sticky; left: 0; background: var(--vd-paper); }
tbody th > bdi:only-child { display: inline-block; min-width: 11rem; }
tbody th:has(bdi ~ bdi) { min-width: 15rem; }
th.left, td.left { text-align: left; }
tr.quiet > *, td > .quiet { color: var(--vd-soft); font-style: italic; }
.under { display: block; font-size: .9em; }
.mark + strong + .mark + .under, .mark + .mark + .under { padding-right: 1.1em; }
.mark { display: inline-block; width: 1.1em; text-align: center; font-style: normal; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .9rem 1.1rem; background: var(--vd-paper); border: 1px solid var(--vd-line);
  border-radius: 10px; min-width: 0; break-inside: avoid; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 .6rem; margin-bottom: .4rem; font-size: .93rem; font-weight: 600;
  overflow-wrap: anywhere; }
figcaption .spec, figcaption .soft { font-weight: 400; }
.strip { display: block; }
.plot { overflow-x: auto; }
.plot svg { display: block; max-width: 100%; min-width: 26rem; height: auto; }
article { content-visibility: visible; }
article details { margin: .7rem 0 0; }
article.document > .methods > section { margin-top: .6rem; padding-top: .3rem; }
.document h4 + .text { margin-top: -.4rem; max-height: 17rem; overflow-y: auto; }
@media (max-width: 48rem) { tbody th > bdi:only-child { min-width: 7rem; } }
@media print {
  @page { size: landscape; margin: 12mm; }
  section { margin-top: 1.4rem; }
  nav { display: none; }
  .scroll { border: 0; border-radius: 0; }
  table { font-size: 8.5pt; }
  th, td { padding: .25rem .4rem; }
  .scroll, .plot, .document h4 + .text { overflow: visible; max-height: none; }
  .plot svg { min-width: 0; }
  .plots { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  tr, figure, h2, h3, summary { break-inside: avoid; break-after: auto; }
  h2, h3, summary { break-after: avoid; }
  details { display: block; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
)
