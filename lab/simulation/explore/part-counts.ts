/** Counts how often each part of the program runs, by V8's own coverage. */

import { type Profiler, Session } from "node:inspector"

const root = new URL("../../..", import.meta.url).href

/** The files that are counted: the operator, and of the simulation those that decide whether a story holds. */
const counted = /^(src|lab\/simulation\/(invariants|world))\//

/** The order of magnitude of a count: 0 for none, 1 for 1, 2 up to 3, 3 up to 7, and so on. */
const magnitude = (count: number): number => 32 - Math.clz32(count)

/** A function as `FILE START-END`, and the magnitude of each of its parts as ` START-END:MAGNITUDE`. */
const textOf = (file: string, { ranges }: Profiler.FunctionCoverage): string => {
  const [whole] = ranges
  return [
    `${file} ${whole?.startOffset}-${whole?.endOffset}`,
    ...ranges.map(({ count, endOffset, startOffset }) => `${startOffset}-${endOffset}:${magnitude(count)}`)
  ].join(" ")
}

/**
 * Begins to count, and gives the function that tells each function of the program that ran since it was last asked. A
 * part that it does not name ran as often as the smallest part around it. V8 counts the parts of those functions alone
 * that are compiled later, so call it before the program is loaded.
 */
export const countParts = (): (() => ReadonlyArray<string>) => {
  const session = new Session()
  session.connect()
  session.post("Profiler.enable")
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true })
  return () => {
    let told: ReadonlyArray<string> = []
    // An inspector in the same thread answers before `post` returns.
    session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error
      told = result.flatMap(({ functions, url }) => {
        const file = url.startsWith(root) ? url.slice(root.length) : ""
        // The first one is the module itself, which runs once in a process.
        return counted.test(file) ? functions.slice(1).flatMap((one) => ranOf(file, one)) : []
      })
    })
    return told
  }
}

const ranOf = (file: string, one: Profiler.FunctionCoverage): ReadonlyArray<string> =>
  (one.ranges[0]?.count ?? 0) > 0 ? [textOf(file, one)] : []
