import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterNamesCollide } from "../../../src/domain/fleet/cluster-name.ts"
import { withProvided } from "../../../src/domain/fleet/provided-clusters.ts"
import { configurationOf, foundCluster } from "../../support/fleet.ts"

const configured = configurationOf(["a", "c"])
const add = (...names: ReadonlyArray<string>) => withProvided(configured, names.map(foundCluster), sha256Hex)
const names = ({ configuration }: ReturnType<typeof add>) => configuration.members.map(({ name }) => name)

describe("a fleet with clusters that were found", () => {
  it("has them among the configured ones, by name", () => {
    expect(names(add("d", "b"))).toEqual(["a", "b", "c", "d"])
    expect(add("d", "b").refused).toEqual([])
  })

  it("keeps the configured cluster where a found one has its name, and says so", () => {
    const fleet = add("a", "b")
    expect(fleet.configuration.members.find(({ name }) => name === "a")).toBe(configured.members[0])
    expect(fleet.refused).toEqual([
      "Cluster a of Secret mirrord/a is not used: its name collides with that of cluster a of the configuration; " +
        "rename one of the two."
    ])
  })

  it("has none with the primary's name, or one whose objects would have another's names", () => {
    expect(add(configured.clusterName).refused[0]).toContain("of the primary itself; rename one of the two.")
    expect(names(add("b", "b-refreshed"))).toEqual(["a", "b", "c"])
    expect(add("b", "b-refreshed").refused[0]).toMatch(/^Cluster b-refreshed .* of cluster b of Secret mirrord\/b;/u)
  })

  it("is the same whatever the order of what was found, and no two names in it collide", () => {
    const name = fc.constantFrom("a", "b", "c", "d", "B.x", "b-x", "d-refreshed", configured.clusterName)
    fc.assert(
      fc.property(fc.uniqueArray(name), fc.nat(), (list, turn) => {
        const fleet = add(...list)
        const turned = list.map((_, index) => list[(index + turn) % list.length] ?? "")
        expect(add(...turned)).toEqual(fleet)
        const all = [configured.clusterName, ...names(fleet)]
        for (const [index, one] of all.entries())
          for (const other of all.slice(index + 1)) expect(clusterNamesCollide(one, other, sha256Hex)).toBe(false)
        expect(names(fleet).length + fleet.refused.length).toBe(configured.members.length + list.length)
      })
    )
  })
})
