import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import { environmentPlan, everyVariable, rewriteEnvironment } from "../../../../src/domain/branches/environment-plan.ts"
import type { BranchDatabaseSpec } from "../../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"
import { pattern, variable } from "../session-branch.ts"

const request = (change: Partial<BranchDatabaseSpec>) =>
  readBranchRequest({ ...bareBranchSpec, clickhouseOptions: {}, ...change })

describe("a branch of ClickHouse", () => {
  it.each([
    ["arguments", { copy: { mode: "all", dumpArgs: ["--x"] } }, "there is no dump program to take it"],
    ["a table of a database", { copy: { mode: "empty", items: { "shop.users": {} } } }, "without its database"],
    ["a filter with a heredoc", { copy: { mode: "empty", items: { t: { filter: "a = $$)$$" } } } }, "with $"],
    ["a filter with curly quotes", { copy: { mode: "empty", items: { t: { filter: "a = ‘(’)" } } } }, "with ‘"],
    ["a filter with a comment", { copy: { mode: "empty", items: { t: { filter: "a # b" } } } }, "a comment"]
  ] as ReadonlyArray<readonly [string, object, string]>)("is refused for %s", (_, clickhouseOptions, reason) => {
    const refusal = Result.match(request({ clickhouseOptions }), { onSuccess: () => "", onFailure: (told) => told })
    expect(refusal).toContain(reason)
  })

  it("has the names of its tables without their quotes", () => {
    const items = { "`a``.b`": { filter: "`x(` = '‘'" } }
    const { dialect, parts } = Result.getOrThrow(request({ clickhouseOptions: { copy: { mode: "empty", items } } }))
    expect(parts.map(({ name }) => dialect.partName(name))).toEqual(["a`.b"])
  })
})

describe("a variable that leads to a branch of ClickHouse", () => {
  const rewritten = (
    connectionSource: BranchDatabaseSpec["connectionSource"],
    variables: Readonly<Record<string, string>>
  ): Readonly<Record<string, string>> | string => {
    const access = { host: "10.1.2.3", port: 9000, user: "default", password: Redacted.make("p@") }
    const found = Result.getOrThrow(request({ connectionSource }))
    const branch = { name: "branch-1", request: found, access: { ...access, database: undefined } }
    const plan = Result.getOrThrow(environmentPlan([branch]))
    return Result.match(rewriteEnvironment(plan, new Map(Object.entries(variables)), everyVariable), {
      onSuccess: (environment) => Object.fromEntries(environment.variables),
      onFailure: (told) => told
    })
  }
  const ofUrl = (URL: string) => {
    const found = rewritten({ url: variable("URL") }, { URL })
    return typeof found === "string" ? found : found["URL"]
  }
  const at = "default:p%40@10.1.2.3"

  it.each([
    ["clickhouse://u:p@h:9000/shop?dial_timeout=5s&secure=true", `clickhouse://${at}:9000/shop?dial_timeout=5s`],
    ["clickhouse://h", `clickhouse://${at}:9000`],
    ["clickhouse://u:p@h:19000/shop", `clickhouse://${at}:9000/shop`],
    ["clickhouse://a:9000,b:9000/shop", `clickhouse://${at}:9000/shop`],
    ["clickhouse://h:9440/shop", `clickhouse://${at}:9000/shop`],
    ["clickhouse://h:8123/shop", `clickhouse://${at}:8123/shop`],
    ["clickhouse+http://h/shop", `clickhouse+http://${at}:8123/shop`],
    ["clickhouse+native://h/shop", `clickhouse+native://${at}:9000/shop`],
    ["clickhousedb://h/shop", `clickhousedb://${at}:8123/shop`],
    ["http://u:p@h:8123/shop", `http://${at}:8123/shop`],
    ["HTTP://h", `HTTP://${at}:8123`],
    ["clickhouse://h:9000?username=u&password=x&database=shop", `clickhouse://${at}:9000/shop`]
  ])("has the protocol of the source: %s", (source, branch) => expect(ofUrl(source)).toBe(branch))

  it.each([
    ["clickhouses://u:p@canary:9440/shop", "asks for TLS"],
    ["https://canary:8443/shop", "asks for TLS"],
    ["clickhouse+https://canary/shop", "asks for TLS"],
    ["http://canary:8123/?database=shop&user=u", "whose query says the database or its user"],
    ["jdbc:clickhouse://canary:8123/shop", "a JDBC URL"],
    ["tcp://canary:9000?database=shop", "a URL of another scheme"]
  ])("refuses the session where it cannot: %s", (source, reason) => {
    expect(ofUrl(source)).toContain(reason)
    expect(ofUrl(source)).not.toContain("canary")
  })

  it("is changed in parts, with the port of the protocol", () => {
    const params = { host: variable("HOST"), port: variable("PORT") }
    expect(rewritten({ params }, { HOST: "h", PORT: "8123" })).toEqual({ HOST: "10.1.2.3", PORT: "8123" })
    expect(rewritten({ params }, { HOST: "h", PORT: "9440" })).toEqual({ HOST: "10.1.2.3", PORT: "9000" })
    const parts = { host: pattern("URL", "//([^:]+):"), port: pattern("URL", ":(\\d+)/") }
    expect(rewritten({ params: parts }, { URL: "jdbc:clickhouse://h:8443/shop?x=1" })).toEqual({
      URL: "jdbc:clickhouse://10.1.2.3:8123/shop?x=1"
    })
    expect(rewritten({ params: parts }, { URL: "http://h:8123/shop" })).toEqual({ URL: "http://10.1.2.3:8123/shop" })
    const host = { host: pattern("URL", "//([^/]+)/") }
    expect(rewritten({ params: host }, { URL: "http://h/shop" })).toContain("still leads elsewhere")
    expect(rewritten({ params: host }, { URL: "clickhouse://h/shop" })).toEqual({ URL: "clickhouse://10.1.2.3/shop" })
  })
})
