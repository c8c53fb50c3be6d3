import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type LogLine,
  logStart,
  linesOfSession,
  mergedLines,
  nextLine,
  readLogLine,
  readOn
} from "../../../../src/domain/commands/overview/log-lines.ts"

const filterOf = (reference: string) => Result.getOrThrow(linesOfSession(reference))

describe("a line of a log", () => {
  it("begins with the time of the node, in any zone and as precise as the node is", () => {
    const text = "level=INFO message=x"
    const at = Date.parse("2026-01-02T03:04:05Z")
    expect(readLogLine(`2026-01-02T03:04:05.123456789Z ${text}`, 0)).toEqual({ at: at + 123.456789, text })
    expect(readLogLine(`2026-01-02T03:04:05.5Z ${text}`, 0)).toEqual({ at: at + 500, text })
    expect(readLogLine(`2026-01-02T05:04:05.500000000+02:00 ${text}`, 0)).toEqual({ at: at + 500, text })
    expect(readLogLine("2026-01-02T03:04:05Z ", 0)).toEqual({ at, text: "" })
  })

  it("stays where it is when it is the node's own word, without a time", () => {
    for (const text of ["failed to watch file: too many open files", "", "2026-13-77T99:99:99Z x"])
      expect(readLogLine(text, 7)).toEqual({ at: 7, text })
  })
})

describe("the lines of a session", () => {
  it("are those with its name, and with the names of its parts in clusters", () => {
    const isWanted = filterOf("mc-00000000000000ff")
    for (const text of [
      'message="session ready" session=mc-00000000000000ff',
      "session=mc-00000000000000ff-cluster-a problem=x",
      '{"annotations":{"session":"00000000000000ff"}}',
      "copy mc-copy-00000000000000ff is gone"
    ])
      expect(isWanted(text), text).toBe(true)
    for (const text of ["session=mc-00000000000000fe", "digest=a00000000000000ff0", "ff", ""])
      expect(isWanted(text), text).toBe(false)
  })

  it("can be asked for in every form of its id", () => {
    const line = "session=mc-00000000000000ff-cluster-a"
    for (const form of ["ff", "FF", "255", "mc-ff", "mc-00000000000000ff-cluster-a"])
      expect(filterOf(form)(line), form).toBe(true)
    expect(Result.isFailure(linesOfSession("shop"))).toBe(true)
  })
})

const line = fc.record({ at: fc.integer({ min: 1, max: 9 }), text: fc.string() })
const linesOf = fc.array(line, { maxLength: 20 })

describe("merged lines", () => {
  const log = (pod: string, lines: ReadonlyArray<LogLine>) => ({ cluster: "c", pod, lines })

  it("come by time, with cluster and pod", () => {
    const of = (...times: ReadonlyArray<number>) => times.map((at) => ({ at, text: `line ${at}` }))
    expect(
      mergedLines([
        { cluster: "primary", pod: "a", lines: of(1, 4) },
        { cluster: "member", pod: "b", lines: of(2, 3) }
      ]).map(({ cluster, pod, text }) => `${cluster}/${pod} ${text}`)
    ).toEqual(["primary/a line 1", "member/b line 2", "member/b line 3", "primary/a line 4"])
  })

  it("are all lines, by time; those of one pod in its own order even if its clock went back", () => {
    fc.assert(
      fc.property(fc.array(linesOf, { maxLength: 4 }), (logs) => {
        const merged = mergedLines(logs.map((lines, index) => log(`pod-${index}`, lines)))
        expect(merged.map(({ at }) => at)).toEqual(merged.map(({ at }) => at).toSorted((a, b) => a - b))
        for (const [index, lines] of logs.entries())
          expect(merged.filter(({ pod }) => pod === `pod-${index}`).map(({ text }) => text)).toEqual(
            lines.map(({ text }) => text)
          )
      })
    )
  })
})

describe("a log that is read on", () => {
  const raw = ({ at, text }: LogLine) => `${new Date(at).toISOString()} ${text}`
  // Times of 100 ms, so that several lines share one.
  const texts = fc.array(fc.record({ at: fc.integer({ min: 10, max: 40 }).map((at) => at * 100), text: fc.string() }))

  it("gives each line once, however often and wherever it is cut", () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(20)), (unordered, cuts) => {
        const lines = unordered.toSorted((a, b) => a.at - b.at)
        const all: Array<LogLine> = []
        let read = logStart
        for (const cut of [...cuts, lines.length]) {
          let reading = readOn(read)
          for (const line of lines.slice(0, cut).filter(({ at }) => at >= Math.floor(read.at / 1_000) * 1_000)) {
            const [next, found] = nextLine(reading, raw(line))
            reading = next
            if (!next.isNew) continue
            read = next.here
            all.push(found)
          }
        }
        expect(all).toEqual(lines)
      })
    )
  })

  it("loses no new line when the clock of the node is set back", () => {
    const [first] = nextLine(readOn({ at: 1_000, lines: 1 }), raw({ at: 1_000, text: "read" }))
    const [second] = nextLine(first, raw({ at: 2_000, text: "new" }))
    const [third, line] = nextLine(second, raw({ at: 500, text: "newer" }))
    expect([first.isNew, second.isNew, third.isNew, line]).toEqual([false, true, true, { at: 500, text: "newer" }])
  })
})
