import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  branchCells,
  branchHeader,
  branchRow,
  type BranchRow,
  branchRows
} from "../../../../src/domain/commands/overview/branch-row.ts"
import type { BranchDatabase } from "../../../../src/domain/resources/branches/branch-database.ts"

const expireTime = "2026-11-22T01:05:00Z"
const now = Date.parse(expireTime) - 90_000
const owner = (k8sUsername: string) => ({ userId: "u", username: "someone", hostname: "laptop", k8sUsername })
const branch = (
  status: BranchDatabase["status"],
  { metadata = {}, spec = {} }: { readonly metadata?: object; readonly spec?: object } = {}
): BranchDatabase => ({
  metadata: { name: "shop", namespace: "mirrord", uid: "1", ...metadata },
  spec: {
    id: "shop-1",
    ttlSecs: 300,
    connectionSource: { url: {} },
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "shop", container: "" },
    postgresOptions: { copy: { mode: "all" } },
    redisOptions: null,
    ...spec
  },
  ...(status === undefined ? {} : { status })
})
const ready = { phase: "Ready", expireTime } as const

describe("the row of a branch", () => {
  it("says where its database is, which it is, who uses it and when it ends", () => {
    const sessionInfo = Object.fromEntries(
      ["bob", "ann", "bob"].map((user, index) => [String(index), { id: String(index), owner: owner(user) }])
    )
    const copy = { cluster: "cluster-a", namespace: "default", uid: "2" }
    const row = branchRow("primary", branch({ ...ready, sessionInfo, copy }))
    expect(Object.fromEntries(branchHeader.map((name, index) => [name, branchCells(row, now)[index]]))).toEqual({
      NAME: "shop",
      NAMESPACE: "mirrord",
      CLUSTER: "cluster-a",
      ENGINE: "PostgreSQL",
      PHASE: "Ready",
      TTL: "5m",
      EXPIRES: "1m30s",
      USERS: "ann, bob",
      ID: "shop-1",
      REASON: ""
    })
    expect(row.target).toBe("deployment/shop")
  })

  it("says why it failed, that it is being deleted, and that no operator has seen it", () => {
    const failed = branchRow("a", branch({ phase: "Failed", expireTime, error: "no table" }))
    expect(failed).toMatchObject({ phase: "Failed", reason: "no table", cluster: "a" })
    expect(branchRow("a", branch(ready, { metadata: { deletionTimestamp: expireTime } })).phase).toBe("Terminating")
    const unseen = branchRow("a", branch(undefined))
    expect(unseen).toMatchObject({ phase: "Unknown", users: [], expiresAt: undefined })
    expect(branchCells(unseen, now)[6]).toBe("")
  })

  it.each([
    ["no engine", { postgresOptions: null }],
    ["two engines", { redisOptions: {} }]
  ])("guesses none of %s", (_what, spec) => expect(branchRow("a", branch(ready, { spec })).engine).toBe("unknown"))
})

describe("the rows of branches", () => {
  const place = fc.record({
    name: fc.constantFrom("x", "y"),
    namespace: fc.constantFrom("n", "m"),
    cluster: fc.constantFrom("a", "b")
  })
  const rows = fc.array(place).map((places) =>
    places.map((each, index): BranchRow => {
      const row = branchRow(each.cluster, branch(ready, { metadata: { ...each, uid: String(index) } }))
      // Some repeat the state of the one before them.
      return { ...row, copyUid: index % 3 === 2 ? String(index - 1) : undefined }
    })
  )

  it("are in one order, whatever order they come in, with one row for an order and its copy", () => {
    fc.assert(
      fc.property(rows, (given) => {
        const shown = branchRows(given)
        const uids = shown.map(({ uid }) => Number(uid)).toSorted((a, b) => a - b)
        expect(uids).toEqual(
          given.map((_, index) => index).filter((index) => given[index + 1]?.copyUid !== String(index))
        )
        const places = (all: ReadonlyArray<BranchRow>) =>
          all.map(({ cluster, name, namespace }) => [cluster, namespace, name].join("/"))
        expect(places(shown)).toEqual(places(shown).toSorted())
        expect(places(branchRows(given.toReversed()))).toEqual(places(shown))
      })
    )
  })
})
