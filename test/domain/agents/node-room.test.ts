import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { podsOnNode, whyNoRoom } from "../../../src/domain/agents/node-room.ts"

const node = (pods: string | undefined) => ({
  metadata: { name: "node-1" },
  ...(pods === undefined ? {} : { status: { allocatable: { pods } } })
})

describe("a node's room for the pod of an agent", () => {
  it("is there below the number of pods that it takes, and not from there on", () => {
    fc.assert(
      fc.property(fc.nat(300), fc.nat(300), (allocatable, running) => {
        expect(whyNoRoom(node(String(allocatable)), running) === undefined).toBe(running < allocatable)
      })
    )
    expect(whyNoRoom(node("110"), 110)).toBe("node node-1 is full: 110 pods run there, and it takes 110")
  })

  it.each([[undefined], [""], ["many"], ["1k"]])("is taken for granted where the node says %j", (pods) =>
    expect(whyNoRoom(node(pods), 1_000_000)).toBeUndefined()
  )

  it("counts pods that run there", () =>
    expect(podsOnNode("node-1")).toEqual({ "status.phase": "Running", "spec.nodeName": "node-1" }))
})
