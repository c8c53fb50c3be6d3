import { PassThrough, Readable } from "node:stream"
import { Effect, Exit, Pull } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { wholeLines } from "../../../src/adapters/kubernetes/whole-lines.ts"

/** Each piece that comes, until the end. */
const collect = async (body: Readable): Promise<ReadonlyArray<string>> => {
  const some: Array<string> = []
  const next = Effect.map(wholeLines(body), (lines) => void some.push(lines.toString()))
  await Effect.runPromise(Pull.catchDone(Effect.forever(next), () => Effect.void))
  return some
}

describe("whole lines", () => {
  it("come out the same however the bytes are cut, inside characters too", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.array(fc.nat(400), { maxLength: 12 }),
        async (values, cuts) => {
          const text = values.map((value) => `${JSON.stringify(value)}\n`).join("")
          const bytes = Buffer.from(text)
          const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
          const parts = places.slice(1).map((end, index) => new Uint8Array(bytes.subarray(places[index], end)))
          const some = await collect(Readable.from(parts))
          expect(some.join("")).toBe(text)
          expect(some.every((lines) => lines.endsWith("\n"))).toBe(true)
        }
      ),
      { numRuns: 300 }
    ))

  it("leave out one that broke off", async () => {
    expect(await collect(Readable.from([Buffer.from('{"a":1}\r\n\n{"b":"ü')]))).toEqual(['{"a":1}\r\n\n'])
  })

  it("that have come by then come together", async () => {
    const body = new PassThrough()
    for (const part of ["a\nb", "c", "\nd\n", "e"]) body.write(part)
    const next = wholeLines(body)
    expect((await Effect.runPromise(next)).toString()).toBe("a\nbc\nd\n")
    body.end("\n")
    expect((await Effect.runPromise(next)).toString()).toBe("e\n")
    expect(Exit.isFailure(await Effect.runPromiseExit(next))).toBe(true)
  })

  it("are told before what the body fails with", async () => {
    const body = new PassThrough()
    body.write("a\n")
    const next = wholeLines(body)
    expect((await Effect.runPromise(next)).toString()).toBe("a\n")
    const failed = Effect.runPromise(Effect.flip(next))
    body.destroy(new Error("reset"))
    expect(await failed).toEqual(new Error("reset"))
    expect(await Effect.runPromise(Effect.flip(next)), "and again to who asks again").toEqual(new Error("reset"))
  })

  it("that nobody asks for are not read for ever; a long one is, whole", async () => {
    const kilobyte = Buffer.alloc(1024, "x")
    let read = 0
    const lines = Readable.from(
      (function* () {
        for (; read < 10_000; read++) yield read % 2 === 0 ? kilobyte : Buffer.from("\n")
      })()
    )
    const next = wholeLines(lines)
    await Effect.runPromise(next)
    for (let turn = 0; turn < 20_000; turn++) await new Promise(setImmediate)
    expect(read).toBeLessThan(5_000)
    let bytes = 0
    await Effect.runPromise(
      Pull.catchDone(Effect.forever(Effect.map(next, (some) => void (bytes += some.length))), () => Effect.void)
    )
    expect([read, bytes > 4_000_000]).toEqual([10_000, true])
    const long = await collect(Readable.from([...Array.from({ length: 3_000 }, () => kilobyte), Buffer.from("\n")]))
    expect(long.map(({ length }) => length)).toEqual([3_000 * 1024 + 1])
  })

  it("are no longer than an object can be: the rest of a line without end is not read", async () => {
    let read = 0
    const endless = Readable.from(
      (function* () {
        for (; ; read++) yield Buffer.alloc(64 * 1024, "x")
      })()
    )
    const failed = await Effect.runPromise(Effect.flip(wholeLines(endless)))
    expect(String(failed)).toContain("a line of the watch is longer than 4096 KiB")
    expect(read).toBeLessThan(200)
  })
})
