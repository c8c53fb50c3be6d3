/** Ownership of ports, connections and requests, without any socket. */

import { describe, expect, it } from "vitest"
import {
  dropClient,
  mirror,
  mirrorsOfConnection,
  mirrorsOfRequest,
  noSubscriptions,
  ownerOfConnection,
  ownerOfRequest,
  steal,
  stopMirroring,
  stopStealing,
  subscribedPorts
} from "../../../../lab/agent/incoming/subscriptions.ts"

const request = { method: "GET", uri: "/", headers: [] }
const yes = () => true
const no = () => false
const owner = (all: typeof noSubscriptions) => ownerOfRequest(all, 80, request).client

describe("stealing (wire.md §7.7)", () => {
  const [a, b] = [1, 2]
  it("unfiltered after unfiltered replaces", () => {
    expect(owner(steal(steal(noSubscriptions, 80, a, undefined), 80, b, undefined))).toBe(b)
  })
  it("filtered after unfiltered replaces, even what the filter does not want", () => {
    const all = steal(steal(noSubscriptions, 80, a, undefined), 80, b, no)
    expect(owner(all)).toBeUndefined()
    expect(ownerOfConnection(all, 80)).toBeUndefined()
  })
  it("unfiltered after filtered replaces all", () => {
    const all = steal(steal(steal(noSubscriptions, 80, a, yes), 80, b, yes), 80, 3, undefined)
    expect(ownerOfRequest(all, 80, request)).toEqual({ client: 3, filtered: false, alsoMatching: [] })
    expect(ownerOfConnection(all, 80)).toBe(3)
  })
  it("filtered beside filtered: one gets it, the others are named", () => {
    const all = steal(steal(steal(noSubscriptions, 80, a, yes), 80, b, yes), 80, 3, no)
    expect(ownerOfRequest(all, 80, request)).toEqual({ client: a, filtered: true, alsoMatching: [b] })
  })
  it("the same client again replaces its own", () => {
    expect(owner(steal(steal(noSubscriptions, 80, a, yes), 80, a, no))).toBeUndefined()
  })
  it("an evicted client cannot unsubscribe its successor", () => {
    const all = steal(steal(noSubscriptions, 80, a, undefined), 80, b, undefined)
    expect(owner(stopStealing(all, 80, a))).toBe(b)
    expect(stopStealing(all, 81, a)).toBe(all)
  })
})

describe("mirroring", () => {
  it("never competes", () => {
    const all = mirror(mirror(steal(noSubscriptions, 80, 1, undefined), 80, 2, undefined), 80, 3, no)
    expect(mirrorsOfRequest(all, 80, request)).toEqual([2])
    expect(mirrorsOfConnection(all, 80)).toEqual([2])
    expect(owner(all)).toBe(1)
  })
})

describe("ports", () => {
  it("are redirected while anybody subscribes", () => {
    const all = mirror(steal(mirror(noSubscriptions, 80, 1, undefined), 81, 1, yes), 80, 2, undefined)
    expect([...subscribedPorts(all)].toSorted()).toEqual([80, 81])
    expect([...subscribedPorts(dropClient(all, 1))]).toEqual([80])
    expect([...subscribedPorts(stopMirroring(dropClient(all, 1), 80, 2))]).toEqual([])
  })
})
