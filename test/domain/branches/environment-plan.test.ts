import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  environmentPlan,
  rewriteEnvironment,
  type SessionBranch,
  literalVariables
} from "../../../src/domain/branches/environment-plan.ts"
import { matchesGlob } from "../../../src/domain/policies/glob.ts"
import { branchUrl, pattern, sessionBranch, variable } from "./session-branch.ts"

type Wanted = { readonly filter?: ReadonlyArray<string>; readonly select?: ReadonlyArray<string> }

const rewriting = (
  branches: ReadonlyArray<SessionBranch>,
  variables: Readonly<Record<string, string>>,
  { filter = [], select = ["*"] }: Wanted = {}
) => {
  const plan = Result.getOrThrow(environmentPlan(branches))
  return rewriteEnvironment(plan, new Map(Object.entries(variables)), {
    filter: new Set(filter),
    select: new Set(select)
  })
}
const rewritten = (...args: Parameters<typeof rewriting>): Readonly<Record<string, string>> =>
  Object.fromEntries(Result.getOrThrowWith(rewriting(...args), (problem) => new Error(problem)).variables)
const refusal = (...args: Parameters<typeof rewriting>): string =>
  Result.match(rewriting(...args), { onSuccess: () => "", onFailure: (sentence) => sentence })

const url = variable("DATABASE_URL")
const ofUrl = (value: string, change: Parameters<typeof sessionBranch>[1] = {}): string | undefined =>
  rewritten([sessionBranch({ url }, change)], { DATABASE_URL: value })["DATABASE_URL"]

/** A host of the source, which no variable of a branch may hold in the end. */
const canary = "canary.source.internal"

describe("a URL of the source", () => {
  const rows: ReadonlyArray<readonly [source: string, path: string]> = [
    ["postgres://u:p@h/shop", "/shop"],
    [
      "postgres://u:p@h:6432/shop?connect_timeout=5&application_name=a%20b",
      "/shop?connect_timeout=5&application_name=a%20b"
    ],
    ["postgresql://u:p@h1:1,h2:2/shop?target_session_attrs=any&load_balance_hosts=random", "/shop"],
    ["postgresql://h1,h2/shop", "/shop"],
    ["postgresql:///shop?host=/cloudsql/x&user=u&options=-c%20a%3Db", "/shop?options=-c%20a%3Db"],
    ["postgresql+asyncpg://u:p@h/shop?ssl=require&prepared=1", "/shop?prepared=1"],
    ["postgres://u:p@h/shop?sslmode=verify-full&sslrootcert=/ca.pem", "/shop?sslmode=disable"],
    ["postgres://u:p@h/shop?%68ost=canary&HOSTADDR=1.2.3.4&x", "/shop?x"],
    ["postgres://u:p@h/a%20b%2Fc%40", "/a%20b%2Fc%40"],
    ["postgres://u:p@h?dbname=shop", "/shop"],
    ["postgres://app%20user:p@h", "/app%20user"],
    ["postgres://h/", ""],
    ["postgres://postgres:p@h/", ""],
    ["  postgres://u:p@h/shop#frag\n", "/shop"],
    ["postgres://u:p@[::1]:5/shop", "/shop"],
    ["POSTGRES://u:p@h/shop", "/shop"]
  ]
  it.each(rows)("%s gets the branch's server, port and user, and keeps the rest", (source, rest) => {
    const scheme = source.trim().slice(0, source.trim().indexOf("://"))
    expect(ofUrl(source)).toBe(branchUrl.replace("postgresql", scheme) + rest)
  })

  it("gets the branch's database if it has a name, whatever it is called", () => {
    expect(ofUrl("postgresql://u@h/shop?dbname=other", { databaseName: "a/b?c ü" })).toBe(
      `${branchUrl}/a%2Fb%3Fc%20%C3%BC`
    )
  })

  it("gets the user's query parameters, which win", () => {
    const change = { postgresOptions: { queryParams: { sslmode: "allow", "a b": "&=", keep: "2" } } }
    expect(ofUrl("postgresql://u@h/shop?sslmode=require&Keep=1&z=1", change)).toBe(
      `${branchUrl}/shop?z=1&sslmode=allow&a%20b=%26%3D&keep=2`
    )
  })

  it("leads to a branch with an IPv6 address", () => {
    const branch = sessionBranch({ url }, {}, { host: "fd00::7" })
    expect(rewritten([branch], { DATABASE_URL: "postgresql://u@h/shop" })["DATABASE_URL"]).toContain("@[fd00::7]:5432/")
  })

  const forms: ReadonlyArray<readonly [form: string, source: string]> = [
    ["a JDBC URL", `jdbc:postgresql://${canary}/shop`],
    ["a data source name of Go", `u:p@tcp(${canary}:3306)/shop`],
    ["an ADO connection string", `Server=tcp:${canary},1433;Database=x;`],
    ["an ADO connection string", `Database=x; Data Source = ${canary}`],
    ["a text of keys and values", `dbname=shop host=${canary}`],
    ["a URL of another scheme", `mysql://u@${canary}/shop`],
    ["a URL of another scheme", `postgresfoo://u@${canary}/shop`],
    ["nothing", " \n"],
    ["no URL", `${canary}:5432`],
    ["an @ behind the host", `postgres://u:p/w@${canary}/shop`],
    ["an @ behind the host", `postgres://u:p?w@${canary}/shop`],
    ["an @ behind the host", `postgres://u:p#w@${canary}/shop`],
    ["a URL whose path is more", `postgres://u:p@h/${canary}/shop`],
    ["a URL that is not percent-encoded", `postgres://u:p@${canary}/%ff`],
    ["a URL that is not percent-encoded", `postgres://u:p@${canary}/shop?%zz=1`]
  ]
  it.each(forms)(
    "that is %s refuses the session, with the name of the variable and not its value: %s",
    (form, source) => {
      const told = refusal([sessionBranch({ url })], { DATABASE_URL: source })
      expect(told).toMatch(/^The variable DATABASE_URL cannot lead to branch branch-1: it holds [^\n]*\.$/u)
      expect(told).toContain(`holds ${form}`)
      expect(told).not.toContain(canary)
    }
  )

  it("refuses the session if the branch's own address is none", () => {
    const branch = sessionBranch({ url }, {}, { host: "not a host" })
    expect(refusal([branch], { DATABASE_URL: "postgresql://u@h/shop" })).toContain("could not be proved")
  })
})

