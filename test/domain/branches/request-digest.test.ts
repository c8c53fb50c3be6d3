import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { requestDigest } from "../../../src/domain/branches/request-digest.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const env = (variable: string) => ({ env: { container: null, variable } })
const usual: BranchDatabaseSpec = {
  ...bareBranchSpec,
  connectionSource: { params: { host: env("HOST"), user: env("USER") } },
  postgresOptions: {
    copy: { mode: "schema", items: { a: { filter: "x > 1" }, b: {} } },
    connectionSettings: { role: "r", "app.x": "1" }
  }
}
const digest = (change: Partial<BranchDatabaseSpec> = {}) =>
  requestDigest(Result.getOrThrow(readBranchRequest({ ...usual, ...change })), sha256Hex)

describe("the digest of a branch's request", () => {
  it("is the same in whatever order the fields are, and for all that matters to no session", () => {
    const turned: Partial<BranchDatabaseSpec> = {
      connectionSource: { params: { user: env("USER"), host: env("HOST") } },
      postgresOptions: {
        copy: { items: { b: { filter: null }, a: { filter: "x > 1" } }, mode: "schema" },
        connectionSettings: { "app.x": "1", role: "r" }
      }
    }
    for (const same of [turned, { ttlSecs: 1 }, { version: "16" }, { databaseName: null }])
      expect(digest(same)).toBe(digest())
  })

  it("is another one for another database", () => {
    const others: ReadonlyArray<Partial<BranchDatabaseSpec>> = [
      { databaseName: "shop" },
      { connectionSource: { params: { host: env("HOST") } } },
      { connectionSource: { params: { host: env("OTHER"), user: env("USER") } } },
      { postgresOptions: { ...usual.postgresOptions, copy: { mode: "schema" } } },
      { postgresOptions: { ...usual.postgresOptions, copy: { mode: "all" } } },
      { postgresOptions: { ...usual.postgresOptions, connectionSettings: {} } }
    ]
    expect(new Set([{}, ...others].map((change) => digest(change))).size).toBe(others.length + 1)
  })
})
