import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { readCached } from "../../../src/app/kernel/read-cached.ts"
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
  it("gives what reading them anew gives, once per object", () => {
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
