import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { newUrl, rewrittenUrl } from "../../../../src/domain/branches/branch-address.ts"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import { mongodb } from "../../../../src/domain/branches/dialects/mongodb.ts"
import { environmentPlan, everyVariable, rewriteEnvironment } from "../../../../src/domain/branches/environment-plan.ts"
import type { BranchDatabaseSpec } from "../../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"
import { pattern } from "../session-branch.ts"

const request = (change: Partial<BranchDatabaseSpec>) =>
  readBranchRequest({
    ...bareBranchSpec,
    connectionSource: { url: { env: { container: null, variable: "MONGO_URL" } } },
    mongodbOptions: {},
    ...change
  })
const refusal = (change: Partial<BranchDatabaseSpec>): string =>
  Result.match(request(change), { onSuccess: () => "", onFailure: (sentence) => sentence })
const filtered = (filter: string) =>
  refusal({ mongodbOptions: { copy: { mode: "all", items: { users: { filter } } } } })

describe("a branch of MongoDB", () => {
  it("has the collections that are named with both modes", () => {
    const items = { users: { filter: '{"age": {"$gt": 30}}' }, orders: {} }
    for (const mode of ["empty", "all"] as const) {
      expect(Result.getOrThrow(request({ mongodbOptions: { copy: { mode, items } } })).parts).toEqual([
        { name: "users", filter: '{"age": {"$gt": 30}}' },
        { name: "orders", filter: undefined }
      ])
    }
  })

  it.each([
    "{}",
    '{"_id": {"$oid": "65f0c0ffee65f0c0ffee65f0"}}',
    '{"$expr": {"$eq": ["$code", "$where"]}, "where": "$where"}'
  ])("takes filters of extended JSON: %s", (filter) => expect(filtered(filter)).toBe(""))

  it.each([
    ["a mode", { mongodbOptions: { copy: { mode: "schema" as "all" } } }, "must be one of empty, all"],
    ["a name of the server's own", { databaseName: "admin" }, "none of admin, config and local"],
    ["a name that has other signs", { databaseName: "a.b" }, 'spec.databaseName is "a.b"; it must be a name without'],
    [
      "a collection of the server's own",
      { mongodbOptions: { copy: { mode: "all", items: { "system.users": {} } } } },
      'spec.mongodbOptions.copy.items for collection "system.users" has no name of a collection'
    ],
    [
      "too many collections",
      {
        mongodbOptions: {
          copy: { mode: "all", items: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`c${n}`, {}])) }
        }
      },
      "names 101 collections; it must be at most 100"
    ]
  ] as ReadonlyArray<readonly [string, Partial<BranchDatabaseSpec>, string]>)(
    "is refused for %s",
    (_, change, reason) => expect(refusal(change)).toContain(reason)
  )

  it.each(["", "age > 30", "[]", '"a"', "null", "{age: 1}", '{"a": 1}"; drop', "{} {}"])(
    "refuses a filter that is no JSON object: %s",
    (filter) => expect(filtered(filter)).toContain("has a filter that is no JSON object")
  )

  it("refuses operators that run code, at whatever depth, however they are written", () => {
    const operator = fc.constantFrom("$where", "$function", "$accumulator", "$_internalJsEmit")
    const around = fc.constantFrom(
      (inner: string) => inner,
      (inner: string) => `{"$and": [{"a": 1}, ${inner}]}`,
      (inner: string) => `{"$expr": ${inner}}`,
      // The last of two fields with one name wins in a value, and the first is in the text all the same.
      (inner: string) => `{"a": ${inner}, "a": 1}`
    )
    const sign = (text: string, escaped: boolean) =>
      escaped ? `\\u${text.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}` : text
    const written = fc
      .tuple(operator, fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }))
      .map(([name, escaped]) => [...name].map((text, index) => sign(text, escaped[index] === true)).join(""))
    fc.assert(
      fc.property(written, fc.array(around, { maxLength: 4 }), fc.constantFrom("", " ", "\n\t"), (name, outer, gap) => {
        const filter = outer.reduce((inner, put) => put(inner), `{"${name}"${gap}: "sleep(1)"}`)
        expect(filtered(filter)).toContain("which runs code in the source")
      })
    )
  })
})

describe("the address of a branch of MongoDB", () => {
  const branch = {
    ...{ host: "10.1.2.3", port: 27_017, user: "root", password: Redacted.make("p@:/?") },
    ...{ database: undefined, form: mongodb.address, query: {} }
  }
  const own = "mongodb://root:p%40%3A%2F%3F@10.1.2.3:27017"

  it.each([
    ["mongodb://u:p@h:1/shop", "/shop?authSource=admin"],
    ["mongodb://h", "?authSource=admin"],
    ["mongodb://u:p@h1:1,h2:2,h3/shop?replicaSet=rs0&w=majority", "/shop?w=majority&authSource=admin"],
    [
      "mongodb+srv://u:p@c.example.net/shop?retryWrites=true&AuthSource=other&srvMaxHosts=1&appName=x",
      "/shop?retryWrites=true&appName=x&authSource=admin"
    ],
    [
      "mongodb://h/?tls=true&tlsCAFile=%2Fca&ssl=true&authMechanism=MONGODB-X509&loadBalanced=true&proxyHost=p",
      "?authSource=admin"
    ]
  ])("has one server, without TLS, whatever the source has: %s", (source, rest) =>
    expect(Result.getOrThrow(rewrittenUrl(branch, source))).toBe(own + rest)
  )

  it("is not trusted with servers that records of DNS name, where parts of a URL change", () => {
    const wanted = {
      connectionSource: { params: { host: pattern("DSN", "@([^:/]*)"), port: pattern("DSN", ":(\\d+)/") } }
    }
    const branch1 = { name: "branch-1", request: Result.getOrThrow(request(wanted)), access: branch }
    const plan = Result.getOrThrow(environmentPlan([branch1]))
    const changed = (value: string) => rewriteEnvironment(plan, new Map([["DSN", value]]), everyVariable)
    const rewritten = Result.getOrThrow(changed("mongodb://u:p@h:1/shop?authSource=admin")).variables.get("DSN")
    expect(rewritten).toBe("mongodb://u:p@10.1.2.3:27017/shop?authSource=admin")
    const refused = changed("mongodb+srv://u:p@h:1/shop")
    expect(Result.isFailure(refused) ? refused.failure : "").toContain("still leads elsewhere")
  })

  it("names its database and where its user is", () =>
    expect(newUrl({ ...branch, database: "shop" })).toBe(`${own}/shop?authSource=admin`))

  it.each(["mongodb://u:p@h/shop@x", "postgresql://h/shop", "mongodb-x://h"])("is not put into %s", (source) =>
    expect(Result.isFailure(rewrittenUrl(branch, source))).toBe(true)
  )
})
