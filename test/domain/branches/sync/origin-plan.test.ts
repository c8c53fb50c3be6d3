import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { planOrigin } from "../../../../src/domain/branches/sync/origin-plan.ts"
import { originAnnotations, originOf, syncedBranches } from "../../../../src/domain/branches/sync/synced-branch.ts"
import { at } from "../../../../src/domain/json.ts"
import { cluster, name, namespace, ready, spec, TwoSides } from "./two-sides.ts"

const steps = ["", "Init", "Pending", "Ready", "Failed"]

/** A thing that happens to the two clusters. */
const happening = fc.oneof(
  fc.constant({ _tag: "Order" as const }),
  fc.record({ _tag: fc.constant("Migrations" as const), archive: fc.string({ minLength: 1 }) }),
  fc.constant({ _tag: "DeleteOrigin" as const }),
  fc.constant({ _tag: "DeleteCopy" as const }),
  fc.record({
    _tag: fc.constant("Says" as const),
    phase: fc.constantFrom("Pending", "Ready", "Failed"),
    sessions: fc.subarray(["1", "2"]),
    isCurrent: fc.boolean()
  }),
  fc.constant({ _tag: "Edit" as const }),
  fc.constant({ _tag: "Stranger" as const }),
  fc.constant({ _tag: "Stale" as const }),
  fc.constant({ _tag: "Restart" as const }),
  fc.record({ _tag: fc.constant("Lists" as const), isDefault: fc.boolean(), areOrigins: fc.boolean() }),
  fc.record({ _tag: fc.constant("Wait" as const), ms: fc.constantFrom(1_000, 30_000) })
)
type Happening = typeof happening extends fc.Arbitrary<infer A> ? A : never

const happen = (sides: TwoSides, event: Happening): void => {
  const copy = sides.copy()
  switch (event._tag) {
    case "Order":
      return sides.origin() === undefined ? sides.order() : undefined
    case "Migrations":
      return sides.origin() === undefined
        ? undefined
        : sides.order({ migrations: { flavor: "flyway", archive: event.archive } })
    case "DeleteOrigin":
      return sides.primary.erase(syncedBranches, name, namespace)
    case "DeleteCopy":
      return sides.default.erase(syncedBranches, name, namespace)
    case "Says": {
      const observedGeneration = (copy?.metadata.generation ?? 0) - (event.isCurrent ? 0 : 1)
      return sides.says({
        ...ready,
        phase: event.phase,
        sessionInfo: Object.fromEntries(["1", "2"].map((id) => [id, event.sessions.includes(id) ? { id } : null])),
        migrations: { observedGeneration, phase: "Succeeded" }
      })
    }
    case "Edit":
      if (copy !== undefined) sides.default.write(syncedBranches, name, { spec: { ttlSecs: 7 } }, namespace)
      return undefined
    case "Stranger":
      if (copy === undefined) sides.default.write(syncedBranches, name, { spec, status: ready }, namespace)
      return undefined
    case "Stale":
      // Of an origin of before a backup.
      if (copy === undefined)
        sides.default.write(
          syncedBranches,
          name,
          {
            spec,
            metadata: {
              annotations: {
                [originAnnotations.clusterUid]: "uid-of-primary",
                [originAnnotations.namespace]: namespace,
                [originAnnotations.uid]: "lost",
                [originAnnotations.generation]: "1"
              }
            }
          },
          namespace
        )
      return undefined
    case "Restart":
      sides.known = new Map()
      return sides.seenUids.clear()
    case "Lists":
      sides.isDefaultListed = event.isDefault
      sides.areOriginsComplete = event.areOrigins
      return undefined
    case "Wait":
      sides.now += event.ms
      return undefined
  }
}

/** The rules for whatever is written next. */
const check = (sides: TwoSides, strangers: ReadonlySet<string>): void => {
  for (const write of sides.plan()) {
    const copy = sides.copy()
    if (write._tag === "DeleteCopy" || write._tag === "PatchCopy") {
      const { uid } = write.precondition
      expect(uid).toBe(copy?.metadata.uid)
      expect(strangers).not.toContain(uid)
    }
    if (write._tag === "DeleteCopy") expect(sides.areOriginsComplete && sides.isDefaultListed).toBe(true)
    if (write._tag === "DeleteOrigin" && write.missing !== undefined) expect(sides.isDefaultListed).toBe(true)
    if (write._tag === "CreateCopy") expect(copy).toBeUndefined()
  }
}

