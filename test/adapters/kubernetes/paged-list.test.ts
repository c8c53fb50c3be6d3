import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { TooLong } from "../../../src/adapters/kubernetes/bounded-body.ts"
import { readPages } from "../../../src/adapters/kubernetes/paged-list.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError, type KubeObject } from "../../../src/ports/kube-api.ts"

type Asked = Readonly<Record<string, string>>
const operation = { cluster: "c", operation: "list configmaps" }
const gone = new KubeError({ ...operation, reason: "Gone", code: 410, detail: "too old" })

/** A server with objects of these sizes, whose answers may have `most` units, and which forgets after `forgets`. */
const server = (sizes: ReadonlyArray<number>, most: number, forgets = 0) => {
  const asked: Array<Asked> = []
  let forgotten = forgets
  const ask = (page: Asked) =>
    Effect.suspend((): Effect.Effect<unknown, KubeError> => {
      asked.push(page)
      const start = Number(page["continue"] ?? 0)
      if (start > 0 && forgotten-- > 0) return Effect.fail(gone)
      const end = Math.min(sizes.length, start + Number(page["limit"]))
      if (sizes.slice(start, end).reduce((sum, size) => sum + size, 0) > most)
        return Effect.succeed(new TooLong("long"))
      const items = sizes.slice(start, end).map((_size, at) => ({ metadata: { name: `n${start + at}` } }))
      const next = end < sizes.length ? { continue: String(end) } : { remainingItemCount: -1 }
      return Effect.succeed({ items, metadata: { resourceVersion: String(asked.length), ...next } })
    })
  return { asked, ask }
}

const names = (items: ReadonlyArray<KubeObject>): ReadonlyArray<string> => items.map(({ metadata }) => metadata.name)
const read = ({ ask }: Pick<ReturnType<typeof server>, "ask">, keeps = configMaps.keeps) =>
  Effect.runPromise(Effect.result(readPages(operation, { ...configMaps, keeps }, ask)))

describe("a list in pages", () => {
  it("is whole, and has the version of its first page", async () => {
    const sizes = Array.from({ length: 1_201 }, () => 1)
    const pages = server(sizes, 10_000)
    const list = await read(pages)
    expect(pages.asked.map((page) => page["continue"])).toEqual([undefined, "500", "1000"])
    expect(list).toMatchObject({ _tag: "Success", success: { resourceVersion: "1" } })
    expect(list._tag === "Success" && names(list.success.items)).toEqual(sizes.map((_size, at) => `n${at}`))
  })

  it.each([
    ["one object fits", 10],
    ["seven fit", 79]
  ])("is whole where %s into an answer", async (_what, most) => {
    const sizes = Array.from({ length: 40 }, () => 10)
    const pages = server(sizes, most)
    const list = await read(pages)
    expect(list._tag === "Success" && list.success.items.length).toBe(40)
    // Down by halves once, and never up again.
    const limits = pages.asked.map(({ limit }) => Number(limit))
    expect(limits.slice(0, 3)).toEqual([500, 250, 125])
    expect(limits).toEqual(limits.toSorted((a, b) => b - a))
  })

  it("cannot be had where one object does not fit", async () => {
    const list = await read(server([1, 11, 1], 10))
    expect(list).toMatchObject({ failure: { reason: "Unreachable", detail: "long" } })
  })

  it("is begun again when the server has forgotten its version, and given up after three tries", async () => {
    const sizes = Array.from({ length: 600 }, () => 1)
    const twice = server(sizes, 10_000, 2)
    expect(await read(twice)).toMatchObject({ _tag: "Success", success: { resourceVersion: "5" } })
    expect(await read(server(sizes, 10_000, 3))).toMatchObject({ failure: { reason: "Gone" } })
  })

  it("takes no memory for what is not kept, and is refused beyond its bound for what is", async () => {
    const heavy = (page: Asked) => {
      const at = Number(page["continue"] ?? 0)
      const items = [{ metadata: { name: `n${at}` }, data: { a: `${at}`.padEnd(1024 * 1024, ".") } }]
      const next = at < 99 ? { continue: String(at + 1) } : {}
      return Effect.succeed({ items, metadata: { resourceVersion: "1", ...next } })
    }
    expect(await read({ ask: heavy })).toMatchObject({ failure: { detail: expect.stringContaining("65536 KiB") } })
    const none = await read({ ask: heavy }, () => undefined)
    expect(none).toMatchObject({ _tag: "Success", success: { items: [] } })
  })

  it.each([[{}], [{ items: [{}], metadata: { resourceVersion: "1" } }], [{ items: [], metadata: {} }], ["text"]])(
    "is never taken for an empty list: %j",
    async (answer) => {
      const list = await read({ ask: () => Effect.succeed(answer) })
      expect(list).toMatchObject({ failure: { reason: "Other", detail: expect.stringContaining("not a list") } })
    }
  )
})
