/**
 * The script of the report page, which runs in a browser: draws the time line with Observable Plot and fills the table.
 * The page inlines it as the text of the class, so it can use nothing from outside but types.
 */

import type * as PlotLibrary from "@observablehq/plot"
import type { ReportMark, ReportModel } from "./report-model.ts"

/**
 * The few things of a browser's document that the script uses, because the project is compiled without the browser's
 * types.
 */
interface PageElement {
  textContent: string | null
  className: string
  hidden: boolean
  readonly value: string
  readonly clientWidth: number
  readonly offsetWidth: number
  readonly style: Record<string, string>
  readonly classList: { add: (name: string) => void }
  setAttribute: (name: string, value: string) => void
  getAttribute: (name: string) => string | null
  append: (...children: ReadonlyArray<PageElement | string>) => void
  replaceChildren: (...children: ReadonlyArray<PageElement>) => void
  addEventListener: (name: string, listener: (event: PageEvent) => void) => void
  querySelectorAll: (selector: string) => Iterable<PageElement>
  closest: (selector: string) => PageElement | null
  getBoundingClientRect: () => { readonly left: number; readonly bottom: number }
  focus: (options?: { readonly preventScroll: boolean }) => void
}
interface PageEvent {
  readonly target: PageElement
  readonly key: string
  readonly type: string
  readonly clientX: number
  readonly clientY: number
  preventDefault: () => void
}
interface PageDocument {
  getElementById: (id: string) => PageElement | null
  createElement: (name: string) => PageElement
}
interface PageWindow {
  addEventListener: (name: string, listener: () => void) => void
}

/** The pieces of a time line that are shown now. */
interface Shown {
  readonly bands: ReadonlyArray<ReportModel["bands"][number] & { readonly row: string; readonly first: boolean }>
  readonly bars: ReportModel["bars"]
  readonly named: ReadonlyArray<ReportModel["bars"][number] & { readonly name: string }>
  readonly requests: ReportModel["requests"]
  readonly answered: ReadonlyArray<{ readonly at: number; readonly client: string; readonly answeredAt: number }>
  readonly marks: ReportModel["marks"]
  /** The end of the faults. */
  readonly over: ReadonlyArray<number>
}

/** Draws the page from its model. Only the text of this class reaches the page. */
export class ReportDrawing {
  readonly #model: ReportModel
  readonly #plot: typeof PlotLibrary
  readonly #document: PageDocument
  readonly #lanes: ReadonlyArray<string>
  readonly #whole: readonly [number, number]
  readonly #acts: readonly [number, number]
  readonly #left = 150
  /** The marks that people can ask about; the details of a mark are its accessible name. */
  readonly #asked = ".band rect, .bar rect, .request path, .request circle, .mark path, .mark circle"
  #shown: readonly [number, number]

  constructor(model: ReportModel, plot: typeof PlotLibrary, document: PageDocument) {
    const { actsEnd } = model
    this.#model = model
    this.#plot = plot
    this.#document = document
    this.#lanes = [...new Set(model.rows.map(({ lane }) => lane))]
    this.#whole = [0, Math.max(1, model.end)]
    this.#acts = [0, Math.min(this.#whole[1], Math.max(1, actsEnd * 1.05, actsEnd + 5))]
    this.#shown = this.#acts
  }

  /** Draws, and listens to the page's controls. */
  begin(window: PageWindow): void {
    for (const [id, view] of Object.entries(this.#views())) this.#element(`view-${id}`).addEventListener("click", view)
    const list = (): void => this.#list()
    this.#element("filter").addEventListener("input", list)
    this.#element("kind").addEventListener("change", list)
    window.addEventListener("resize", () => this.#draw())
    this.#draw()
    list()
  }

  #views(): Readonly<Record<string, () => void>> {
    /** Moves both ends by parts of what is shown. */
    const move = (start: number, end: number) => (): void => {
      const [from, to] = this.#shown
      this.#show(from + (to - from) * start, to + (to - from) * end)
    }
    return {
      acts: () => this.#show(...this.#acts),
      whole: () => this.#show(...this.#whole),
      closer: move(1 / 4, -1 / 4),
      wider: move(-1 / 2, 1 / 2),
      earlier: move(-1 / 2, -1 / 2),
      later: move(1 / 2, 1 / 2)
    }
  }

  #element(id: string): PageElement {
    const found = this.#document.getElementById(id)
    if (found === null) throw new Error(`the page has no ${id}`)
    return found
  }

  #seconds(at: number): string {
    return `${at.toFixed(3)} s`
  }

