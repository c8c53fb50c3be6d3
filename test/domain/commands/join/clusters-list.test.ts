import fc from "fast-check"
import { expect, it } from "vitest"
import { withEntry, withoutEntry } from "../../../../src/domain/commands/join/clusters-list.ts"

const name = fc.constantFrom("a", "b", "c")
const entry = fc.record({ name, server: fc.webUrl() })
const list = fc.record({ clusters: fc.array(fc.oneof(entry, fc.constant(null), fc.constant(1))), other: fc.integer() })

it("an entry comes to the end of a list and leaves it again, and all others stay", () => {
  fc.assert(
    fc.property(list, entry, (value, added) => {
      const longer = withEntry(value, added)
      expect(longer).toEqual({ ...value, clusters: [...value.clusters, added] })
      const rest = value.clusters.filter((one) => one === null || typeof one === "number" || one.name !== added.name)
      expect(withoutEntry(longer, added.name)).toEqual({ ...value, clusters: rest })
    })
  )
})

it("a file without a list gets one", () => {
  const wanted = { name: "a", server: "https://a" }
  for (const value of [undefined, null, {}, { clusters: null }])
    expect(withEntry(value, wanted)).toEqual({ clusters: [wanted] })
})
