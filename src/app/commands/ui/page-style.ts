/** The style of the pages of `braid ui`, beside the theme that all pages have. */

import { pageTheme } from "./page-theme.ts"

/** Colours of the most active users, in their order; the last is of all others. */
const ringColours = {
  light: ["#0757ba", "#b35900", "#1a7f37", "#8250df", "#cf222e", "#0a7d8c", "#9a6700", "#bf3989", "#8c959f"],
  dark: ["#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#ff7b72", "#39c5cf", "#e3b341", "#f778ba", "#6e7681"]
} as const

const coloured = (colours: ReadonlyArray<string>): string =>
  colours
    .map((colour, index) => (index === colours.length - 1 ? ".others" : `.c${index}`) + ` { color: ${colour}; }`)
    .join("\n")

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
nav { display: flex; gap: .3rem; margin-bottom: .6rem; }
nav a { padding: .2rem .8rem; border: 1px solid var(--line); border-radius: 6px; text-decoration: none; }
nav a[aria-current] { background: var(--panel); color: var(--text); font-weight: 600; }
.cards { grid-template-columns: repeat(auto-fill, minmax(min(11.5rem, 100%), 1fr)); gap: .6rem; margin: .5rem 0 .7rem; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; }
.figure { font-size: 1.3rem; font-weight: 600; line-height: 1.3; }
.asking { opacity: .6; }
.number, .number button { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
button.sort { border: 0; background: none; padding: 0; color: inherit; font-weight: 600; }
button.sort::after { content: "\\2003"; }
th[aria-sort="ascending"] button.sort::after { content: " \\25B4" / ""; }
th[aria-sort="descending"] button.sort::after { content: " \\25BE" / ""; }
button[aria-pressed="true"] { border-color: var(--by-client); color: var(--by-client); font-weight: 600; }
button:disabled { color: var(--soft); cursor: default; opacity: .6; }
.pager { justify-content: flex-end; margin: .4rem 0; }
.tools input[type="date"] { width: auto; }
.bad { color: var(--fault-text); display: block; }
#estimate input { width: 5rem; }
.activity { display: grid; grid-template-columns: minmax(9rem, 15rem) 1fr; gap: 1.5rem; align-items: center; }
.ring circle { fill: none; stroke: currentColor; stroke-width: 6.5; }
.bar { width: 55%; min-width: 6rem; }
.bar svg { display: block; width: 100%; height: 1.1rem; }
.bar rect { fill: currentColor; }
.activity td, .activity th { vertical-align: middle; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); gap: 1rem 1.5rem; }
figure { margin: .3rem 0; }
figcaption .soft { display: block; min-height: 1.45em; }
.activity thead th:nth-child(n + 3) { text-align: right; }
dialog h2:first-child { margin-top: 0; }
.plot { border-bottom: 1px solid var(--soft); border-top: 1px dotted var(--soft); }
.plot svg { display: block; width: 100%; height: 7rem; }
.plot path { fill: var(--by-client); }
.plot .mark { fill: var(--line); }
.strip { min-width: 9rem; width: 40%; }
.strip svg { display: block; width: 100%; height: 1.7rem; background: var(--panel);
  border-bottom: 1px solid var(--soft); }
.strip .ready { fill: var(--ready); }
.strip .failed { fill: var(--failed); }
.strip .unknown { fill: var(--soft); }
.strip .mark { fill: var(--line); }
.max { display: block; text-align: right; font-size: .85em; }
.ends { display: flex; justify-content: space-between; font-size: .85em; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr)); gap: 0 2rem; }
.beside > *, .activity > *, .charts > * { min-width: 0; }
summary { cursor: pointer; color: var(--by-client); margin: .4rem 0; }
${coloured(ringColours.light)}
@media (prefers-color-scheme: dark) {
${coloured(ringColours.dark)}
}
button.danger { border-color: var(--failed); }
@media (max-width: 40rem) {
  body { padding: .6rem .6rem 3rem; }
  dl { grid-template-columns: 1fr; }
  .cards { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  .figure { font-size: 1.2rem; }
  .activity { grid-template-columns: 1fr; }
  .ring { max-width: 12rem; margin: 0 auto; }
}
@media (prefers-reduced-motion: reduce) {
  td.lane { transition: none; }
}
@media print {
  .tools, dialog { display: none; }
}
`
