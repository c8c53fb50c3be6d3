import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import type { BranchDatabaseSpec } from "../../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"

const request = (change: Partial<BranchDatabaseSpec>) =>
  readBranchRequest({
    ...bareBranchSpec,
    connectionSource: { url: { env: { container: null, variable: "REDIS_URL" } } },
    redisOptions: {},
    ...change
  })
const refusal = (change: Partial<BranchDatabaseSpec>): string =>
  Result.match(request(change), { onSuccess: () => "", onFailure: (sentence) => sentence })

describe("a branch of Redis", () => {
  it("has the keys of patterns with mode all, and none with mode empty", () => {
    const parts = (mode: "empty" | "all") =>
      Result.getOrThrow(request({ redisOptions: { copy: { mode, patterns: ["user:*", "$(x)"] } } })).parts
    expect(parts("all")).toEqual([
      { name: "user:*", filter: undefined },
      { name: "$(x)", filter: undefined }
    ])
    expect(parts("empty")).toEqual([])
  })

  it.each([
    ["a mode", { redisOptions: { copy: { mode: "schema" as "all" } } }, "must be one of empty, all"],
    ["a name", { databaseName: "main" }, 'spec.databaseName is "main"; it must be the index of a database, 0 to 9999.'],
    ["an index that is too high", { databaseName: "10000" }, "0 to 9999"],
    ["an index in another form", { databaseName: "01" }, "0 to 9999"],
    ["an empty pattern", { redisOptions: { copy: { mode: "all", patterns: [""] } } }, 'for pattern "" is empty'],
    [
      "too many patterns",
      { redisOptions: { copy: { mode: "all", patterns: Array<string>(101).fill("*") } } },
      "spec.redisOptions.copy.patterns names 101 patterns; it must be at most 100"
    ]
  ] as ReadonlyArray<readonly [string, Partial<BranchDatabaseSpec>, string]>)(
    "is refused for %s",
    (_, change, reason) => expect(refusal(change)).toContain(reason)
  )
})