describe("the parts of a connection", () => {
  const params = {
    host: variable("HOST"),
    port: variable("PORT"),
    user: variable("DB_USER"),
    password: variable("PASS"),
    database: variable("NAME"),
    extra: { sslmode: variable("SSL") }
  }
  const source = {
    HOST: canary,
    PORT: "6432",
    DB_USER: "app",
    PASS: "secret",
    NAME: "shop",
    SSL: "require",
    OTHER: "é\n"
  }

  it("are those of the branch, and only declared variables change", () => {
    const expected = {
      HOST: "10.1.2.3",
      PORT: "5432",
      DB_USER: "postgres",
      PASS: "p@:/?#%&w",
      SSL: "disable",
      OTHER: "é\n"
    }
    expect(rewritten([sessionBranch({ params })], source)).toEqual({ ...expected, NAME: "shop" })
    expect(rewritten([sessionBranch({ params }, { databaseName: "n" })], source)).toEqual({ ...expected, NAME: "n" })
    const change = { postgresOptions: { queryParams: { sslmode: "prefer" } } }
    expect(rewritten([sessionBranch({ params }, change)], source)["SSL"]).toBe("prefer")
    expect(rewritten([sessionBranch({ params: { host: params.host } })], source)).toEqual({
      ...source,
      HOST: "10.1.2.3"
    })
  })

  it("keep no name of a database that is more than a name", () => {
    const told = refusal([sessionBranch({ params })], { ...source, NAME: `postgres://${canary}/shop` })
    expect(told).toBe("The variable NAME cannot lead to branch branch-1: it holds more than the name of a database.")
  })

  it("cannot share a variable as a whole, neither in one branch nor between two", () => {
    const shared = { params: { host: variable("DB_HOST"), user: variable("APP"), password: variable("APP") } }
    const [a, b] = [sessionBranch({ url }), { ...sessionBranch({ url }), name: "branch-2" }]
    expect(environmentPlan([sessionBranch(shared)])).toMatchObject({
      failure: expect.stringContaining("APP is declared twice: as the user of branch branch-1 and as the password of")
    })
    expect(environmentPlan([a, b])).toMatchObject({ failure: expect.stringContaining("url of branch branch-2") })
    expect(Result.isSuccess(environmentPlan([sessionBranch({ url: [url, url] })]))).toBe(true)
  })
})

