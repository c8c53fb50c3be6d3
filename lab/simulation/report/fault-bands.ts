/**
 * Finds in a story's steps and faults the faults that last, as bands of the time line: from the step that begins a
 * fault to the step that ends it. Other faults become marks (`make-report.ts`).
 */

import { Result } from "effect"
import { duration } from "../story/words.ts"
import type { ReportBand } from "./report-model.ts"

interface Places {
  readonly primary: string
  /** Clusters and clients. */
  readonly all: ReadonlySet<string>
}

interface OpenBand extends Omit<ReportBand, "to"> {
  /** Key of the step that ends the band, such as `link b primary`. */
  readonly key: string
}

const wordsOf = (step: string): ReadonlyArray<string> =>
  step
    .replace(/#.*$/, "")
    .split(/\s+/)
    .filter((word) => word !== "")

const linkKey = (places: ReadonlyArray<string>): string => `link ${places.toSorted().join(" ")}`

/** The key of a lasting fault that a step begins; undefined for steps whose effect is over at once. */
const begins = ([verb, first, second]: ReadonlyArray<string>, places: ReadonlyArray<string>): string | undefined => {
  switch (verb) {
    case "cut":
    case "latency":
      return linkKey(places)
    case "slow":
      return first === "agents" ? `slow agents ${second}` : linkKey(places)
    case "stop":
      return `server ${second}`
    case "pause":
      return `${first} ${second}`
    case "leave":
      return first === "operator" ? `gone ${second}` : undefined
    case "images":
    case "stale":
    case "errors":
      return `${verb} ${first}`
    case "watch":
      return second === "drop" ? `watch ${first}` : undefined
    case "pods":
      return second === "unready" ? `pods ${first}` : undefined
    case "node":
      return second === "cut" || second === "lost" ? `node ${first}` : undefined
    case "skew":
      return `skew ${second}`
    case "swizzle":
      return "swizzle"
    default:
      return undefined
  }
}

/** The key of the lasting fault that a step ends. */
const ends = ([verb, first, second]: ReadonlyArray<string>, places: ReadonlyArray<string>): string | undefined => {
  switch (verb) {
    case "heal":
      return first === "all" ? "all" : linkKey(places)
    case "settle":
      return "all"
    case "restart":
      return `server ${second}`
    case "resume":
      return `${first} ${second}`
    case "return":
      return `gone ${second}`
    case "images":
      return second === "back" ? `images ${first}` : undefined
    case "watch":
      return second === "restore" ? `watch ${first}` : undefined
    case "pods":
      return second === "ready" ? `pods ${first}` : undefined
    case "node":
      return second === "back" ? `node ${first}` : undefined
    default:
      return undefined
  }
}

/** The duration that a step itself gives to its fault, as in `for 20s`, in seconds. */
const lasts = (words: ReadonlyArray<string>): number | undefined => {
  const word = words[0] === "swizzle" ? (words[1] ?? "20s") : words[words.indexOf("for") + 1]
  const ms = Result.getOrElse(duration(word), () => undefined)
  return words[0] === "swizzle" || words.includes("for") ? (ms === undefined ? undefined : ms / 1000) : undefined
}

/** Follows steps and faults and collects the bands. */
export class FaultBands {
  readonly #places: Places
  readonly #open: Array<OpenBand> = []
  readonly #done: Array<ReportBand> = []
  #words: ReadonlyArray<string> = []
  #stepPlaces: ReadonlyArray<string> = []

  constructor(places: Places) {
    this.#places = places
  }

  step(at: number, text: string): void {
    this.#words = wordsOf(text)
    this.#stepPlaces = this.#words.slice(1).filter((word) => this.#places.all.has(word))
    const key = ends(this.#words, this.#stepPlaces)
    if (key !== undefined) this.#close(at, key)
  }

  /** The lanes that a fault of the current step concerns. The primary counts only if no other lane is named. */
  lanes(): ReadonlyArray<string> {
    const others = this.#stepPlaces.filter((place) => place !== this.#places.primary)
    if (others.length > 0) return [...new Set(others)]
    return this.#stepPlaces.length > 0 ? [this.#places.primary] : [...this.#places.all]
  }

  /** Takes a fault; whether it lasts, so that it is a band. */
  fault(at: number, kind: string, text: string): boolean {
    const key = begins(this.#words, this.#stepPlaces)
    // The end of `for 6 calls` is at no time that is known here.
    const isCounted = this.#words.includes("for") && lasts(this.#words) === undefined
    if (key === undefined || isCounted) return false
    const time = lasts(this.#words)
    this.#close(at, key)
    for (const lane of this.lanes()) {
      if (time === undefined) this.#open.push({ key, lane, from: at, kind, text })
      else this.#done.push({ lane, from: at, to: at + time, kind, text })
    }
    return true
  }

  /** All bands; a band that is still open ends here. */
  finish(at: number): ReadonlyArray<ReportBand> {
    this.#close(at, "all")
    return this.#done
      .map((band) => ({ ...band, to: Math.min(band.to, Math.max(at, band.from)) }))
      .toSorted((a, b) => a.from - b.from)
  }

  #close(at: number, key: string): void {
    for (const band of this.#open.filter((open) => key === "all" || open.key === key)) {
      const { key: _, ...rest } = band
      this.#done.push({ ...rest, to: at })
      this.#open.splice(this.#open.indexOf(band), 1)
    }
  }
}
