"""The style sheet of the page: system fonts, light and dark, and a sober print."""

from __future__ import annotations

from veridical.core.colours import AGAINST, FOR, LIGHT, hexadecimal
from veridical.core.drawing import DARK_VARIABLES

STYLES = f"""
:root {{ color-scheme: light dark; --vd-paper: {hexadecimal(LIGHT.paper)}; --vd-ink: {hexadecimal(LIGHT.ink)};
  --vd-soft: #5b6270; --vd-line: #d9dce3; --desk: #f4f5f7; --for: {hexadecimal(FOR)};
  --against: {hexadecimal(AGAINST)}; }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK_VARIABLES}; --desk: #101216; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem; background: var(--desk); color: var(--vd-ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
header {{ margin-bottom: 1.5rem; }}
h1 {{ margin: 0; font-size: 1.6rem; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; }}
.counts {{ margin: .2rem 0 1rem; color: var(--vd-soft); }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 0 .8rem; font-size: .93rem; }}
dt {{ color: var(--vd-soft); }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
details {{ margin-bottom: .8rem; font-size: .93rem; }}
summary {{ cursor: pointer; color: var(--vd-soft); }}
pre {{ margin: .5rem 0; padding: .8rem 1rem; overflow-x: auto; background: var(--vd-paper); font-size: .8rem;
  border: 1px solid var(--vd-line); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; }}
article {{ margin-bottom: 1rem; padding: 1rem 1.25rem 1.1rem; background: var(--vd-paper); border-radius: 10px;
  border: 1px solid var(--vd-line); content-visibility: auto; contain-intrinsic-size: auto 12rem; }}
.top {{ display: flex; justify-content: space-between; gap: 1.5rem; padding-bottom: .6rem;
  border-bottom: 1px solid var(--vd-line); }}
.top > div {{ min-width: 0; }}
.id {{ color: var(--vd-soft); font-size: .85rem; overflow-wrap: anywhere; text-align: right;
  max-width: 40%; flex-shrink: 0; }}
.methods.several {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: .4rem 2.2rem; }}
section {{ min-width: 0; padding-top: .7rem; }}
h2 {{ margin: 0; font-size: .8rem; font-weight: 600; color: var(--vd-soft); overflow-wrap: anywhere; }}
section h2 + div {{ margin-top: .2rem !important; }}
.words {{ display: flex; flex-wrap: wrap; gap: .35rem; margin: .8rem 0 0; padding: 0; list-style: none;
  font-size: .82rem; }}
.words li {{ display: flex; gap: .45rem; max-width: 20rem; padding: .05rem .5rem; border: 1px solid var(--vd-line);
  border-left: 4px solid var(--for); border-radius: 4px; }}
.words li.against {{ border-left: 4px dotted var(--against); }}
.words bdi {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.words b {{ font-weight: 500; white-space: nowrap; font-variant-numeric: tabular-nums; color: var(--vd-soft); }}
@media print {{
  body {{ padding: 0; max-width: none; background: none; font-size: 10.5pt; }}
  article {{ break-inside: avoid; content-visibility: visible; }}
  details {{ display: none; }}
}}
"""
