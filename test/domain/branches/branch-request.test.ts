import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { engines } from "../../../src/domain/branches/engines.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { branchEngines } from "../../../src/domain/resources/chart-switches.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const url = { env: { container: null, variable: "DATABASE_URL" } }
const bare = { ...bareBranchSpec, connectionSource: { url } } satisfies BranchDatabaseSpec
const spec = (change: Partial<BranchDatabaseSpec>): BranchDatabaseSpec => ({ ...bare, postgresOptions: {}, ...change })
const refusal = (change: Partial<BranchDatabaseSpec>): string =>
  Result.match(readBranchRequest(spec(change)), { onSuccess: () => "", onFailure: (sentence) => sentence })
const withItems = (items: Readonly<Record<string, { readonly filter?: string }>>) => ({
  postgresOptions: { copy: { mode: "schema", items } } as const
})

const patternOf = (value_pattern: string) => ({
  connectionSource: { url: { envPattern: { container: null, variable: "A", value_pattern } } }
})

describe("the branch that a BranchDatabase asks for", () => {
  it("is empty, of the usual version, and of the database in the source, where nothing is said", () => {
    expect(Result.getOrThrow(readBranchRequest(spec({})))).toMatchObject({
      engine: "pg",
      mode: "empty",
      parts: [],
      dumpArguments: ["--no-owner", "--no-acl"],
      databaseName: undefined,
      image: { _tag: "Tag", tag: "17" },
      ttlMillis: 300_000,
      connection: new Map([["url", [{ _tag: "Variable", variable: "DATABASE_URL", container: undefined }]]])
    })
  })

  it("has the user's arguments of the dump program, also none, instead of the usual ones", () => {
    const given = (dumpArgs: ReadonlyArray<string>) =>
      Result.getOrThrow(readBranchRequest(spec({ postgresOptions: { copy: { mode: "all", dumpArgs } } }))).dumpArguments
    expect(given([])).toEqual([])
    expect(given(["--exclude-schema=audit"])).toEqual(["--exclude-schema=audit"])
  })

  it("copies no single tables where it copies all", () => {
    const all = spec({ postgresOptions: { copy: { mode: "all", items: { users: {} } } } })
    expect(Result.getOrThrow(readBranchRequest(all)).parts).toEqual([])
  })

  it("lives for a time that is a date, however long the client wants", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 2 ** 64, noNaN: true }), (ttlSecs) => {
        const { ttlMillis } = Result.getOrThrow(readBranchRequest(spec({ ttlSecs })))
        expect(Number.isNaN(new Date(1_800_000_000_000 + ttlMillis).getTime())).toBe(false)
      })
    )
  })

  it("reads one source and lists of them, of every kind that is served", () => {
    const params = {
      host: [{ env: { container: "app", variable: "HOST" } }, { envFrom: { container: null, variable: "OTHER" } }],
      password: { secret: { name: "db", key: "password", env_var_name: "PASSWORD" } },
      extra: { sslmode: { env: { container: null, variable: "SSL" } } }
    }
    expect([...Result.getOrThrow(readBranchRequest(spec({ connectionSource: { params } }))).connection]).toEqual([
      [
        "host",
        [
          { _tag: "Variable", container: "app", variable: "HOST" },
          { _tag: "Variable", container: undefined, variable: "OTHER" }
        ]
      ],
      ["password", [{ _tag: "Secret", name: "db", key: "password", variable: "PASSWORD" }]],
      ["sslmode", [{ _tag: "Variable", container: undefined, variable: "SSL" }]]
    ])
  })
})

describe("a part of a variable", () => {
  const value = "host=db.example; port=5432"
  const found = (value_pattern: string): string | undefined => {
    const host = { envPattern: { container: "app", variable: "DSN", value_pattern } }
    const read = Result.getOrThrow(readBranchRequest(spec({ connectionSource: { params: { host } } })))
    const [source] = read.connection.get("host") ?? []
    const span = source?._tag === "Pattern" ? source.pattern.find(value) : undefined
    return span === undefined ? undefined : value.slice(span.start, span.end)
  }

  it("is the group with its name, else the group called value, else the first one", () => {
    expect(found("(?P<port>port)=(?<value>.*)|(?P<host>nothing)")).toBe(undefined)
    expect(found("(h)ost=(?P<value>[^;]*); (?P<host>port)")).toBe("port")
    expect(found("(h)ost=(?P<value>[^;]*)")).toBe("db.example")
    expect(found("host=([^;]*); port=([0-9]+)")).toBe("db.example")
  })

  it("may be the source of an empty branch with a name, and one of others behind the first source", () => {
    const [first] = [{ env: { container: null, variable: "DATABASE_URL" } }]
    const { url: pattern } = patternOf("(.*)").connectionSource
    expect(refusal({ ...patternOf("(.*)"), databaseName: "shop" })).toBe("")
    expect(refusal({ connectionSource: { url: [first, pattern] }, ...withItems({ users: {} }) })).toBe("")
  })
})

