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

/** The words after a step's verb, and the places among them. */
type Key = (words: readonly [first: string, second: string], places: ReadonlyArray<string>) => string | undefined

const ofLink: Key = (_, places) => linkKey(places)
/** A step about its first word, if its second is one of these. */
const where =
  (name: string, ...seconds: ReadonlyArray<string>): Key =>
  ([first, second]) =>
    seconds.includes(second) ? `${name} ${first}` : undefined

/** By verb: the key of the lasting fault that a step begins. The effects of other steps are over at once. */
const begins: Readonly<Record<string, Key>> = {
  cut: ofLink,
  latency: ofLink,
  slow: ([first, second], places) => (first === "agents" ? `slow agents ${second}` : linkKey(places)),
  stop: ([, second]) => `server ${second}`,
  pause: ([first, second]) => `${first} ${second}`,
  leave: ([first, second]) => (first === "operator" ? `gone ${second}` : undefined),
  images: ([first]) => `images ${first}`,
  stale: ([first]) => `stale ${first}`,
  errors: ([first]) => `errors ${first}`,
  watch: where("watch", "drop"),
  pods: where("pods", "unready"),
  node: where("node", "cut", "lost"),
  skew: ([, second]) => `skew ${second}`,
  swizzle: () => "swizzle"
}

/** By verb: the key of the lasting fault that a step ends. */
const ends: Readonly<Record<string, Key>> = {
  heal: ([first], places) => (first === "all" ? "all" : linkKey(places)),
  settle: () => "all",
  restart: ([, second]) => `server ${second}`,
  resume: ([first, second]) => `${first} ${second}`,
  return: ([, second]) => `gone ${second}`,
  images: where("images", "back"),
  watch: where("watch", "restore"),
  pods: where("pods", "ready"),
  node: where("node", "back")
}

/** The duration that a step itself gives to its fault, as in `for 20s`, in seconds. */
const lasts = (words: ReadonlyArray<string>): number | undefined => {
  const isSwizzle = words[0] === "swizzle"
  if (!isSwizzle && !words.includes("for")) return undefined
  const word = isSwizzle ? (words[1] ?? "20s") : words[words.indexOf("for") + 1]
  return Result.getOrUndefined(Result.map(duration(word), (ms) => ms / 1000))
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
    const key = this.#key(ends)
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
    const key = this.#key(begins)
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

  #key(keys: Readonly<Record<string, Key>>): string | undefined {
    const [verb = "", first = "", second = ""] = this.#words
    return keys[verb]?.([first, second], this.#stepPlaces)
  }

  #close(at: number, key: string): void {
    for (const band of this.#open.filter((open) => key === "all" || open.key === key)) {
      const { key: _, ...rest } = band
      this.#done.push({ ...rest, to: at })
      this.#open.splice(this.#open.indexOf(band), 1)
    }
  }
}
