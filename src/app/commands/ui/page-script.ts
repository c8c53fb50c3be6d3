/**
 * The script of the page of `braid ui`, which runs in a browser: draws the page's model with lit-html, and takes the
 * next one from the server. The page has it as the text of the class, so it can use nothing from outside but types.
 *
 * Not here: what the page says (domain/commands/ui).
 */

import type { FleetPage, PageEvent } from "../../../domain/commands/ui/fleet-page.ts"
import type { PageCluster } from "../../../domain/commands/ui/page-cluster.ts"
import type { PageCell, PageSession } from "../../../domain/commands/ui/page-session.ts"
import type { PageElement, PageInput } from "./page-browser.ts"
import type { PageParts, Template } from "./page-parts.ts"

/** Draws the page. Only the text of this class reaches the browser. */
export class FleetDrawing {
  readonly #parts: PageParts
  readonly #isLive: boolean
  /** Most rows of a table; a filter finds the others. */
  readonly #maxRows = 500
  #latest: FleetPage
  #shown: FleetPage
  #isPaused = false
  #isAway = false
  #words: ReadonlyArray<string> = []
  #kind = ""
  /** Names of the sessions of the open dialogs. */
  #detailed: string | undefined
  #stopping: string | undefined
  #said = ""

  constructor(parts: PageParts, isLive: boolean) {
    this.#parts = parts
    this.#isLive = isLive
    const model = parts.model() as FleetPage
    this.#latest = model
    this.#shown = model
  }

  begin(): void {
    this.#draw()
    if (!this.#isLive) return
    const heard = (page: unknown): void => {
      this.#latest = page as FleetPage
      if (this.#isPaused) this.#said = "Paused: newer looks wait."
      else this.#shown = this.#latest
      this.#draw()
    }
    this.#parts.follow(
      () => "api/fleet/events",
      heard,
      (isAway) => this.#setAway(isAway)
    )
  }

  #setAway(isAway: boolean): void {
    this.#isAway = isAway
    this.#draw()
  }

