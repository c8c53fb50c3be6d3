import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readCached, readHeartbeat } from "../../../src/app/kernel/read-cached.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

const parent = (spec: object) => ({
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordMultiClusterSession",
  metadata: { name: "mc-1" },
  spec
})

describe("reading objects of a cache", () => {
  it("gives what reading them again gives, once per object", () => {
    const object = parent({ clusters: [] })
    const first = readCached(mirrordMultiClusterSessions, object)
    expect(first).toEqual(readResource(mirrordMultiClusterSessions, object))
    expect(readCached(mirrordMultiClusterSessions, object)).toBe(first)
    expect(readCached(mirrordMultiClusterSessions, parent({ clusters: [] }))).not.toBe(first)
  })

  it("remembers an object that cannot be read, and each kind by itself", () => {
    const object = parent({ clusters: 5 })
    expect(Result.isFailure(readCached(mirrordMultiClusterSessions, object))).toBe(true)
    expect(readCached(mirrordMultiClusterSessions, object)).toEqual(readResource(mirrordMultiClusterSessions, object))
    expect(readCached(mirrordClusterSessions, object)).toEqual(readResource(mirrordClusterSessions, object))
  })
})

describe("reading a heartbeat", () => {
  const spec = { namespace: "shop", owner: { username: "ann", k8sUsername: "ann", hostname: "laptop", userId: "1" } }
  const child = (resourceVersion: string | undefined, status: unknown, more: object = {}) => ({
    metadata: { name: "s", uid: "u", ...(resourceVersion === undefined ? {} : { resourceVersion }), ...more },
    spec,
    ...(status === undefined ? {} : { status })
  })
  const read = (object: object) => readCached(mirrordClusterSessions, object as ReturnType<typeof child>)

  it("gives what reading the object again gives, and keeps all other parts", () => {
    const status = fc.record(
      {
        closed: fc.constantFrom(null, { reason: "Gone", message: "It went." }),
        observedGeneration: fc.integer(),
        unknown: fc.json(),
        conditions: fc.constantFrom(
          [],
          [{ type: "Ready", status: "True", reason: "R", message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" }]
        )
      },
      { requiredKeys: [] }
    )
    const labels = fc.dictionary(fc.string(), fc.string())
    fc.assert(
      fc.property(status, labels, fc.string(), fc.string(), (rest, some, first, second) => {
        const before = child("1", { ...rest, connectedTimestamp: first }, { labels: some, managedFields: null })
        const after = child("2", { ...rest, connectedTimestamp: second }, { labels: some, managedFields: null })
        const known = Result.getOrThrow(read(before))
        readHeartbeat(mirrordClusterSessions, before, after)
        const next = read(after)
        expect(next).toEqual(readResource(mirrordClusterSessions, after))
        expect(Result.getOrThrow(next).spec).toBe(known.spec)
      })
    )
  })

  const beaten = { connectedTimestamp: "a" }
  it.each<readonly [string, ReturnType<typeof child>, ReturnType<typeof child>]>([
    ["the first one", child("1", undefined), child("2", beaten)],
    ["the first one in a status", child("1", {}), child("2", beaten)],
    ["one that is no text", child("1", beaten), child("2", { connectedTimestamp: 5 })],
    ["one that is taken back", child("1", beaten), child("2", {})],
    ["one that is null", child("1", beaten), child("2", { connectedTimestamp: null })],
    ["a status that is no object", child("1", beaten), child("2", "late")],
    ["an object without a version", child("1", beaten), child(undefined, beaten)],
    ["an object whose predecessor cannot be read", child("1", { ...beaten, closed: 5 }), child("2", beaten)]
  ])("reads again: %s", (_what, before, after) => {
    read(before)
    readHeartbeat(mirrordClusterSessions, before, after)
    expect(read(after)).toEqual(readResource(mirrordClusterSessions, after))
  })

  it("remembers nothing about an object whose predecessor was never read", () => {
    const [before, after] = [child("1", beaten), child("2", { connectedTimestamp: "b" })]
    readHeartbeat(mirrordClusterSessions, before, after)
    expect(read(after)).toEqual(readResource(mirrordClusterSessions, after))
  })
})
