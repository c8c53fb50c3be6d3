/**
 * The script of the usage page, which runs in a browser: draws the page's model with lit-html, and takes the next one
 * from the server. The page has it as the text of the class, so it can use nothing from outside but types; functions of
 * the domain come as `tools`.
 *
 * Not here: what the page says (domain/commands/ui/usage-page.ts).
 */

import type { ActiveUser, ActivityMeasure } from "../../../domain/commands/ui/usage-activity.ts"
import type { PageHealth, UsageHealth } from "../../../domain/commands/ui/usage-health.ts"
import type {
  UsageColumn,
  UsageContent,
  UsageFigure,
  UsageFrame,
  UsagePage,
  UsageTable
} from "../../../domain/commands/ui/usage-page.ts"
import type {
  NamedPeriod,
  TableLook,
  UsageCell,
  UsageRow,
  UsageTools
} from "../../../domain/commands/ui/usage-tools.ts"
import type { UsageTrend } from "../../../domain/commands/ui/usage-trend.ts"
import type { PageInput } from "./page-browser.ts"
import type { PageParts, Template } from "./page-parts.ts"

/** The tables of the page, each with its own look. */
type TableName = "users" | "targets" | "user-targets" | "cluster-sets" | "days" | "health-days"

/** The two numbers that a reader estimates. */
type EstimateName = "userMinutes" | "ciMinutes"

/** Draws the page. Only the text of this class reaches the browser. */
export class UsageDrawing {
  readonly #parts: PageParts
  readonly #tools: UsageTools
  readonly #frame: UsageFrame
  #page: UsagePage = { problem: undefined, content: undefined }
  #isAway = false
  #isLoggedOut = false
  /** A name of a period, or days of one's own. */
  #period: NamedPeriod | "own" = "month"
  #days: { readonly from: string; readonly to: string }
  #by = "machine_id"
  #measure: ActivityMeasure = "time"
  readonly #looks = new Map<TableName, TableLook>()
  /** Texts of the estimate, as they are typed; the good ones are kept in the browser. */
  readonly #estimate: Record<EstimateName, string>
  /** Where the pointer is in a chart. */
  #pointed: { readonly chart: string; readonly day: number } | undefined
  /** Whether a wish was said for which no report has come yet. */
  #isAsking = true
  #said = ""

  constructor(parts: PageParts, tools: UsageTools) {
    this.#parts = parts
    this.#tools = tools
    this.#frame = parts.model() as UsageFrame
    this.#days = tools.periodOf("month", Date.now())
    this.#estimate = { userMinutes: this.#kept("userMinutes"), ciMinutes: this.#kept("ciMinutes") }
  }

  begin(): void {
    this.#ask()
  }