describe("parts of variables", () => {
  const dsn = (host: string, port: string) =>
    sessionBranch({ params: { host: pattern("DSN", host), port: pattern("DSN", port) } }, { databaseName: "n" })

  it("change alone, by the places that they have in the original value", () => {
    const branch = dsn("host=(?P<host>[^;]*)", "port=(?<value>[0-9]+)")
    expect(rewritten([branch], { DSN: `port=1;host=${canary};other=x` })["DSN"]).toBe("port=5432;host=10.1.2.3;other=x")
    expect(rewritten([branch], { DSN: "host=h;port=123456789" })["DSN"]).toBe("host=10.1.2.3;port=5432")
    // The address that one of them puts in holds what the other one finds.
    expect(rewritten([dsn("^([a-z]+)", "([0-9]+)")], { DSN: "db 6432" })["DSN"]).toBe("10.1.2.3 5432")
  })

  it("are encoded inside of a URL, and lead to the branch there", () => {
    const params = {
      host: pattern("DSN", "@([^:/]*)"),
      port: pattern("DSN", ":([0-9]+)/"),
      password: pattern("DSN", ":(?P<password>[^:@]*)@")
    }
    const branch = sessionBranch({ params }, { databaseName: "n" })
    const secret = "p%40%3A%2F%3F%23%25%26w"
    expect(rewritten([branch], { DSN: `jdbc:postgresql://u:p@${canary}:1/s?a=b` })["DSN"]).toBe(
      `jdbc:postgresql://u:${secret}@10.1.2.3:5432/s?a=b`
    )
  })

  it("are URLs inside of other texts", () => {
    const branch = sessionBranch({ url: pattern("CONFIG", '"url":"([^"]*)"') }, { databaseName: "n" })
    expect(rewritten([branch], { CONFIG: `{"url":"postgresql://u:p@${canary}/s","a":1}` })["CONFIG"]).toBe(
      `{"url":"${branchUrl}/n","a":1}`
    )
    expect(refusal([branch], { CONFIG: `{"url":"jdbc:x://${canary}"}` })).toContain("holds a JDBC URL")
  })

  it("refuse the session where they are not found, overlap, are empty, or leave the address of the source", () => {
    const inUrl = { DSN: `postgres://u:p@${canary}:1/s` }
    expect(refusal([dsn("host=(.*)", "port=(.*)")], { DSN: "x" })).toContain(
      'does not hold what the pattern "host=(.*)" of its host'
    )
    expect(refusal([dsn("=(.*)", "port=(.*)")], { DSN: "host=h;port=1" })).toContain("patterns that find the same text")
    expect(refusal([dsn("host=([a-z]*)", "port=(.*)")], { DSN: "host=;port=1" })).toContain(
      "has no host where its pattern"
    )
    const user = sessionBranch({ params: { host: variable("DB_HOST"), user: pattern("DSN", "//([^:]*)") } })
    expect(refusal([user], inUrl)).toContain("still leads elsewhere")
    expect(refusal([dsn("@([^:]*)", "//(u)")], inUrl)).toContain("still leads elsewhere")
    expect(refusal([dsn("@([^:]*)", "//(u)")], inUrl)).not.toContain(canary)
  })
})

describe("a URL whose query may lead to a further server", () => {
  const branch = sessionBranch({ url: variable("URL") })
  it.each([
    "postgres://h/db?addr=SRC:6379",
    "postgres://h/db?x=5,postgres://SRC/db",
    "postgres://h/db?x=1;proxyHost=SRC",
    "postgres://h/db?x=1 host=SRC",
    "postgres://h/db?replica[0][host]=SRC"
  ])("refuses the session: %s", (url) => {
    expect(refusal([branch], { URL: url })).toContain("may lead to another server")
    expect(refusal([branch], { URL: url })).not.toContain("SRC")
  })

  it("keeps what only sounds like it", () => {
    const url = "postgres://h/db?serverVersion=16&application_name=x"
    expect(rewritten([branch], { URL: url })["URL"]).toContain("?serverVersion=16&application_name=x")
  })
})