  #color(name: string): string {
    return `var(--${name})`
  }

  #rowsOf(lane: string): ReadonlyArray<string> {
    return this.#model.rows.filter((row) => row.lane === lane).map(({ id }) => id)
  }

  #during(from: number, to: number): boolean {
    return to >= this.#shown[0] && from <= this.#shown[1]
  }

  #cut(at: number): number {
    return Math.min(this.#shown[1], Math.max(this.#shown[0], at))
  }

  /** The pieces of all bands: a band has a piece behind each row of its lane. */
  #bandPieces(): Shown["bands"] {
    return this.#model.bands.flatMap((band) =>
      this.#during(band.from, band.to)
        ? this.#rowsOf(band.lane).map((row, i) => ({
            ...band,
            row,
            text: `${band.kind}: ${band.text}, ${this.#seconds(band.from)} to ${this.#seconds(band.to)}`,
            first: i === 0
          }))
        : []
    )
  }

  /**
   * The bars that are wide enough to show their names. Agents are left out: several share a row, where names would
   * cover each other.
   */
  #named(bars: ReportModel["bars"], width: number): Shown["named"] {
    const scale = (width - this.#left) / (this.#shown[1] - this.#shown[0])
    return bars
      .filter(({ row }) => !row.endsWith(" agents"))
      .map((bar) => ({
        ...bar,
        name: bar.text
          .replace(/^(parent of|child of|operator of) \S+ /, "")
          .replace(/[:(].*$/, "")
          .trim()
      }))
      .filter(({ from, to, name }) => (this.#cut(to) - this.#cut(from)) * scale > name.length * 6 + 12)
  }

  #pieces(width: number): Shown {
    const model = this.#model
    const bars = model.bars.filter(({ from, to }) => this.#during(from, to))
    const requests = model.requests.filter(({ at }) => this.#during(at, at))
    return {
      bands: this.#bandPieces(),
      bars,
      named: this.#named(bars, width),
      requests,
      answered: requests.flatMap((request) =>
        request.client !== undefined && request.answeredAt !== undefined
          ? [{ ...request, client: request.client, answeredAt: request.answeredAt }]
          : []
      ),
      marks: model.marks.filter(({ at }) => this.#during(at, at)),
      over: model.actsEnd < model.end ? [model.actsEnd].filter((at) => this.#during(at, at)) : []
    }
  }

  #timeline(width: number): PageElement {
    const rowNames = this.#model.rows.map(({ id }) => id)
    const pieces = this.#pieces(width)
    return this.#plot.plot({
      width,
      height: 60 + rowNames.length * 24,
      marginLeft: this.#left,
      marginTop: 24,
      marginRight: 16,
      x: { domain: [...this.#shown], label: "virtual seconds", grid: true },
      y: { domain: rowNames, label: null, padding: 0, tickSize: 0 },
      className: "timeline",
      ariaLabel: `Time line of ${this.#model.title}`,
      marks: [...this.#spans(pieces), ...this.#moments(pieces)]
    })
  }

  /** Marks with a length: bands of faults, and bars with their names. */
  #spans({ bands, bars, named }: Shown) {
    const Plot = this.#plot
    const firstRows = this.#lanes.map((lane) => this.#rowsOf(lane)[0] ?? lane)
    return [
      Plot.barX(bands, {
        className: "band",
        y: "row",
        x1: ({ from }) => this.#cut(from),
        x2: ({ to }) => this.#cut(to),
        fill: this.#color("fault"),
        fillOpacity: 0.22,
        ariaLabel: "text"
      }),
      Plot.ruleY(firstRows, { y: (row: string) => row, dy: -12, stroke: "currentColor", strokeOpacity: 0.35 }),
      Plot.barX(bars, {
        className: "bar",
        y: "row",
        x1: ({ from }) => this.#cut(from),
        x2: ({ to }) => this.#cut(to),
        insetTop: 5,
        insetBottom: 5,
        rx: 3,
        fill: ({ look }) => this.#color(look),
        fillOpacity: 0.85,
        ariaLabel: ({ row, text, from, to }) => `${row}: ${text}, ${this.#seconds(from)} to ${this.#seconds(to)}`
      }),
      Plot.text(named, {
        y: "row",
        x: ({ from }) => this.#cut(from),
        text: "name",
        textAnchor: "start",
        dx: 6,
        fontSize: 10,
        fill: this.#color("on-bar"),
        pointerEvents: "none"
      }),
      Plot.text(
        bands.filter(({ first }) => first),
        {
          y: "row",
          x: ({ from }) => this.#cut(from),
          text: "kind",
          textAnchor: "start",
          dx: 4,
          dy: -12,
          fontSize: 10,
          fontWeight: "bold",
          fill: this.#color("fault-text"),
          stroke: this.#color("page"),
          strokeWidth: 4,
          pointerEvents: "none"
        }
      )
    ]
  }

  /** Marks of a moment: requests and their answers, faults, the end of the faults, the moment that broke. */
  #moments({ answered, marks, over, requests }: Shown) {
    const Plot = this.#plot
    const model = this.#model
    return [
      Plot.arrow(answered, {
        className: "answer",
        x1: "at",
        y1: "row",
        x2: ({ answeredAt }) => this.#cut(answeredAt),
        y2: "client",
        stroke: this.#color("by-client"),
        strokeOpacity: 0.6,
        strokeWidth: 1,
        headLength: 5,
        bend: 8,
        pointerEvents: "none"
      }),
      Plot.dot(requests, {
        className: "request",
        x: "at",
        y: "row",
        r: 4.5,
        fill: ({ by }) => this.#color(`by-${by}`),
        stroke: this.#color("page"),
        strokeWidth: 1,
        ariaLabel: ({ text, at }) => `${text}, at ${this.#seconds(at)}`
      }),
      Plot.dot(marks, {
        className: "mark",
        x: "at",
        y: "row",
        r: 5,
        symbol: ({ look }: ReportMark) => ({ fault: "triangle", start: "circle", end: "times", broken: "times" })[look],
        fill: ({ look }: ReportMark) => (look === "fault" ? this.#color("fault-text") : "none"),
        stroke: this.#color("fault-text"),
        strokeWidth: 1.8,
        ariaLabel: ({ text, at }: ReportMark) => `${text}, at ${this.#seconds(at)}`
      }),
      Plot.ruleX(over, { stroke: "currentColor", strokeDasharray: "4,3" }),
      Plot.text(over, { x: (at: number) => at, frameAnchor: "top", dy: -14, text: () => "faults end", fontSize: 10 }),
      Plot.ruleX(model.passed ? [] : [model.end].filter((at) => this.#during(at, at)), {
        className: "broken",
        stroke: this.#color("failed"),
        strokeWidth: 2.5,
        ariaLabel: () => model.verdict
      })
    ]
  }

  #sparklines(width: number): PageElement {
    const model = this.#model
    const shown = this.#shown
    // A second without messages counts as zero, so that the line falls there.
    const counts = new Map(model.messages.map(({ lane, second, count }) => [`${lane} ${second}`, count]))
    const talking = this.#lanes.filter((lane) => model.messages.some((message) => message.lane === lane))
    const step = Math.max(1, Math.ceil((shown[1] - shown[0]) / 600))
    const points = talking.flatMap((lane) =>
      Array.from({ length: Math.ceil((shown[1] - shown[0]) / step) + 1 }, (_, i) => {
        const second = Math.floor(shown[0]) + i * step
        let count = 0
        for (let s = second; s < second + step; s++) count += counts.get(`${lane} ${s}`) ?? 0
        return { lane, second, count: count / step }
      }).filter(({ second }) => second <= shown[1])
    )
    return this.#plot.plot({
      width,
      height: 30 + talking.length * 34,
      marginLeft: this.#left,
      marginRight: 16,
      marginTop: 4,
      x: { domain: [...shown], label: null },
      y: { axis: null },
      fy: { domain: talking, label: null, padding: 0.15, axis: "left" },
      className: "sparklines",
      ariaLabel: "Messages per second by client and cluster",
      marks: [
        this.#plot.areaY(points, {
          x: "second",
          y: "count",
          fy: "lane",
          fill: this.#color("messages"),
          curve: "step-after"
        }),
        this.#plot.ruleY([0], { strokeOpacity: 0.3 })
      ]
    })
  }

  #explain(mark: PageElement | null, x: number, y: number): void {
    const details = this.#element("details")
    const text = mark?.getAttribute("aria-label") ?? ""
    details.textContent = text
    details.hidden = text === ""
    details.style["left"] = `${Math.max(8, x - 40)}px`
    details.style["top"] = `${y + 16}px`
  }

  #draw(): void {
    const chart = this.#element("chart")
    const width = Math.max(480, chart.clientWidth)
    const svg = this.#timeline(width)
    chart.replaceChildren(svg, this.#sparklines(width))
    const marks = [...svg.querySelectorAll(this.#asked)].filter((mark) => mark.getAttribute("aria-label") !== null)
    for (const i of marks.keys()) this.#makeAskable(marks, i)
    for (const name of ["pointermove", "click"]) {
      svg.addEventListener(name, ({ clientX, clientY, target }) =>
        this.#explain(target.closest(this.#asked), clientX, clientY)
      )
    }
    svg.addEventListener("pointerleave", () => this.#explain(null, 0, 0))
    const [from, to] = this.#shown
    this.#element("shown").textContent = `${from.toFixed(0)} s to ${to.toFixed(0)} s`
  }

  /** Lets people reach a mark by keys. */
  #makeAskable(marks: ReadonlyArray<PageElement>, i: number): void {
    const mark = marks[i]
    if (mark === undefined) return
    mark.setAttribute("role", "img")
    mark.setAttribute("tabindex", i === 0 ? "0" : "-1")
    const move = (to: number): void => {
      mark.setAttribute("tabindex", "-1")
      const next = marks[Math.min(marks.length - 1, Math.max(0, to))]
      next?.setAttribute("tabindex", "0")
      next?.focus()
    }
    const places: Readonly<Record<string, number>> = {
      ArrowRight: i + 1,
      ArrowDown: i + 1,
      ArrowLeft: i - 1,
      ArrowUp: i - 1,
      Home: 0,
      End: marks.length - 1
    }
    mark.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#explain(null, 0, 0)
      const to = places[event.key]
      if (to === undefined) return
      event.preventDefault()
      move(to)
    })
    mark.addEventListener("focus", () => {
      const { bottom, left: x } = mark.getBoundingClientRect()
      this.#explain(mark, x + 40, bottom - 8)
    })
    mark.addEventListener("blur", () => this.#explain(null, 0, 0))
  }

  #show(from: number, to: number): void {
    const end = this.#whole[1]
    const width = Math.min(end, Math.max(1, to - from))
    const start = Math.min(end - width, Math.max(0, from))
    this.#shown = [start, start + width]
    this.#draw()
  }

  /** Fills the table of events. */
  #list(): void {
    const { events } = this.#model
    const words = this.#element("filter")
      .value.toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "")
    const kind = this.#element("kind").value
    const found = events.filter(
      (event) =>
        (kind === "" || event.kind === kind) &&
        words.every((word) => `${event.lane} ${event.kind} ${event.text}`.toLowerCase().includes(word))
    )
    this.#element("events").replaceChildren(...found.map((event) => this.#row(event)))
    this.#element("found").textContent = `${found.length} of ${events.length} events`
  }

  #row(event: ReportModel["events"][number]): PageElement {
    const row = this.#document.createElement("tr")
    row.className = `event ${event.kind}`
    const time = this.#document.createElement("button")
    time.textContent = event.at.toFixed(3)
    time.setAttribute("aria-label", `show ${this.#seconds(event.at)} in the time line`)
    time.addEventListener("click", () => this.#show(event.at - 10, event.at + 10))
    for (const content of [time, event.lane, event.kind, event.text]) {
      const cell = this.#document.createElement("td")
      cell.append(content)
      row.append(cell)
    }
    return row
  }
}
