/**
 * The script of the report page, which runs in a browser: draws the time line with Observable Plot and fills the table.
 * The page inlines it as the text of the function, so it can use nothing from outside but types.
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

/** Draws the page from its model. Only the text of this function reaches the page. */
export const drawReport = (
  model: ReportModel,
  Plot: typeof PlotLibrary,
  document: PageDocument,
  window: PageWindow
): void => {
  const element = (id: string): PageElement => {
    const found = document.getElementById(id)
    if (found === null) throw new Error(`the page has no ${id}`)
    return found
  }
  const seconds = (at: number): string => `${at.toFixed(3)} s`
  const details = element("details")
  const rowNames = model.rows.map(({ id }) => id)
  const lanes = [...new Set(model.rows.map(({ lane }) => lane))]
  const rowsOf = (lane: string): ReadonlyArray<string> =>
    model.rows.filter((row) => row.lane === lane).map(({ id }) => id)
  const whole: readonly [number, number] = [0, Math.max(1, model.end)]
  const acts: readonly [number, number] = [0, Math.min(whole[1], Math.max(1, model.actsEnd * 1.05, model.actsEnd + 5))]
  let shown: readonly [number, number] = acts

  const during = (from: number, to: number): boolean => to >= shown[0] && from <= shown[1]
  const cut = (at: number): number => Math.min(shown[1], Math.max(shown[0], at))
  /** The pieces of all bands: a band has a piece behind each row of its lane. */
  const bandPieces = () =>
    model.bands.flatMap((band) =>
      during(band.from, band.to)
        ? rowsOf(band.lane).map((row, i) => ({
            ...band,
            row,
            text: `${band.kind}: ${band.text}, ${seconds(band.from)} to ${seconds(band.to)}`,
            first: i === 0
          }))
        : []
    )
  const left = 150
  const color = (name: string): string => `var(--${name})`

  const timeline = (width: number): PageElement => {
    const bands = bandPieces()
    const bars = model.bars.filter(({ from, to }) => during(from, to))
    const requests = model.requests.filter(({ at }) => during(at, at))
    const answered = requests.flatMap((request) =>
      request.client !== undefined && request.answeredAt !== undefined
        ? [{ ...request, client: request.client, answeredAt: request.answeredAt }]
        : []
    )
    const marks = model.marks.filter(({ at }) => during(at, at))
    // A bar that is wide enough shows its name. Agents are left out: several share a row, where names would cover each
    // other.
    const named = bars
      .filter(({ row }) => !row.endsWith(" agents"))
      .map((bar) => ({
        ...bar,
        name: bar.text
          .replace(/^(parent of|child of|operator of) \S+ /, "")
          .replace(/[:(].*$/, "")
          .trim()
      }))
      .filter(
        ({ from, to, name }) => ((cut(to) - cut(from)) / (shown[1] - shown[0])) * (width - left) > name.length * 6 + 12
      )
    const firstRows = lanes.map((lane) => rowsOf(lane)[0] ?? lane)
    const over = model.actsEnd < model.end ? [model.actsEnd].filter((at) => during(at, at)) : []
    return Plot.plot({
      width,
      height: 60 + rowNames.length * 24,
      marginLeft: left,
      marginTop: 24,
      marginRight: 16,
      x: { domain: [...shown], label: "virtual seconds", grid: true },
      y: { domain: rowNames, label: null, padding: 0, tickSize: 0 },
      className: "timeline",
      ariaLabel: `Time line of ${model.title}`,
      marks: [
        Plot.barX(bands, {
          className: "band",
          y: "row",
          x1: ({ from }) => cut(from),
          x2: ({ to }) => cut(to),
          fill: color("fault"),
          fillOpacity: 0.22,
          ariaLabel: "text"
        }),
        Plot.ruleY(firstRows, { y: (row: string) => row, dy: -12, stroke: "currentColor", strokeOpacity: 0.35 }),
        Plot.barX(bars, {
          className: "bar",
          y: "row",
          x1: ({ from }) => cut(from),
          x2: ({ to }) => cut(to),
          insetTop: 5,
          insetBottom: 5,
          rx: 3,
          fill: ({ look }) => color(look),
          fillOpacity: 0.85,
          ariaLabel: ({ row, text, from, to }) => `${row}: ${text}, ${seconds(from)} to ${seconds(to)}`
        }),
        Plot.text(named, {
          y: "row",
          x: ({ from }) => cut(from),
          text: "name",
          textAnchor: "start",
          dx: 6,
          fontSize: 10,
          fill: color("on-bar"),
          pointerEvents: "none"
        }),
        Plot.text(
          bands.filter(({ first }) => first),
          {
            y: "row",
            x: ({ from }) => cut(from),
            text: "kind",
            textAnchor: "start",
            dx: 4,
            dy: -12,
            fontSize: 10,
            fontWeight: "bold",
            fill: color("fault-text"),
            stroke: color("page"),
            strokeWidth: 4,
            pointerEvents: "none"
          }
        ),
        Plot.arrow(answered, {
          className: "answer",
          x1: "at",
          y1: "row",
          x2: ({ answeredAt }) => cut(answeredAt),
          y2: "client",
          stroke: color("by-client"),
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
          fill: ({ by }) => color(`by-${by}`),
          stroke: color("page"),
          strokeWidth: 1,
          ariaLabel: ({ text, at }) => `${text}, at ${seconds(at)}`
        }),
        Plot.dot(marks, {
          className: "mark",
          x: "at",
          y: "row",
          r: 5,
          symbol: ({ look }: ReportMark) => (look === "fault" ? "triangle" : look === "start" ? "circle" : "times"),
          fill: ({ look }: ReportMark) => (look === "fault" ? color("fault-text") : "none"),
          stroke: color("fault-text"),
          strokeWidth: 1.8,
          ariaLabel: ({ text, at }: ReportMark) => `${text}, at ${seconds(at)}`
        }),
        Plot.ruleX(over, { stroke: "currentColor", strokeDasharray: "4,3" }),
        Plot.text(over, { x: (at: number) => at, frameAnchor: "top", dy: -14, text: () => "faults end", fontSize: 10 }),
        Plot.ruleX(model.passed ? [] : [model.end].filter((at) => during(at, at)), {
          className: "broken",
          stroke: color("failed"),
          strokeWidth: 2.5,
          ariaLabel: () => model.verdict
        })
      ]
    })
  }

  const sparklines = (width: number): PageElement => {
    // A second without messages counts as zero, so that the line falls there.
    const counts = new Map(model.messages.map(({ lane, second, count }) => [`${lane} ${second}`, count]))
    const talking = lanes.filter((lane) => model.messages.some((message) => message.lane === lane))
    const step = Math.max(1, Math.ceil((shown[1] - shown[0]) / 600))
    const points = talking.flatMap((lane) =>
      Array.from({ length: Math.ceil((shown[1] - shown[0]) / step) + 1 }, (_, i) => {
        const second = Math.floor(shown[0]) + i * step
        let count = 0
        for (let s = second; s < second + step; s++) count += counts.get(`${lane} ${s}`) ?? 0
        return { lane, second, count: count / step }
      }).filter(({ second }) => second <= shown[1])
    )
    return Plot.plot({
      width,
      height: 30 + talking.length * 34,
      marginLeft: left,
      marginRight: 16,
      marginTop: 4,
      x: { domain: [...shown], label: null },
      y: { axis: null },
      fy: { domain: talking, label: null, padding: 0.15, axis: "left" },
      className: "sparklines",
      ariaLabel: "Messages per second by client and cluster",
      marks: [
        Plot.areaY(points, { x: "second", y: "count", fy: "lane", fill: color("messages"), curve: "step-after" }),
        Plot.ruleY([0], { strokeOpacity: 0.3 })
      ]
    })
  }

  /** The marks that people can ask about; the details of a mark are its accessible name. */
  const asked = ".band rect, .bar rect, .request path, .request circle, .mark path, .mark circle"
  const explain = (mark: PageElement | null, x: number, y: number): void => {
    const text = mark?.getAttribute("aria-label") ?? ""
    details.textContent = text
    details.hidden = text === ""
    details.style["left"] = `${Math.max(8, x - 40)}px`
    details.style["top"] = `${y + 16}px`
  }
  const draw = (): void => {
    const chart = element("chart")
    const width = Math.max(480, chart.clientWidth)
    const svg = timeline(width)
    chart.replaceChildren(svg, sparklines(width))
    const marks = [...svg.querySelectorAll(asked)].filter((mark) => mark.getAttribute("aria-label") !== null)
    for (const [i, mark] of marks.entries()) {
      mark.setAttribute("role", "img")
      mark.setAttribute("tabindex", i === 0 ? "0" : "-1")
      const move = (to: number): void => {
        mark.setAttribute("tabindex", "-1")
        const next = marks[Math.min(marks.length - 1, Math.max(0, to))]
        next?.setAttribute("tabindex", "0")
        next?.focus()
      }
      mark.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
        if (event.key === "Escape") explain(null, 0, 0)
        if (step === undefined && event.key !== "Home" && event.key !== "End") return
        event.preventDefault()
        move(step === undefined ? (event.key === "Home" ? 0 : marks.length - 1) : i + step)
      })
      mark.addEventListener("focus", () => {
        const { bottom, left: x } = mark.getBoundingClientRect()
        explain(mark, x + 40, bottom - 8)
      })
      mark.addEventListener("blur", () => explain(null, 0, 0))
    }
    for (const name of ["pointermove", "click"]) {
      svg.addEventListener(name, (event) => explain(event.target.closest(asked), event.clientX, event.clientY))
    }
    svg.addEventListener("pointerleave", () => explain(null, 0, 0))
    element("shown").textContent = `${shown[0].toFixed(0)} s to ${shown[1].toFixed(0)} s`
  }
  const show = (from: number, to: number): void => {
    const width = Math.min(whole[1], Math.max(1, to - from))
    const start = Math.min(whole[1] - width, Math.max(0, from))
    shown = [start, start + width]
    draw()
  }
  const views: Readonly<Record<string, () => void>> = {
    acts: () => show(...acts),
    whole: () => show(...whole),
    closer: () => show(shown[0] + (shown[1] - shown[0]) / 4, shown[1] - (shown[1] - shown[0]) / 4),
    wider: () => show(shown[0] - (shown[1] - shown[0]) / 2, shown[1] + (shown[1] - shown[0]) / 2),
    earlier: () => show(shown[0] - (shown[1] - shown[0]) / 2, shown[1] - (shown[1] - shown[0]) / 2),
    later: () => show(shown[0] + (shown[1] - shown[0]) / 2, shown[1] + (shown[1] - shown[0]) / 2)
  }
  for (const [id, view] of Object.entries(views)) element(`view-${id}`).addEventListener("click", view)

  const list = (): void => {
    const words = element("filter")
      .value.toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "")
    const kind = element("kind").value
    const found = model.events.filter(
      (event) =>
        (kind === "" || event.kind === kind) &&
        words.every((word) => `${event.lane} ${event.kind} ${event.text}`.toLowerCase().includes(word))
    )
    const rows = found.map((event) => {
      const row = document.createElement("tr")
      row.className = `event ${event.kind}`
      const time = document.createElement("button")
      time.textContent = event.at.toFixed(3)
      time.setAttribute("aria-label", `show ${seconds(event.at)} in the time line`)
      time.addEventListener("click", () => show(event.at - 10, event.at + 10))
      for (const content of [time, event.lane, event.kind, event.text]) {
        const cell = document.createElement("td")
        cell.append(content)
        row.append(cell)
      }
      return row
    })
    element("events").replaceChildren(...rows)
    element("found").textContent = `${found.length} of ${model.events.length} events`
  }
  element("filter").addEventListener("input", list)
  element("kind").addEventListener("change", list)
  window.addEventListener("resize", draw)
  draw()
  list()
}