describe("the plans for a branch in two clusters", () => {
  it("come to rest in any order, write nothing of others, and never go back", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(happening, fc.nat()), { maxLength: 25 }), (events) => {
        const sides = new TwoSides()
        const strangers = new Set<string>()
        const created = new Map<string, number>()
        const gone = new Set<string>()
        let last = { uid: "", step: 0, generation: 0 }
        for (const [event, order] of events) {
          happen(sides, event)
          const copy = sides.copy()
          if (copy !== undefined && originOf(copy) === undefined) strangers.add(copy.metadata.uid ?? "")
          const before = sides.origin()?.metadata.uid
          for (let i = 0; i < 20; i++) {
            check(sides, strangers)
            const plan = sides.plan()
            const write = plan[(order + i) % Math.max(1, plan.length)]
            if (write === undefined) break
            if (write._tag === "CreateCopy") {
              const uid = sides.origin()?.metadata.uid ?? ""
              expect(gone).not.toContain(uid)
              created.set(uid, (created.get(uid) ?? 0) + 1)
            }
            sides.carryOut(write)
          }
          expect(sides.plan()).toEqual([])
          const origin = sides.origin()
          if (before !== undefined && origin?.metadata.uid !== before) gone.add(before)
          const uid = origin?.metadata.uid ?? ""
          const step = steps.indexOf(String(origin?.status?.["phase"] ?? ""))
          const generation = Number(at(origin?.status, "migrations", "observedGeneration") ?? 0)
          if (uid === last.uid) {
            expect(step).toBeGreaterThanOrEqual(last.step)
            if (step < steps.indexOf("Failed")) expect(generation).toBeGreaterThanOrEqual(last.generation)
            expect(generation).toBeLessThanOrEqual(origin?.metadata.generation ?? 0)
          }
          last = { uid, step, generation }
        }
        // Each origin gets one copy in its life.
        expect([...created.values()].every((count) => count === 1)).toBe(true)
      }),
      { numRuns: 500 }
    )
  })

  it("make the whole spec of a copy equal to its origin's, whoever edits it there", () => {
    const sides = new TwoSides()
    sides.order(
      { unknownField: [{ a: null, b: 1 }], ttlSecs: 2 ** 64 },
      { labels: { "mirrord-branch-id": "1", x: "y" } }
    )
    expect(sides.rest()).toBe(true)
    expect(sides.copy()?.spec).toEqual({
      ...spec,
      connectionSource: { url: { env: { variable: "DATABASE_URL" } } },
      unknownField: [{ b: 1 }],
      ttlSecs: Number.MAX_SAFE_INTEGER
    })
    expect(sides.copy()?.metadata.labels).toEqual({
      "mirrord-branch-id": "1",
      "operator.metalbear.co/branch-origin-cluster": "primary"
    })
    sides.default.write(syncedBranches, name, { spec: { ttlSecs: 7, other: 1 } }, namespace)
    expect(sides.rest()).toBe(true)
    expect(sides.copy()?.spec).toMatchObject({ ttlSecs: Number.MAX_SAFE_INTEGER })
    expect(sides.copy()?.spec?.["other"]).toBeUndefined()
  })

  it("tell of migrations by the origin's generation, once they are of the spec that the copy has now", () => {
    const sides = new TwoSides()
    const migrations = (): unknown => at(sides.origin()?.status, "migrations")
    sides.order()
    sides.rest()
    sides.default.write(syncedBranches, name, { spec: { ttlSecs: 7 } }, namespace)
    sides.rest()
    sides.says(ready)
    sides.order({ migrations: { flavor: "flyway", archive: "1" } })
    sides.rest()
    const first = sides.copy()?.metadata.generation ?? 0
    expect([sides.origin()?.metadata.generation, first]).toEqual([2, 4])
    sides.says({ migrations: { observedGeneration: first - 1, phase: "Succeeded" } })
    sides.rest()
    expect(migrations()).toBeUndefined()
    sides.says({ migrations: { observedGeneration: first, phase: "Succeeded" } })
    sides.rest()
    expect(migrations()).toEqual({ observedGeneration: 2, phase: "Succeeded" })
    const before = sides.copy()
    sides.order({ migrations: { flavor: "flyway", archive: "2" } })
    sides.rest()
    expect(migrations()).toEqual({ observedGeneration: 2, phase: "Succeeded" })
    sides.says({ migrations: { observedGeneration: first + 1, phase: "Failed" } })
    sides.rest()
    expect(migrations()).toEqual({ observedGeneration: 3, phase: "Failed" })
    // A list from before.
    const [copy, origin] = [before ?? never(), sides.origin() ?? never()]
    const found = { copy, owner: "This" as const }
    const plan = planOrigin({ ...sides.observedOrigin(origin), seen: { _tag: "Listed", found } }, sides.now)
    expect(plan.map(({ _tag }) => _tag)).toEqual(["PatchCopy"])
  })

  it.each([-600_000, 600_000])("leave the end to the default's clock, from which this one is %s ms away", (skew) => {
    const sides = new TwoSides()
    sides.order()
    sides.rest()
    const expireTime = new Date(sides.now + 300_000).toISOString()
    sides.says({ ...ready, expireTime })
    sides.now += skew
    for (const wait of [0, 299_000, 2_000, 3_600_000]) {
      sides.now += wait
      sides.rest()
      expect(sides.origin()?.status).toMatchObject({ phase: "Ready", expireTime })
    }
    sides.default.erase(syncedBranches, name, namespace)
    sides.rest()
    expect(sides.origin()).toBeUndefined()
  })

  it("do not write again what the other API server has changed by itself", () => {
    const sides = new TwoSides()
    sides.order()
    sides.rest()
    const [copy, origin] = [sides.copy(), sides.origin()]
    if (copy === undefined || origin === undefined) throw new Error("nothing was made")
    const defaulted = { ...copy, spec: { ...copy.spec, image: "default" } }
    const observed = {
      ...sides.observedOrigin(origin),
      seen: {
        _tag: "Listed" as const,
        found: { copy: defaulted, owner: "This" as const }
      }
    }
    expect(planOrigin(observed, sides.now)).toEqual([])
    const edited = { ...defaulted, metadata: { ...copy.metadata, generation: 9 } }
    const found = { ...observed.seen.found, copy: edited }
    expect(planOrigin({ ...observed, seen: { _tag: "Listed", found } }, sides.now)).toMatchObject([
      { _tag: "PatchCopy", patch: { spec: { image: null } } }
    ])
  })

  it("borrow a branch of another user, and do not write it", () => {
    const sides = new TwoSides()
    sides.default.write(syncedBranches, name, { spec, status: ready }, namespace)
    sides.order({ migrations: { flavor: "flyway", archive: "1" } })
    expect(sides.rest()).toBe(true)
    const uid = sides.copy()?.metadata.uid
    expect(sides.origin()?.status).toMatchObject({
      phase: "Ready",
      migrations: { observedGeneration: 1, phase: "Failed" },
      copy: { cluster, namespace, uid, borrowed: true }
    })
    sides.primary.erase(syncedBranches, name, namespace)
    sides.rest()
    expect(sides.written).toEqual([])
    // Another one in its place is another database.
    sides.order()
    sides.rest()
    sides.default.erase(syncedBranches, name, namespace)
    sides.default.write(syncedBranches, name, { spec, status: ready }, namespace)
    sides.rest()
    expect(sides.origin()).toBeUndefined()
  })

  it("refuse the name of a branch of another engine", () => {
    const sides = new TwoSides()
    const { postgresOptions: _, ...others } = spec
    sides.default.write(syncedBranches, name, { spec: { ...others, mysqlOptions: {} } }, namespace)
    sides.order()
    sides.rest()
    expect(sides.origin()?.status).toMatchObject({
      phase: "Failed",
      error: `Cluster a has a branch shop/${name} of another engine: take another id than "shop".`
    })
  })

  it.each([
    [
      "a label that keeps it here",
      {},
      { labels: { "operator.metalbear.co/skip-mc-sync": "true" } },
      "The branch is for this cluster alone, where none is made: sessions have their databases in cluster a. Leave " +
        "multi_cluster unset."
    ],
    [
      "a target in another namespace than the operator's own",
      {},
      { annotations: { "mirrord.metalbear.co/target-namespace": "other" } },
      "The annotation mirrord.metalbear.co/target-namespace names another namespace than shop: make the branch in " +
        "the target's own namespace, or in mirrord."
    ],
    [
      "a status of a controller in this cluster",
      ready,
      {},
      "The branch was made in this cluster, and sessions have their databases in cluster a now: run the command again."
    ]
  ])("fail a branch with %s, and take it away", (_, status, metadata, error) => {
    const sides = new TwoSides()
    sides.order({}, metadata)
    sides.primary.write(syncedBranches, name, { status }, namespace)
    sides.rest()
    expect(sides.origin()?.status).toMatchObject({ phase: "Failed", error })
    sides.now += 19_999
    expect(sides.plan()).toEqual([])
    sides.now += 1
    sides.rest()
    expect([sides.origin(), sides.copy(), sides.written]).toEqual([undefined, undefined, []])
  })

  it.each([
    ["away", { _tag: "Away", why: undefined } as const, [{ _tag: "RequeueAt" }]],
    ["lost", { _tag: "Away", why: "it is lost" } as const, [{ _tag: "TellWaiting", why: "it is lost" }, {}]],
    [
      "without the kind",
      { _tag: "Refused", why: "Cluster a has no branches." } as const,
      [{ _tag: "PatchStatus", patch: { phase: "Failed", error: "Cluster a has no branches." } }]
    ]
  ])("of a new branch, if its cluster is %s", (_, seen, expected) => {
    const sides = new TwoSides()
    sides.order()
    const origin = sides.origin()
    if (origin === undefined) throw new Error("no origin")
    expect(planOrigin({ ...sides.observedOrigin(origin), seen }, sides.now)).toMatchObject(expected)
  })

  it("leave a copy that is used to its TTL, if its origin was lost and not deleted", () => {
    const sides = new TwoSides()
    sides.order()
    sides.rest()
    sides.says({ ...ready, sessionInfo: { "1": { id: "1" } } })
    sides.rest()
    sides.primary.erase(syncedBranches, name, namespace)
    sides.seenUids.clear()
    expect(sides.plan()).toEqual([])
    sides.says({ sessionInfo: { "1": null } })
    sides.rest()
    expect(sides.copy()).toBeUndefined()
  })
})

const never = (): never => {
  throw new Error("no origin")
}