  #say(text: string): void {
    this.#said = text
    this.#draw()
  }

  #matches(...texts: ReadonlyArray<string>): boolean {
    const text = texts.join(" ").toLowerCase()
    return this.#words.every((word) => text.includes(word))
  }

  #clusters(): ReadonlyArray<PageCluster> {
    return this.#shown.clusters.filter(({ text }) => this.#matches(text))
  }

  #sessions(): ReadonlyArray<PageSession> {
    return this.#shown.sessions.filter(({ text }) => this.#matches(text))
  }

  /** The fleet's own events, unless a kind is chosen: local processes do much, and stand in the session's detail. */
  #happened(): ReadonlyArray<PageEvent> {
    const isChosen = (kind: PageEvent["kind"]): boolean => (this.#kind === "" ? kind !== "local" : kind === this.#kind)
    return this.#shown.events.filter(({ about, kind, text }) => isChosen(kind) && this.#matches(about, text))
  }

  #asText(): string {
    const { context, problem, summary, time } = this.#shown
    return [
      `${context} at ${time}: ${summary}`,
      ...(problem === undefined ? [] : [`${problem.message} ${problem.fix}`]),
      ...this.#shown.notes,
      ...this.#shown.unseen,
      ...this.#clusters().map(({ text }) => text),
      ...this.#sessions().map(({ text }) => text),
      ...this.#happened().map(({ about, text, time: at }) => `${at}  ${about}  ${text}`)
    ].join("\n")
  }

  #copy(text: string): void {
    const copied = this.#parts.window.navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))
    copied.then(
      () => this.#say("Copied."),
      () => this.#say("The browser lets no page copy here; select the text and copy it.")
    )
  }

  #pause(): void {
    this.#isPaused = !this.#isPaused
    if (!this.#isPaused) this.#shown = this.#latest
    this.#say(this.#isPaused ? "Paused: the page stays as it is." : "The page follows the fleet again.")
  }

  #dialog(id: "detail" | "confirm"): PageElement | null {
    return this.#parts.window.document.getElementById(id)
  }

  #openDetail(name: string): void {
    this.#detailed = name
    this.#draw()
    this.#dialog("detail")?.showModal()
  }

  #askToStop(name: string): void {
    this.#stopping = name
    this.#draw()
    this.#dialog("confirm")?.showModal()
  }

  #stop(name: string): void {
    this.#dialog("confirm")?.close()
    this.#parts.window
      .fetch(`api/sessions/${encodeURIComponent(name)}/stop`, { method: "POST" })
      .then((answer) => answer.json())
      .then(
        ({ message }) => this.#say(message),
        () => this.#say("It is not known whether the session was stopped; braid sessions says it.")
      )
  }

  #draw(): void {
    this.#parts.draw(this.#page())
  }

  #page(): Template {
    const { html } = this.#parts.lit
    return html`${this.#header()}
      <main>${this.#tools()}${this.#problems()}${this.#fleetTable()}${this.#sessionTable()}${this.#eventTable()}</main>
      ${this.#detailDialog()}${this.#confirmDialog()}`
  }

  #header(): Template {
    const { html, nothing } = this.#parts.lit
    const { context, summary, time } = this.#shown
    return html`<header>
      ${this.#isLive ? this.#parts.links("fleet", true) : nothing}
      <h1>${context}</h1>
      <p>${summary}</p>
      <p>As of ${time}${this.#isLive ? "" : " (saved)"}</p>
    </header>`
  }

  #tools(): Template {
    const { html } = this.#parts.lit
    const filter = (input: PageInput): void => {
      this.#words = this.#parts.words(input)
      this.#draw()
    }
    return html`<div class="tools" role="group" aria-label="What is shown">
      <label
        >Filter <input id="filter" type="search" placeholder="words, such as: ann left out" @input=${filter}
      /></label>
      ${this.#isLive ? this.#liveTools() : this.#parts.lit.nothing}
      <button type="button" id="copy" @click=${() => this.#copy(this.#asText())}>Copy as text</button>
      <span id="said" role="status" aria-live="polite">${this.#said}</span>
    </div>`
  }

  #liveTools(): Template {
    const { html } = this.#parts.lit
    return html`<button type="button" id="pause" aria-pressed=${this.#isPaused} @click=${() => this.#pause()}>
        Pause
      </button>
      <a id="save" href="report.html" download>Save as a file</a>`
  }

  #problems(): Template {
    const { html, nothing } = this.#parts.lit
    const { notes, problem, unseen } = this.#shown
    return html`<div aria-live="polite">
      ${this.#parts.troubles(this.#isAway ? this.#parts.away : undefined, problem, "This is the last known state.")}
      ${notes.map((note) => html`<p class="note">${note}</p>`)}
      ${
        unseen.length === 0
          ? nothing
          : html`<details id="unseen">
              <summary>You do not see everything</summary>
              <ul>
                ${unseen.map((one) => html`<li>${one}</li>`)}
              </ul>
            </details>`
      }
    </div>`
  }

  /** How many rows of all are shown, where that is not all. */
  #hint(found: number, all: number): Template {
    const { html } = this.#parts.lit
    if (found === all && all <= this.#maxRows) return this.#parts.lit.nothing
    return html`<p class="hint">${Math.min(found, this.#maxRows)} of ${all} are shown.</p>`
  }

  #table(label: string, head: unknown, rows: ReadonlyArray<Template>, all: number): Template {
    const { html } = this.#parts.lit
    return html`${this.#parts.table(label, head, rows.slice(0, this.#maxRows))} ${this.#hint(rows.length, all)}`
  }

  #fleetTable(): Template {
    const { html } = this.#parts.lit
    const { clusters, empty } = this.#shown
    const shown = this.#clusters()
    return html`<section id="fleet" aria-labelledby="fleet-title">
      <h2 id="fleet-title">Fleet</h2>
      ${
        empty.clusters === undefined
          ? html`${this.#parts.clusters(shown.slice(0, this.#maxRows))}${this.#hint(shown.length, clusters.length)}`
          : html`<p class="empty">${empty.clusters}</p>`
      }
    </section>`
  }

  /** A lane's place in a cluster; the cure stands at the cluster, and in the session's detail. */
  #cell({ cluster, look, reason, word }: PageCell): Template {
    const { html, nothing } = this.#parts.lit
    if (look === undefined) return html`<td class="soft" title="${cluster}: no part">–</td>`
    const why = reason === "" ? nothing : html`<div class="long">${reason}</div>`
    return html`<td class="lane ${look}" title=${cluster}><span class="look ${look}">${word}</span>${why}</td>`
  }

  #sessionRow(session: PageSession): Template {
    const { html, nothing } = this.#parts.lit
    const { branches, name, ports, queues } = session
    const holds = [
      ...ports.map((port) => `port ${port}`),
      ...branches.map((branch) => `branch ${branch}`),
      ...queues.map((queue) => `queue ${queue}`)
    ]
    // A session that goes on without a cluster says why in its lane.
    const isTold = session.reason === "" || session.look === "degraded"
    const why = isTold ? nothing : html`<div class="long">${session.reason}</div>`
    const key = session.key === "" ? nothing : html`<div class="soft">key ${session.key}</div>`
    return html`<tr>
      <th scope="row">
        <button type="button" class="session" @click=${() => this.#openDetail(name)}>${session.id}</button>
      </th>
      <td>
        <span class="nowrap"><span class="look ${session.look}">${session.phase}</span> ${session.age}</span>${why}
      </td>
      <td class="user">${session.user}${key}</td>
      <td class="long">
        ${session.target}
        <div class="soft">${session.namespace}</div>
      </td>
      ${session.cells.map((cell) => this.#cell(cell))}
      <td class="long">${holds.map((one) => html`<div>${one}</div>`)}</td>
    </tr>`
  }

  #sessionTable(): Template {
    const { html } = this.#parts.lit
    const { empty, lanes, sessions } = this.#shown
    const head = this.#parts.heads("Session", "State", "User", "Target", ...lanes, "Steals and holds")
    const rows = this.#sessions().map((session) => this.#sessionRow(session))
    return html`<section id="sessions" aria-labelledby="sessions-title">
      <h2 id="sessions-title">Sessions</h2>
      ${
        empty.sessions === undefined
          ? this.#table("Sessions, a lane over the clusters for each", head, rows, sessions.length)
          : html`<p class="empty">${empty.sessions}</p>`
      }
    </section>`
  }

  #eventRow({ about, look, text, time }: PageEvent): Template {
    const { html } = this.#parts.lit
    return html`<tr>
      <td class="nowrap">${time}</td>
      <td class="nowrap">${about}</td>
      <td class="long"><span class="look ${look}"></span>${text}</td>
    </tr>`
  }

  #eventTable(): Template {
    const { html } = this.#parts.lit
    const choose = ({ target }: PageInput): void => {
      this.#kind = target.value
      this.#draw()
    }
    const rows = this.#happened().map((event) => this.#eventRow(event))
    const { events } = this.#shown
    const none = "What happens from now on appears here: clusters that go and come, sessions that begin and end."
    return html`<section id="events" aria-labelledby="events-title">
      <h2 id="events-title">What happened</h2>
      <div class="tools">
        <label
          >Kind
          <select id="kind" @change=${choose}>
            <option value="">of the fleet</option>
            <option value="event">Events of operators</option>
            <option value="change">changes that this page saw</option>
            <option value="local">local processes</option>
          </select></label
        >
      </div>
      ${
        events.length === 0
          ? html`<p class="empty">${none}</p>`
          : this.#table("What happened, newest first", this.#parts.heads("When", "About", "What"), rows, events.length)
      }
    </section>`
  }

  #list(title: string, items: ReadonlyArray<string | Template>): Template {
    const { html } = this.#parts.lit
    return items.length === 0
      ? this.#parts.lit.nothing
      : html`<h3>${title}</h3>
          <ul>
            ${items.map((item) => html`<li>${item}</li>`)}
          </ul>`
  }

  #detail(session: PageSession): Template {
    const { html } = this.#parts.lit
    const { canStop, cells, id, name } = session
    const facts: ReadonlyArray<readonly [string, string]> = [
      ["State", [session.phase, session.reason].filter(Boolean).join(": ")],
      ["User", session.user],
      ["Target", `${session.target} in ${session.namespace}`],
      ["Key", session.key],
      ["Age", session.age],
      ["Object", name]
    ]
    const parts = cells
      .filter(({ look }) => look !== undefined)
      .map(
        ({ cluster, fix, look = "waiting", reason, word }) =>
          html`<span class="look ${look}">${cluster}: ${word}</span> ${reason} <span class="soft">${fix}</span>`
      )
    const happened = this.#shown.events.filter(({ about }) => about === id).map(({ text, time }) => `${time}  ${text}`)
    return html`<h2>Session ${id}</h2>
      <dl>
        ${facts
          .filter(([, fact]) => fact !== "")
          .map(
            ([term, fact]) =>
              html`<dt>${term}</dt>
                <dd>${fact}</dd>`
          )}
      </dl>
      ${this.#list("Clusters", parts)}${this.#list("Steals ports", session.ports)}
      ${this.#list("Branches of databases", session.branches)}${this.#list("Splits queues", session.queues)}
      ${this.#list("On this machine", session.local)}${this.#list("What happened", happened)}
      <div class="tools">
        <button type="button" @click=${() => this.#copy(session.text)}>Copy as text</button>
        ${
          canStop && this.#isLive
            ? html`<button type="button" class="danger stop" @click=${() => this.#askToStop(name)}>Stop …</button>`
            : this.#parts.lit.nothing
        }
        <button type="button" class="close" @click=${() => this.#dialog("detail")?.close()}>Close</button>
      </div>`
  }

  #detailDialog(): Template {
    const { html } = this.#parts.lit
    const session = this.#shown.sessions.find(({ name }) => name === this.#detailed)
    const content =
      session === undefined
        ? html`<p>The session has ended.</p>
            <button type="button" class="close" @click=${() => this.#dialog("detail")?.close()}>Close</button>`
        : this.#detail(session)
    return html`<dialog id="detail" aria-label="Session">${this.#detailed === undefined ? "" : content}</dialog>`
  }

  #confirmDialog(): Template {
    const { html } = this.#parts.lit
    const session = this.#shown.sessions.find(({ name }) => name === this.#stopping)
    const close = (): void => this.#dialog("confirm")?.close()
    const name = this.#stopping ?? ""
    return html`<dialog id="confirm" aria-label="Stop the session">
      <p>
        Stop session ${session?.id ?? name} of ${session?.user ?? "its user"}, in all of its clusters? It ends for good,
        and its requests go to the workload again.
      </p>
      <div class="tools">
        <button type="button" class="danger yes" @click=${() => this.#stop(name)}>Stop it</button>
        <button type="button" class="no" @click=${close}>Let it go on</button>
      </div>
    </dialog>`
  }
}