  /** Asks for the report that is chosen now. */
  #ask(): void {
    this.#isAsking = true
    const heard = (page: unknown): void => {
      const { content, problem } = page as UsagePage
      // Each stream begins with nothing, so that its first look may have a problem alone.
      this.#page = { problem, content: content ?? this.#page.content }
      this.#isAsking = false
      this.#draw()
    }
    // A page that is seen again after midnight has another month, or other days.
    const url = (): string => {
      if (this.#period !== "own") this.#days = this.#tools.periodOf(this.#period, Date.now())
      return `api/usage/events?${this.#query()}`
    }
    this.#parts.follow(url, heard, (isAway, isLoggedOut) => {
      this.#isAway = isAway
      this.#isLoggedOut = isLoggedOut
      this.#draw()
    })
    this.#draw()
  }

  #query(): string {
    const { from, to } = this.#days
    const parts = [["from", from] as const, ["to", to] as const, ["by", this.#by] as const]
    return parts
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join("&")
  }

  /** An estimate of before, or the usual one. A browser may keep nothing for a page. */
  #kept(name: EstimateName): string {
    try {
      const text = this.#parts.window.localStorage.getItem(`braid.${name}`) ?? ""
      return this.#tools.readMinutes(text) === undefined ? "15" : text
    } catch {
      return "15"
    }
  }

  #keep(name: EstimateName, text: string): void {
    this.#estimate[name] = text
    if (this.#tools.readMinutes(text) !== undefined)
      try {
        this.#parts.window.localStorage.setItem(`braid.${name}`, text)
      } catch {
        // The estimate holds until the page is closed.
      }
    this.#draw()
  }

  /** The minutes that count: what is typed, or while that is no number, what was good last. */
  #minutes(name: EstimateName): number {
    const { readMinutes } = this.#tools
    return readMinutes(this.#estimate[name]) ?? readMinutes(this.#kept(name)) ?? 15
  }

  #saved({ counts }: UsageContent): ReturnType<UsageTools["hoursSaved"]> {
    return this.#tools.hoursSaved(counts, {
      userMinutes: this.#minutes("userMinutes"),
      ciMinutes: this.#minutes("ciMinutes")
    })
  }

  #draw(): void {
    const { html, nothing } = this.#parts.lit
    const { content, problem } = this.#page
    this.#parts.draw(
      html`${this.#header(content)}
        <main>
          <div aria-live="polite">${this.#parts.troubles(this.#away(), problem, this.#before(content))}</div>
          ${content === undefined ? nothing : this.#sinceFirst(content)}${this.#choosing(content)}
          ${content === undefined ? this.#empty() : this.#content(content)}
        </main>
        ${this.#estimateDialog(content)}`
    )
  }

  /** Says that the server does not answer, or no longer knows the reader; `undefined` if it does. */
  #away(): string | Template | undefined {
    const { away, logIn } = this.#frame
    if (!this.#isAway) return undefined
    if (!this.#isLoggedOut || logIn === undefined) return away ?? this.#parts.away
    return this.#parts.lit.html`You are logged out. <a href=${logIn}>Log in</a> to see the present state.`
  }

  #before(content: UsageContent | undefined): string {
    return content === undefined ? "" : "This is the last known state."
  }

  #empty(): Template {
    const { html } = this.#parts.lit
    return this.#page.problem === undefined && !this.#isAway
      ? html`<p class="empty" id="reading">The report is being read …</p>`
      : this.#parts.lit.nothing
  }

  #header(content: UsageContent | undefined): Template {
    const { html, nothing } = this.#parts.lit
    return html`<header>
      ${this.#parts.links("usage", this.#frame.hasFleet)}
      <h1>Use of ${this.#frame.context}</h1>
      ${
        content === undefined
          ? nothing
          : html`<p>${content.installation}</p>
              <p>As of <span id="time">${content.time}</span></p>`
      }
    </header>`
  }

  #content(content: UsageContent): Template {
    const { html } = this.#parts.lit
    return html`<div class=${this.#isAsking ? "asking" : ""} aria-busy=${this.#isAsking}>
      ${this.#inPeriod(content)}${this.#activity(content)}${this.#charts(content)}${this.#users(content)}
      ${this.#targets(content)}${this.#health(content)}${this.#clusters(content)}
    </div>`
  }

  #figures(figures: ReadonlyArray<UsageFigure>): ReadonlyArray<Template> {
    return figures.map(
      ({ name, note, value }) =>
        this.#parts.lit
          .html`<div class="card"><dt>${name}</dt><dd class="figure">${value}</dd><dd class="soft">${note}</dd></div>`
    )
  }

  #sinceFirst(content: UsageContent): Template {
    const { html } = this.#parts.lit
    const { hoursText } = this.#tools
    const saved = this.#saved(content)
    const estimated: ReadonlyArray<UsageFigure> = [
      {
        name: "Developer time saved",
        value: hoursText(saved.user),
        note: `at ${this.#minutes("userMinutes")} min a session`
      },
      {
        name: "CI waiting time saved",
        value: hoursText(saved.ci),
        note: `at ${this.#minutes("ciMinutes")} min a session`
      }
    ]
    return html`<section id="since-first" aria-labelledby="since-first-title">
      <h2 id="since-first-title">Since the first session</h2>
      <dl class="cards">${this.#figures([...estimated, ...content.sinceFirst])}</dl>
      <button type="button" id="adjust" @click=${() => this.#dialog()?.showModal()}>Adjust the time saved …</button>
    </section>`
  }

  #dialog() {
    return this.#parts.window.document.getElementById("estimate")
  }

  #estimateField(name: EstimateName, label: string, sessions: number): Template {
    const { html, nothing } = this.#parts.lit
    const { readMinutes, roundedCount } = this.#tools
    const text = this.#estimate[name]
    const isBad = readMinutes(text) === undefined
    const id = `${name}-problem`
    return html`<p>
      <label
        >${label}
        <input
          type="text"
          inputmode="decimal"
          id=${name}
          autocomplete="off"
          .value=${text}
          aria-invalid=${isBad}
          aria-describedby=${isBad ? id : nothing}
          @input=${({ target }: PageInput) => this.#keep(name, target.value)}
      /></label>
      <span class="soft">minutes in each of ${roundedCount(sessions)} sessions</span>
      ${isBad ? html`<span class="bad" id=${id}>Give minutes, 0 or more, such as 15.</span>` : nothing}
    </p>`
  }

  #estimateDialog(content: UsageContent | undefined): Template {
    const { html } = this.#parts.lit
    if (content === undefined) return this.#parts.lit.nothing
    const { counts } = content
    return html`<dialog id="estimate" aria-labelledby="estimate-title">
      <h2 id="estimate-title">The time that sessions save</h2>
      <p class="soft">Your estimate stays in this browser. It counts all sessions since the first.</p>
      ${this.#estimateField("userMinutes", "A session of a person saves", counts.userSessions)}
      ${this.#estimateField("ciMinutes", "A session of CI saves", counts.ciSessions)}
      <p>Together <strong id="saved">${this.#tools.hoursText(this.#saved(content).total)}</strong></p>
      <div class="tools">
        <button type="button" class="close" @click=${() => this.#dialog()?.close()}>Close</button>
      </div>
    </dialog>`
  }

  #choosePeriod(name: NamedPeriod | "own"): void {
    this.#period = name
    this.#said = ""
    this.#ask()
  }

  /** Takes a day of one's own, if there is a period then. */
  #chooseDay(which: "from" | "to", day: string): void {
    const days = { ...this.#days, [which]: day }
    this.#period = "own"
    this.#days = days
    const isBackward = days.from !== "" && days.to !== "" && days.from > days.to
    this.#said = isBackward ? "From is after to: choose another day." : ""
    if (isBackward) this.#draw()
    else this.#ask()
  }

  /** Some choices of a list, one of which is chosen. */
  #choices(chosen: string, choices: ReadonlyArray<readonly [value: string, name: string]>): ReadonlyArray<Template> {
    const { html } = this.#parts.lit
    return choices.map(([value, name]) => html`<option value=${value} .selected=${value === chosen}>${name}</option>`)
  }

  #day(which: "from" | "to", label: string): Template {
    return this.#parts.lit.html`<label
      >${label} <input type="date" id=${which} .value=${this.#days[which]} @change=${({ target }: PageInput) =>
        this.#chooseDay(which, target.value)}
    /></label>`
  }

  #choosing(content: UsageContent | undefined): Template {
    const { html } = this.#parts.lit
    const files = ["xlsx", "csv", "json"]
    const by = ({ target }: PageInput): void => {
      this.#by = target.value
      this.#ask()
    }
    return html`<h2 id="period-title">${content?.period ?? "Period"}</h2>
      <div class="tools" role="group" aria-label="Period">
        <label
          >Period
          <select id="period" @change=${({ target }: PageInput) => this.#choosePeriod(target.value as NamedPeriod)}>
            ${this.#choices(this.#period, [
              ["month", "this month"],
              ["last-month", "last month"],
              ["7-days", "last 7 days"],
              ["30-days", "last 30 days"],
              ["90-days", "last 90 days"],
              ["year", "this year"],
              ["all", "all time"],
              ["own", "days of your own"]
            ])}
          </select></label
        >
        ${this.#day("from", "From")} ${this.#day("to", "to")}
        <label
          >Users by
          <select id="by" @change=${by}>
            ${this.#choices(this.#by, [
              ["machine_id", "machine"],
              ["username", "Kubernetes user"],
              ["client_username", "name on the machine"],
              ["client_hostname", "name of the machine"]
            ])}
          </select></label
        >
        <button type="button" id="refresh" @click=${() => this.#ask()}>Refresh</button>
        <span>
          Save as ${files.map((file) => html`<a id=${file} href="usage.${file}?${this.#query()}" download>${file}</a>`)}
        </span>
        <span id="said" role="status" aria-live="polite">${this.#said}</span>
      </div>`
  }

  #inPeriod({ inPeriod }: UsageContent): Template {
    return this.#parts.lit.html`<section id="in-period" aria-labelledby="period-title">
      <dl class="cards">${this.#figures(inPeriod)}</dl>
    </section>`
  }

  #bar({ amount, isOthers, length, name, share }: ActiveUser, index: number): Template {
    const { html } = this.#parts.lit
    const colour = isOthers ? "others" : `c${index}`
    return html`<tr>
      <th scope="row">${name}</th>
      <td class="bar">
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" class=${colour}>
          <rect width=${length} height="10"></rect>
        </svg>
      </td>
      <td class="number">${amount}</td>
      <td class="number">${share}</td>
    </tr>`
  }

  /** Shares as pieces of a ring, whose length is 100. */
  #ring(users: ReadonlyArray<ActiveUser>): Template {
    const { html, svg } = this.#parts.lit
    return html`<svg class="ring" viewBox="0 0 42 42" aria-hidden="true">
      ${users.map(
        ({ begin, isOthers, size }, index) =>
          svg`<circle class=${isOthers ? "others" : `c${index}`} cx="21" cy="21" r="15.9155"
            stroke-dasharray="${size} ${100 - size}" stroke-dashoffset=${25 - begin}></circle>`
      )}
    </svg>`
  }

  #activity({ activity }: UsageContent): Template {
    const { html } = this.#parts.lit
    const users = activity[this.#measure]
    const choose = (measure: ActivityMeasure): void => {
      this.#measure = measure
      this.#draw()
    }
    const button = (measure: ActivityMeasure, name: string): Template =>
      html`<button
        type="button"
        id="by-${measure}"
        aria-pressed=${this.#measure === measure}
        @click=${() => choose(measure)}
      >
        ${name}
      </button>`
    const [amount, share] = this.#parts.heads(this.#measure === "time" ? "Session time" : "Sessions", "Share")
    const head = [this.#parts.heads("User"), html`<td></td>`, amount, share]
    return html`<section id="activity" aria-labelledby="activity-title">
      <h2 id="activity-title">Most active users</h2>
      ${
        users.length === 0
          ? html`<p class="empty">
              No person has begun a session in this period. A session appears here by itself once it has begun.
            </p>`
          : html`<div class="tools" role="group" aria-label="By what">
                ${button("time", "Session time")} ${button("count", "Sessions")}
              </div>
              <div class="activity">
                ${this.#ring(users)}
                ${this.#parts.table(
                  "Most active users, compared",
                  head,
                  users.map((user, index) => this.#bar(user, index))
                )}
              </div>`
      }
    </section>`
  }

  /** The day at the pointer. */
  #point(chart: string, days: number, event: unknown): void {
    const { currentTarget, offsetX } = event as {
      readonly offsetX: number
      readonly currentTarget: { readonly clientWidth: number }
    }
    const day = Math.floor((days * offsetX) / Math.max(1, currentTarget.clientWidth))
    this.#pointed = { chart, day: Math.min(days - 1, Math.max(0, day)) }
    this.#draw()
  }

  #dayName(first: string, day: number): string {
    return new Date(Date.parse(first) + day * 86_400_000).toISOString().slice(0, 10)
  }

  #chart(trend: UsageTrend, first: string, last: string): Template {
    const { html, nothing, svg } = this.#parts.lit
    const { box, max, name, path, summary, values } = trend
    const [width, height] = box
    const day = this.#pointed?.chart === name ? this.#pointed.day : undefined
    const said = day === undefined ? summary : `${this.#dayName(first, day)}: ${values[day] ?? 0}`
    const leave = (): void => {
      this.#pointed = undefined
      this.#draw()
    }
    const mark = svg`<rect class="mark" x=${(day ?? 0) * 10} width="10" height=${height}></rect>`
    return html`<figure>
      <figcaption><strong>${name}</strong> <span class="soft">${said}</span></figcaption>
      <span class="soft max">${max}</span>
      <div class="plot">
        <svg
          role="img"
          aria-label="${name}, ${first} to ${last}: ${summary}"
          viewBox="0 0 ${width} ${height}"
          preserveAspectRatio="none"
          @pointermove=${(event: unknown) => this.#point(name, values.length, event)}
          @pointerleave=${leave}
        >
          ${day === undefined ? nothing : mark}
          <path d=${path}></path>
        </svg>
      </div>
      <div class="soft ends"><span>${first}</span><span>${last === first ? "" : last}</span></div>
    </figure>`
  }

  #charts({ days }: UsageContent): Template {
    const { html } = this.#parts.lit
    const { first, last, trends } = days
    const columns: ReadonlyArray<UsageColumn> = [
      { name: "Day", isNumber: false },
      ...trends.map(({ name }) => ({ name, isNumber: true }))
    ]
    const row = (day: number): UsageRow => [
      this.#dayName(first, day),
      ...trends.map(({ values }): UsageCell => [String(values[day] ?? 0), values[day] ?? 0])
    ]
    const rows = Array.from({ length: trends[0]?.values.length ?? 0 }, (_, day) => row(day)).toReversed()
    return html`<section id="days" aria-labelledby="days-title">
      <h2 id="days-title">Day by day</h2>
      <div class="charts">${trends.map((trend) => this.#chart(trend, first, last))}</div>
      <details>
        <summary>As a table</summary>
        ${this.#table("days", "Day by day", { columns, rows })}
      </details>
    </section>`
  }

  #look(name: TableName): TableLook {
    return this.#looks.get(name) ?? { words: [], column: -1, isDescending: false, page: 0 }
  }

  #setLook(name: TableName, look: Partial<TableLook>): void {
    this.#looks.set(name, { ...this.#look(name), ...look })
    this.#draw()
  }

  /** The head of a column, by which the table is sorted: numbers from the largest on at first. */
  #sortable(name: TableName, { isNumber, name: label }: UsageColumn, index: number): Template {
    const { html, nothing } = this.#parts.lit
    const { column, isDescending } = this.#look(name)
    const isSorted = column === index
    const order = isDescending ? "descending" : "ascending"
    const sort = (): void =>
      this.#setLook(name, { column: index, isDescending: isSorted ? !isDescending : isNumber, page: 0 })
    return html`<th scope="col" class=${isNumber ? "number" : ""} aria-sort=${isSorted ? order : nothing}>
      <button type="button" class="sort" @click=${sort}>${label}</button>
    </th>`
  }

  #table(name: TableName, label: string, { columns, rows }: UsageTable): Template {
    const { html } = this.#parts.lit
    const view = this.#tools.tableView(rows, this.#look(name))
    const text = (cell: UsageCell): string => (typeof cell === "string" ? cell : cell[0])
    const cell = (found: UsageCell, index: number): Template => {
      if (index === 0) return html`<th scope="row">${text(found)}</th>`
      return typeof found === "string" ? html`<td>${found}</td>` : html`<td class="number">${found[0]}</td>`
    }
    return html`${this.#parts.table(
      `Table: ${label}`,
      columns.map((column, index) => this.#sortable(name, column, index)),
      view.rows.map(
        (row) =>
          html`<tr>
            ${row.map(cell)}
          </tr>`
      )
    )}${this.#pager(name, label, view, rows.length)}`
  }

  #pager(
    name: TableName,
    label: string,
    { found, page, pages }: ReturnType<UsageTools["tableView"]>,
    all: number
  ): Template {
    const { html } = this.#parts.lit
    if (pages === 1 && found === all) return this.#parts.lit.nothing
    const turn = (text: string, to: number): Template =>
      html`<button
        type="button"
        aria-label="${text} of ${label}"
        ?disabled=${to < 0 || to >= pages}
        @click=${() => this.#setLook(name, { page: to })}
      >
        ${text}
      </button>`
    const of = found === all ? `${all}` : `${found} of ${all}`
    return html`<div class="tools pager">
      ${turn("Previous", page - 1)} <span role="status">Page ${page + 1} of ${pages}, ${of} rows</span>
      ${turn("Next", page + 1)}
    </div>`
  }

  /** A filter for a table of more than a page. */
  #filter(name: TableName, { rows }: UsageTable): Template {
    if (rows.length <= 20) return this.#parts.lit.nothing
    const filter = (input: PageInput): void => this.#setLook(name, { words: this.#parts.words(input), page: 0 })
    return this.#parts.lit.html`<div class="tools">
      <label>Filter <input type="search" class="filter" placeholder="words, such as: ann" @input=${filter} /></label>
    </div>`
  }

  #tableSection(name: TableName, title: string, table: UsageTable, empty: string): Template {
    const { html } = this.#parts.lit
    return html`<section id=${name} aria-labelledby="${name}-title">
      <h2 id="${name}-title">${title}</h2>
      ${
        table.rows.length === 0
          ? html`<p class="empty">${empty}</p>`
          : html`${this.#filter(name, table)} ${this.#table(name, title, table)}`
      }
    </section>`
  }

  #users({ users }: UsageContent): Template {
    return this.#tableSection("users", "Users", users, "No person has begun a session in this period.")
  }

  #targets({ targets, userTargets }: UsageContent): Template {
    const none = "No session had a target in this period."
    return this.#parts.lit.html`<div class="beside">
      ${this.#tableSection("targets", "Targets", targets, none)}
      ${this.#tableSection("user-targets", "Who used which target", userTargets, none)}
    </div>`
  }

  /** The key of a cluster's strip, of which no chart has the name. */
  #strip(name: string): string {
    return `strip ${name}`
  }

  #healthRow(cluster: PageHealth, { box, days }: UsageHealth): Template {
    const { html, nothing, svg } = this.#parts.lit
    const [width, height] = box
    const { last, name, notReady, outages, ready, share, summary, unknown } = cluster
    const day = this.#pointed?.chart === this.#strip(name) ? this.#pointed.day : undefined
    const dayWidth = width / Math.max(1, days.length)
    const mark = svg`<rect class="mark" x=${(day ?? 0) * dayWidth} width=${dayWidth} height=${height}></rect>`
    const leave = (): void => {
      this.#pointed = undefined
      this.#draw()
    }
    return html`<tr>
      <th scope="row">${name}</th>
      <td class="strip">
        <svg
          role="img"
          aria-label=${summary}
          viewBox="0 0 ${width} ${height}"
          preserveAspectRatio="none"
          @pointermove=${(event: unknown) => this.#point(this.#strip(name), days.length, event)}
          @pointerleave=${leave}
        >
          ${day === undefined ? nothing : mark}
          <path class="ready" d=${ready}></path>
          <path class="failed" d=${notReady}></path>
          <path class="unknown" d=${unknown}></path>
        </svg>
      </td>
      <td class="number">${share}</td>
      <td>${outages}</td>
      <td class="long">${last}</td>
    </tr>`
  }

  /** The day at the pointer in one of the strips, or how strips are read. */
  #pointedHealth({ clusters, days, states }: UsageHealth): string {
    const index = clusters.findIndex(({ name }) => this.#strip(name) === this.#pointed?.chart)
    const day = this.#pointed?.day ?? 0
    return index < 0
      ? "Each bar is a day: green from below is ready, red from above is not ready, a dash is unknown."
      : `${clusters[index]?.name ?? ""}, ${days[day] ?? ""}: ${states[day]?.[index] ?? ""}`
  }

  #health({ health }: UsageContent): Template {
    const { html, nothing } = this.#parts.lit
    const { clusters, days, note, states } = health
    const [first, last] = [days[0] ?? "", days.at(-1) ?? ""]
    const head = this.#parts.heads("Cluster", first === last ? first : `${first} to ${last.slice(-10)}`)
    const more = this.#parts.heads("Ready", "Outages", "Last outage")
    const columns = ["Day", ...clusters.map(({ name }) => name)].map((name) => ({ name, isNumber: false }))
    const rows = days.map((day, index) => [day, ...(states[index] ?? [])]).toReversed()
    const none = "No cluster of a fleet was there in this period. A primary has the health of its clusters here."
    return html`<section id="health" aria-labelledby="health-title">
      <h2 id="health-title">Clusters day by day</h2>
      ${note === "" ? nothing : html`<p class="hint">${note}</p>`}
      ${note === "" && clusters.length === 0 ? html`<p class="empty">${none}</p>` : nothing}
      ${
        clusters.length === 0
          ? nothing
          : html`<p class="hint" id="health-day">${this.#pointedHealth(health)}</p>
              ${this.#parts.table(
                "Days and outages of the clusters",
                [head, more],
                clusters.map((cluster) => this.#healthRow(cluster, health))
              )}
              <details>
                <summary>As a table</summary>
                ${this.#table("health-days", "Health of the clusters by day", { columns, rows })}
              </details>`
      }
    </section>`
  }

  #clusters({ clusters, clusterSets }: UsageContent): Template {
    const { html, nothing } = this.#parts.lit
    const none = "No session ran in clusters in this period."
    return html`${this.#tableSection("cluster-sets", "Sessions by the clusters that took part", clusterSets, none)}
      <section id="clusters" aria-labelledby="clusters-title">
        <h2 id="clusters-title">Clusters now</h2>
        ${clusters.note === "" ? nothing : html`<p class="hint">${clusters.note}</p>`}
        ${clusters.clusters.length === 0 ? nothing : this.#parts.clusters(clusters.clusters)}
      </section>`
  }
}
