/**
 * The theme of pages: colours for light and dark screens, and the plain elements. The live page and the report of the
 * simulation have the same. Colours of looks have the names of domain/commands/ui/look.ts.
 */

export const pageTheme = `
:root {
  color-scheme: light dark;
  --page: #fff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa; --on-bar: #000;
  --waiting: #d9a406; --ready: #2da44e; --degraded: #8a9a1f; --ending: #8c959f;
  --failed: #cf222e; --running: #54aeff; --paused: #a475f9;
  --fault: #e5534b; --fault-text: #b3261e; --messages: #6e7781;
  --by-client: #0757ba; --by-workload: #57606a; --by-nobody: #cf222e; --by-pending: #bf8700;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0d1117; --text: #e6edf3; --soft: #9ea7b3; --line: #30363d; --panel: #161b22; --on-bar: #000;
    --waiting: #d29922; --ready: #3fb950; --degraded: #a8b545; --ending: #6e7681;
    --failed: #f85149; --running: #388bfd; --paused: #a371f7;
    --fault: #f85149; --fault-text: #ff9b94; --messages: #8b949e;
    --by-client: #79c0ff; --by-workload: #c9d1d9; --by-nobody: #f85149; --by-pending: #e3b341;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1500px; padding: 1rem 1.25rem 4rem; background: var(--page); color: var(--text);
  font: 14px/1.45 system-ui, "Open Sans", sans-serif; }
h1 { font-size: 1.35rem; margin: 0; }
header p { margin: .3rem 0; color: var(--soft); }
code, pre { font-family: ui-monospace, monospace; font-size: .92em; }
pre { background: var(--panel); padding: .75rem; overflow: auto; }
:focus-visible { outline: 2px solid var(--by-client); outline-offset: 1px; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .9rem 0 .5rem; color: var(--soft); }
button, input, select { font: inherit; color: var(--text); background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; padding: .2rem .6rem; }
button { cursor: pointer; }
.swatch { display: inline-block; width: 1em; height: .75em; border-radius: 2px; margin-right: .4em; }
.swatch.dot { width: .75em; border-radius: 50%; }
.hint { color: var(--soft); margin: .2rem 0 .8rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .15rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
`