describe("parts of variables that lead to a further server", () => {
  const host = String.raw`\b(?P<host>h)\b`
  it.each([
    "postgres://h/db?host=/cloudsql/SRC",
    "postgres://h/db?hostaddr=SRC",
    "mysql://h/db?socket=/SRC",
    "jdbc:postgresql://h/db?cloudSqlInstance=SRC&socketFactory=com.google",
    "jdbc:mariadb://h/db?localSocket=/SRC",
    "jdbc:mysql:loadbalance://h:3306,SRC:3306/db",
    "host=h hostaddr=SRC",
    "host=h,SRC",
    "h:6379,SRC:6379",
    "h:6379;SRC:6379",
    "h:6379 SRC:6379",
    "h:6379\nSRC:6379",
    "h:6379|SRC:6379",
    "h:6379 , SRC:6379",
    "SRC:6379; h:6379",
    "postgres://h/db?%68ost=SRC",
    "mysql://h/db,mysql://SRC/db"
  ])("refuse the session: %s", (value) => {
    const branch = sessionBranch({ params: { host: pattern("DSN", host) } })
    expect(refusal([branch], { DSN: value })).toContain("still leads elsewhere")
  })

  it.each([
    ["postgres://h/db?sslmode=require", "sslmode"],
    ["jdbc:postgresql://h/db?ssl=true", "ssl"],
    ["host=h sslmode=verify-full", "sslmode"]
  ])("refuse the session if the rest insists on TLS: %s", (value, word) => {
    const branch = sessionBranch({ params: { host: pattern("DSN", host) } })
    expect(refusal([branch], { DSN: value })).toContain(`insists on TLS by ${word}, which is none of its parts`)
    expect(rewritten([branch], { DSN: "postgres://h/db?sslmode=prefer" })["DSN"]).toContain("sslmode=prefer")
  })

  it.each([
    "host=h port=5432 dbname=x",
    "Server=tcp:h,1433;Database=x",
    "jdbc:postgresql://h/db?application_name=x",
    "--host=h -p 5432",
    "mysql://h/db?serverVersion=8"
  ])("do not where they lead to the branch alone: %s", (value) => {
    const branch = sessionBranch({ params: { host: pattern("DSN", host) } })
    expect(rewritten([branch], { DSN: value })["DSN"]).toContain("10.1.2.3")
  })
})

describe("variables that the target lacks", () => {
  const secret = { secret: { name: "db", key: "url", env_var_name: "DATABASE_URL" } }

  it("are set if the application reads a Secret by them, and rewritten if the target has them", () => {
    expect(rewritten([sessionBranch({ url: secret })], {})).toEqual({ DATABASE_URL: branchUrl })
    const change = { databaseName: "n", postgresOptions: { queryParams: { a: "b" } } }
    expect(rewritten([sessionBranch({ url: secret }, change)], {})).toEqual({ DATABASE_URL: `${branchUrl}/n?a=b` })
    const present = { DATABASE_URL: "postgres://u@h/s?x=1" }
    expect(rewritten([sessionBranch({ url: secret })], present)["DATABASE_URL"]).toContain("10.1.2.3:5432/s?x=1")
    const database = { secret: { name: "db", key: "name", env_var_name: "NAME" } }
    const params = { host: variable("DB_HOST"), database }
    expect(rewritten([sessionBranch({ params })], {})).toEqual({})
  })

  it("are not set against the client's will, nor where the workload only may have them", () => {
    const branch = sessionBranch({ url: secret })
    expect(rewritten([branch], {}, { filter: ["DATABASE_*"] })).toEqual({})
    expect(rewritten([branch], {}, { select: ["OTHER"] })).toEqual({})
    expect(rewritten([branch], {}, { select: [] })).toEqual({ DATABASE_URL: branchUrl })
    expect(rewritten([branch], {}, { filter: ["*URL"], select: ["DATABASE_URL"] })).toEqual({})
    expect(rewritten([sessionBranch({ url })], { OTHER: "1" })).toEqual({ OTHER: "1" })
  })

  it("make a branch unused, where the client asked for them", () => {
    const unused = (...args: Parameters<typeof rewriting>) => Result.getOrThrow(rewriting(...args)).unused
    const branch = "branch-1"
    expect(unused([sessionBranch({ url })], { OTHER: "1" })).toEqual([{ branch, places: ["DATABASE_URL"] }])
    const params = { host: variable("DB_HOST"), user: variable("DB_USER") }
    expect(unused([sessionBranch({ params })], { DB_USER: "ann" })).toEqual([{ branch, places: ["DB_HOST"] }])
    expect(unused([sessionBranch({ url })], {}, { select: ["OTHER"] })).toEqual([])
    expect(unused([sessionBranch({ url })], {}, { filter: ["DATABASE_URL"] })).toEqual([])
    expect(unused([sessionBranch({ url: [variable("A"), url] })], { DATABASE_URL: "postgres://h/s" })).toEqual([])
    expect(unused([sessionBranch({ url: secret })], {})).toEqual([])
    expect(unused([sessionBranch({ url: { secret: { name: "db", key: "url" } } })], {})).toEqual([
      { branch, places: [] }
    ])
  })
})

