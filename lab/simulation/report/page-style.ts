/** The style of the report page, beside the theme that all pages have; the time line uses its colour variables. */

import { pageTheme } from "../../../src/app/commands/ui/page-theme.ts"

export const pageStyle = `${pageTheme}
#verdict { font-weight: 600; white-space: pre-wrap; }
#verdict.passed { color: var(--ready); }
#verdict.failed { color: var(--fault-text); }
#chart { overflow-x: auto; }
#chart figure { margin: 0; }
#chart svg { background: transparent; color: inherit; display: block; }
.bar rect, .band rect, .request *, .mark * { cursor: pointer; }
#legend { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; list-style: none; padding: 0; margin: .5rem 0;
  color: var(--soft); }
#details { position: fixed; z-index: 1; max-width: 34rem; padding: .4rem .6rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: 6px; box-shadow: 0 4px 16px rgb(0 0 0 / .25); pointer-events: none; }
#details[hidden] { display: none; }
td:first-child { white-space: nowrap; text-align: right; width: 7rem; }
td button { padding: 0 .35rem; font-variant-numeric: tabular-nums; }
tr.step td { font-weight: 600; }
tr.fault td, tr.broken td { color: var(--fault-text); }
`