describe("a BranchDatabase that is refused", () => {
  it.each(branchEngines.filter((engine) => engines[engine].dialect === undefined))("of an engine: %s", (engine) => {
    const { block, name } = engines[engine]
    const options = engine === "generic" ? { image: "i", port: 1 } : {}
    expect(Result.getFailure(readBranchRequest({ ...bare, [block]: options }))).toMatchObject({
      value: `spec.${block} asks for a branch of ${name}, which this operator does not serve yet.`
    })
  })

  const rows: ReadonlyArray<readonly [string, Partial<BranchDatabaseSpec>, string]> = [
    ["no engine", { postgresOptions: null }, "The spec has no options block: it must have exactly one"],
    ["two engines", { mysqlOptions: {} }, "has the options blocks postgresOptions and mysqlOptions"],
    ["version and image", { version: "16", image: "postgres" }, "must not both be set"],
    ["a version that is no tag", { version: "16@evil" }, 'spec.version is "16@evil"; it must be the tag'],
    ["migrations without files", { databaseName: "a", migrations: { flavor: "flyway" } }, "needs the files of Flyway"],
    ["migrations of no database", { migrations: { flavor: "flyway" } }, "spec.databaseName is missing"],
    ["a cloud identity", { postgresOptions: { iamAuth: { type: "aws_rds" } } }, "postgresOptions.iamAuth"],
    ["a long name", { databaseName: "ä".repeat(32) }, "it must have 1 to 63 bytes"],
    ["an empty name", { databaseName: "" }, "it must have 1 to 63 bytes"],
    ["a table without a name", withItems({ "a.b.c": {} }), "has no name of a table"],
    ["a table's long name", withItems({ [`sales."${"ä".repeat(32)}"`]: {} }), "has a name of more than 63 bytes"],
    ["a table with a command", withItems({ "users; drop table users": {} }), "has no name of a table"],
    ["a filter with a command", withItems({ users: { filter: "true; DROP TABLE users" } }), "with a semicolon"],
    ["a filter with a quote", withItems({ users: { filter: "name = 'ann" } }), "' is never closed"],
    ["a filter that is too long", withItems({ users: { filter: "x".repeat(5_000) } }), "longer than 4096"],
    ["a setting", { postgresOptions: { connectionSettings: { "a b": "1" } } }, 'holds "a b", which is no setting'],
    [
      "a dump with a shortened option",
      { postgresOptions: { copy: { mode: "all", dumpArgs: ["--fil=/x"] } } },
      "sets itself"
    ],
    ...["--file=/x", "--table-and-children=a", "--large-objects", "--blob", "--include-foreign-data=x"].map(
      (argument) =>
        [
          `dump with ${argument}`,
          { postgresOptions: { copy: { mode: "all", dumpArgs: [argument] } } },
          "sets itself"
        ] as const
    ),
    ["a short option", { postgresOptions: { copy: { mode: "all", dumpArgs: ["-Fp"] } } }, "no long option"],
    ["no source", { connectionSource: {} }, "must hold either url or params"],
    ["an empty list", { connectionSource: { url: [] } }, "connectionSource.url is an empty list"],
    ["Google's Secret Manager", { connectionSource: { url: { gcpSecretManager: {} } } }, "use one of env, envFrom,"],
    ["a pattern of no variable", { connectionSource: { url: { envPattern: {} } } }, 'names the variable ""'],
    ["a pattern without a group", patternOf("a+"), 'value_pattern cannot be used: "a+" is no regular expression'],
    ["a pattern that is none", patternOf("(?P<url"), "value_pattern cannot be used"],
    ["a pattern alone, for a name", patternOf("(.*)"), "spec.databaseName is missing"],
    ["a pattern to copy from", { ...patternOf("(.*)"), ...withItems({ users: {} }) }, "its first source of url"],
    ["a place in the query", { postgresOptions: { queryParams: { HostAddr: "10.0.0.1" } } }, 'holds "HostAddr"'],
    ["an unknown source", { connectionSource: { url: { vault: {} } } }, 'holds "vault"'],
    ["a source like __proto__", { connectionSource: { url: { constructor: {} } } }, 'holds "constructor"'],
    ["a bad variable", { connectionSource: { url: { env: { variable: "A B" } } } }, 'names the variable "A B"'],
    ["a bad Secret", { connectionSource: { url: { secret: { name: "../x", key: "k" } } } }, 'names the Secret "../x"'],
    ["a bad key", { connectionSource: { url: { secret: { name: "x", key: "a/b" } } } }, 'names the key "a/b"'],
    ["a parameter", { connectionSource: { params: { extra: { tls: url } } } }, "is no parameter of this engine"]
  ]
  it.each(rows)("for %s", (_, change, sentence) => {
    const told = refusal(change)
    expect(told).toContain(sentence)
    expect(told).toMatch(/^(spec\.|The spec )[^\n]*\.$/u)
  })
})