describe("any environment", () => {
  const names = ["A", "B", "C", "DATABASE_URL", "HOST"]
  const source = fc.constantFrom(...names).chain((name) =>
    fc.oneof(
      fc.constant(variable(name)),
      fc.constant({ secret: { name: "s", key: "k", env_var_name: name } }),
      fc
        .constantFrom("//(?P<host>[^:/]+)", "(.*)", "@([^/]*)", ":([0-9]*)", "([a-z]+[.]source[.][a-z]*)")
        .map((text) => pattern(name, text))
    )
  )
  const sources = fc.array(source, { minLength: 1, maxLength: 3 })
  const connection = fc.oneof(
    fc.record({ url: sources }),
    fc.record({
      params: fc.record(
        { host: sources, port: sources, user: sources, password: sources, database: sources },
        { requiredKeys: ["host"] }
      )
    })
  )
  const scheme = fc.constantFrom("postgres", "postgresql", "postgresql+psycopg", "jdbc:postgresql", "mysql", "http", "")
  const odd = fc.string({ unit: "binary", maxLength: 6 }).map((text) => text.replaceAll("\0", ""))
  const host = fc.constantFrom(canary, `${canary}:6432`, `${canary},${canary}`, `${canary}:1,other:2`, `[::1]`)
  const query = fc.array(
    fc.tuple(
      fc.constantFrom("host", "hostaddr", "HOST", "%68ost", "x", "port", "service", "server"),
      fc.constantFrom(canary)
    ),
    { maxLength: 3 }
  )
  const value = fc.oneof(
    fc.tuple(scheme, odd, odd, host, odd, query).map(
      ([name, user, password, place, path, pairs]) =>
        `${name}://${user}:${password}@${place}/${path}?${pairs
          .filter(([key]) => key !== "x")
          .map((pair) => pair.join("="))
          .join("&")}`
    ),
    odd,
    fc.constant(`host=${canary} port=1`),
    fc.constant(`Server=${canary};Port=1`)
  )
  const environment = fc.dictionary(fc.constantFrom(...names, "OTHER", "PATH"), value)
  const patterns = fc.array(fc.constantFrom("*", "A*", "DATABASE_URL", "?", "OTHER"), { maxLength: 2 })

  it("has no address of the source in a variable that leads to the branch, and other variables as they were", () => {
    let proved = 0
    fc.assert(
      fc.property(connection, environment, patterns, patterns, (from, given, filter, select) => {
        const branch = sessionBranch(from, { databaseName: "n" })
        const plan = environmentPlan([branch])
        fc.pre(Result.isSuccess(plan))
        const { edits } = plan.success
        const variables = new Map(Object.entries(given))
        const wanted = { filter: new Set(filter), select: new Set(select) }
        const result = rewriteEnvironment(plan.success, variables, wanted)
        if (Result.isFailure(result)) {
          expect(result.failure).not.toContain("canary")
          return
        }
        for (const name of variables.keys()) expect(result.success.variables.has(name)).toBe(true)
        for (const [name, text] of result.success.variables) {
          const isWhole = edits.get(name)?.some((edit) => edit.pattern === undefined) === true
          if (!edits.has(name)) expect(text).toBe(given[name])
          if (isWhole) expect(text).not.toContain("canary")
          proved += isWhole ? 1 : 0
          if (name in given) continue
          expect(filter.some((one) => matchesGlob(one, name))).toBe(false)
          expect(select.length === 0 || select.some((one) => matchesGlob(one, name))).toBe(true)
        }
      }),
      { numRuns: 1_000 }
    )
    expect(proved).toBeGreaterThan(100)
  })

  it("is the same for the same answer, and URLs that were rewritten stay as they are", () => {
    fc.assert(
      fc.property(value, odd, (text, name) => {
        const branch = sessionBranch({ url }, name.trim() === "" ? {} : { databaseName: name.trim() })
        const once = rewriting([branch], { DATABASE_URL: text })
        fc.pre(Result.isSuccess(once))
        expect(rewriting([branch], { DATABASE_URL: text })).toEqual(once)
        const twice = rewriting([branch], Object.fromEntries(once.success.variables))
        expect(Result.getOrThrow(twice).variables).toEqual(once.success.variables)
      }),
      { numRuns: 500 }
    )
  })
})

const podWith = (env: unknown) => ({ spec: { containers: [{ name: "other" }, { name: "app", env }] } })

describe("variables whose values stand in a pod", () => {
  it("are those of the container that refer to nothing", () => {
    const env = [
      { name: "A", value: "1" },
      { name: "B", value: "x$(A)" },
      { name: "C", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "D", value: "first" },
      { name: "D", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "E", value: "" },
      { value: "2" }
    ]
    expect([...literalVariables(podWith(env), "app")]).toEqual([
      ["A", "1"],
      ["E", ""]
    ])
    expect(literalVariables(podWith(env), "other").size).toBe(0)
    expect(literalVariables({}, "app").size).toBe(0)
  })
})
