/** The style of the page of `braid ui`, beside the theme that all pages have. */

import { pageTheme } from "./page-theme.ts"

export const pageStyle = `${pageTheme}
body { max-width: 2600px; }
h2 { font-size: 1.05rem; margin: 1.4rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
p { margin: .3rem 0; }
a { color: var(--by-client); }
.tools a { padding: .2rem .3rem; }
.tools input { width: 16rem; max-width: 100%; }
.scroll { overflow-x: auto; }
.scroll th, .scroll td { padding: .3rem .6rem; overflow-wrap: normal; }
.scroll .long { min-width: 14rem; overflow-wrap: anywhere; }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; white-space: nowrap; }
.scroll .user { min-width: 9rem; overflow-wrap: anywhere; }
.nowrap { white-space: nowrap; }
.soft { color: var(--soft); }
.problem, .note { border-left: 4px solid var(--failed); background: var(--panel); padding: .4rem .7rem; }
.note { border-left-color: var(--waiting); }
.look { white-space: nowrap; }
.look::before { content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .45em;
  border: 2px solid var(--soft); }
.look:is(.ready, .running, .ending, .waiting, .degraded, .paused)::before { border-radius: 50%; }
.look.ready::before { background: var(--ready); border-color: var(--ready); }
.look.waiting::before { border-color: var(--waiting); border-style: dotted; }
.look.degraded::before { border-color: var(--degraded);
  background: linear-gradient(90deg, var(--degraded) 50%, #0000 0); }
.look.ending::before { border-color: var(--ending); }
.look.failed::before { background: var(--failed); border-color: var(--failed); }
.look.running::before { background: var(--running); border-color: var(--running); }
.look.paused::before { border-color: var(--paused); border-style: double; }
td.lane { border-left: 4px solid transparent; }
td.lane.ready { border-left-color: var(--ready); }
td.lane.waiting { border-left-color: var(--waiting); }
td.lane.failed { border-left-color: var(--failed); }
td.lane.ending { border-left-color: var(--ending); }
td.lane.running { border-left-color: var(--running); }
td.lane { transition: border-color .4s; }
.empty { background: var(--panel); padding: .8rem; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; margin: .5rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
dialog { width: min(46rem, calc(100vw - 1.5rem)); max-height: calc(100vh - 2rem); overflow: auto; color: var(--text);
  background: var(--page); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.2rem; }
dialog::backdrop { background: rgb(0 0 0 / .45); }
button.danger { border-color: var(--failed); }
@media (max-width: 40rem) {
  body { padding: .6rem .6rem 3rem; }
  dl { grid-template-columns: 1fr; }
}
@media (prefers-reduced-motion: reduce) {
  td.lane { transition: none; }
}
@media print {
  .tools, dialog { display: none; }
}
`
