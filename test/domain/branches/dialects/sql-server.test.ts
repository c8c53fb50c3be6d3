import { MSSQL_SCHEMA, parse } from "@tediousjs/connection-string"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { branchPod } from "../../../../src/domain/branches/branch-pod.ts"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import { readAddressText, writtenAddressText } from "../../../../src/domain/branches/dialects/sql-server-address.ts"
import { environmentPlan } from "../../../../src/domain/branches/environment-plan.ts"
import { everyVariable, rewriteEnvironment } from "../../../../src/domain/branches/environment-rewriting.ts"
import { asObjects, at } from "../../../../src/domain/json.ts"
import type { BranchDatabaseSpec } from "../../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"
import { pattern, variable } from "../session-branch.ts"

const request = (change: Partial<BranchDatabaseSpec>) =>
  readBranchRequest({
    ...bareBranchSpec,
    mssqlOptions: {},
    ...change
  })

const problemOf = (filter: string): string =>
  Result.match(request({ mssqlOptions: { copy: { mode: "schema", items: { t: { filter } } } } }), {
    onSuccess: () => "",
    onFailure: (told) => told
  })

describe("a branch of SQL Server", () => {
  it.each([
    ["arguments", { copy: { mode: "all", dumpArgs: ["--x"] } }, "there is no dump program to take it"],
    ["a table of a database", { copy: { mode: "empty", items: { "shop.dbo.users": {} } } }, "no name of a table"],
    ["a name with a line of its own", { copy: { mode: "empty", items: { "[a\nGO\n]": {} } } }, "no name of a table"]
  ] as ReadonlyArray<readonly [string, object, string]>)("is refused for %s", (_, mssqlOptions, reason) => {
    const refusal = Result.match(request({ mssqlOptions }), { onSuccess: () => "", onFailure: (told) => told })
    expect(refusal).toContain(reason)
  })

  it.each([
    ["orders", "[orders]"],
    ["Sales.Orders", "[Sales].[Orders]"],
    ["[Odd]]Name].[a.b]", "[Odd]]Name].[a.b]"],
    ['"Odd ""Name"""', '[Odd "Name"]']
  ])("has its tables in brackets: %s", (name, written) => {
    const found = Result.getOrThrow(request({ mssqlOptions: { copy: { mode: "empty", items: { [name]: {} } } } }))
    expect(found.parts.map((part) => found.dialect.partName(part.name))).toEqual([written])
  })

  it.each([
    "id <= 100",
    "name = N'O''Brien; -- (' and [Odd ) ]] name] is null",
    'exists (select 1 from [dbo].[t] as x where x.id in (1, 2) and "a(b" = x.id)',
    "getdate() > created and len(t.name) > 3 and '.f(' = name",
    "openrowsets = 1",
    "place = geography::Point(1, 2, 4326) and n is distinct from len(name)",
    "exists (select a, len(b) from [t] as v (a, b) where v.a in (1, len(v.b)) order by v.a, len(v.b))",
    "exists (select 1 from t with (nolock), (values (1)) as v(x) cross apply openjson(t.j) where isnull(b, len(b)) = 1)"
  ])("may have the filter %s", (filter) => {
    expect(problemOf(filter)).toBe("")
  })

  it.each([
    ["id<3) delete from t where (1=1", "closing parenthesis"],
    ["[a]]'] ) delete from t where ( 'x' = 'x'", "parenthesis"],
    ["id = (select 1 from openrowset('x', 'y', 'z'))", "another server"],
    ["id in (select id from OpenQuery([srv], 'delete from t'))", "another server"],
    ["id = next  value for dbo.s", "counts a sequence on"],
    ["dbo.f(id) = 1", "calls dbo.f, which is none of the functions"],
    ["[dbo] . [f](id) = 1", "which is none of the functions"],
    ['"dbo"."f" (id) = 1', "which is none of the functions"],
    ["exists (select 1 from f(1))", "which is none of the functions"],
    ["exists (select 1from[f](1))", "which is none of the functions"],
    ["exists (select 1e5from @f(1))", "which is none of the functions"],
    ["dbo.f\u0300(1) = 1", "which is none of the functions"],
    ["exists (select len(1) from a, [f] (a.x) as b)", "which is none of the functions"],
    ["exists (select 1 from a join b on a.x = isnull(b.x, 1), f(1))", "which is none of the functions"],
    ["exists (select 1 from a cross apply f(a.x))", "which is none of the functions"],
    ["[dbo].[T]::Write(1) = 1", "which is none of the functions"],
    ["T :: Write(1) = 1", "which is none of the functions"],
    ["exists (select 1 from t with (TabLockX, holdlock))", "locks rows of the source"],
    ["exists (select 1 from t (updlock))", "locks rows of the source"],
    ["id = 1; delete from t", "semicolon"],
    ["id = 1 -- x", "comment"],
    ["id = $(x)", "$"],
    ["id = 1\nGO\ndelete from t", "one line"]
  ])("may not have the filter %s", (filter, reason) => {
    expect(problemOf(filter)).toContain(reason)
  })

  it("has a pod as Pod Security allows it, with the capability that its server needs, and its folder", () => {
    const found = Result.getOrThrow(request({ databaseName: "shop" }))
    const owner = { apiVersion: "v1", kind: "BranchDatabase", name: "mirrord-mssql-branch-1", uid: "u" }
    const settings = { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "1Gi" }
    const options = { name: "b", namespace: "shop", owner, request: found, digest: "d", template: {} }
    const containersOf = (acceptsLicence: boolean) => {
      const pod = Result.getOrThrow(branchPod({ ...settings, acceptsLicence }, options))
      expect(at(pod, "spec", "securityContext")).toMatchObject({ runAsUser: 10_001, runAsGroup: 0, fsGroup: 10_001 })
      return [...asObjects(at(pod, "spec", "initContainers")), ...asObjects(at(pod, "spec", "containers"))]
    }
    for (const container of containersOf(true)) {
      expect(container).toMatchObject({
        image: "mcr.microsoft.com/mssql/server:2022-latest",
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] }
        },
        resources: { limits: { memory: "4Gi" } }
      })
      expect(container["volumeMounts"]).toContainEqual({ name: "data", mountPath: "/var/opt/mssql" })
      expect(container["env"]).toContainEqual({ name: "DATA", value: "/var/opt/mssql/db" })
      expect(container["env"]).toContainEqual({ name: "ACCEPT_EULA", value: "Y" })
    }
    for (const container of containersOf(false)) expect(JSON.stringify(container["env"])).not.toContain("ACCEPT_EULA")
  })

  it("is found by migrations through JDBC", () => {
    const { dialect } = Result.getOrThrow(request({}))
    expect(dialect.migrations?.jdbcUrl({ host: "10.1.2.3", port: 1433, database: "a;b}c" })).toBe(
      "jdbc:sqlserver://10.1.2.3:1433;databaseName={a;b}}c};encrypt=true;trustServerCertificate=true"
    )
  })
})

describe("a variable that leads to a branch of SQL Server", () => {
  const password = "p@=;'\"{}w"
  const rewritten = (
    connectionSource: BranchDatabaseSpec["connectionSource"],
    variables: Readonly<Record<string, string>>,
    database?: string
  ): Readonly<Record<string, string>> | string => {
    const access = { host: "10.1.2.3", port: 1433, user: "sa", password: Redacted.make(password) }
    const found = Result.getOrThrow(request({ connectionSource }))
    const branch = { name: "branch-1", request: found, access: { ...access, database } }
    const plan = Result.getOrThrow(environmentPlan([branch]))
    return Result.match(rewriteEnvironment(plan, new Map(Object.entries(variables)), everyVariable), {
      onSuccess: (environment) => Object.fromEntries(environment.variables),
      onFailure: (told) => told
    })
  }
  const ofUrl = (URL: string, database?: string) => {
    const found = rewritten({ url: variable("URL") }, { URL }, database)
    return typeof found === "string" ? found : (found["URL"] ?? "")
  }
  const login = "sa:p%40%3D%3B'%22%7B%7Dw@10.1.2.3:1433"
  const trusted = "trustServerCertificate=true"
  const ado = `User ID=sa;Password="p@=;'""{}w"`

  it.each([
    ["mssql://u:p@h/shop", `mssql://${login}/shop?${trusted}`],
    ["mssql://u:p@h:14330/shop?encrypt=true&appName=x", `mssql://${login}/shop?encrypt=true&appName=x&${trusted}`],
    ["mssql://h?encrypt=strict", `mssql://${login}?${trusted}&encrypt=true`],
    [
      "mssql+pyodbc://u:p@h/shop?driver=ODBC+Driver+18+for+SQL+Server&Trusted_Connection=yes",
      `mssql+pyodbc://${login}/shop?driver=ODBC+Driver+18+for+SQL+Server&TrustServerCertificate=yes`
    ],
    ["mssql+pymssql://u:p@h/shop?charset=utf8", `mssql+pymssql://${login}/shop?charset=utf8`],
    ["sqlserver://u:p@h:1433?database=shop", `sqlserver://${login}?${trusted}&database=shop`],
    ["sqlserver://u:p@h/INST?database=shop&failoverpartner=x", `sqlserver://${login}?${trusted}&database=shop`],
    ["sqlserver://u:p@h:1433/shop", `sqlserver://${login}/shop?${trusted}&database=shop`],
    [
      "Server=tcp:h,1433;Database=shop;User Id=u;Password=p;Encrypt=true;Application Name=a b",
      `Server=10.1.2.3,1433;Database=shop;User Id=sa;Password="p@=;'""{}w";Encrypt=true;Application Name="a b";` +
        "TrustServerCertificate=true"
    ],
    [
      'Data Source=h\\I;Initial Catalog="a;b";Integrated Security=SSPI;Failover Partner=other;MultiSubnetFailover=yes',
      `Data Source=10.1.2.3,1433;Initial Catalog="a;b";${ado};TrustServerCertificate=true`
    ],
    [
      "server=h;port=1433;user id=u;password=p",
      `server=10.1.2.3;port=1433;user id=sa;password="p@=;'""{}w";TrustServerCertificate=true`
    ],
    [
      "Server=a;Addr=b;Network Address=c;PWD='x;Server=d';Encrypt=Strict",
      `Server=10.1.2.3,1433;PWD="p@=;'""{}w";Encrypt=true;User ID=sa;TrustServerCertificate=true`
    ],
    [
      "Network Address=h;User ID=u;Password=p;IP Address Preference=IPv4First;authenticator=krb5;krb5-realm=x",
      `Network Address=10.1.2.3,1433;User ID=sa;Password="p@=;'""{}w";IP Address Preference=IPv4First;` +
        "TrustServerCertificate=true"
    ],
    [
      "sqlserver://h:1433;user=u;password=p;trustServerCertificateCA=/ca.pem",
      "sqlserver://10.1.2.3:1433;user=sa;password={p@=;'\"{}}w};trustServerCertificate=true"
    ],
    [
      "Driver={ODBC Driver 18 for SQL Server};Server=h;UID=u;PWD={a}};b};Database=shop;Encrypt=strict",
      "Driver=ODBC Driver 18 for SQL Server;Server=10.1.2.3,1433;UID=sa;PWD={p@=;'\"{}}w};Database=shop;Encrypt=yes;" +
        "TrustServerCertificate=yes"
    ],
    [
      "jdbc:sqlserver://h\\INST:1433;databaseName=shop;user=u;password={a;b}};c};socketTimeout=5",
      "jdbc:sqlserver://10.1.2.3:1433;databaseName=shop;user=sa;password={p@=;'\"{}}w};socketTimeout=5;" +
        "trustServerCertificate=true"
    ],
    [
      "jdbc:sqlserver://;serverName=h;portNumber=1;instanceName=i;authentication=ActiveDirectoryMSI",
      "jdbc:sqlserver://10.1.2.3:1433;user=sa;password={p@=;'\"{}}w};trustServerCertificate=true"
    ],
    [
      "sqlserver://h:1433;database=shop;user=u;password=p;encrypt=true",
      "sqlserver://10.1.2.3:1433;database=shop;user=sa;password={p@=;'\"{}}w};encrypt=true;trustServerCertificate=true"
    ]
  ] as ReadonlyArray<readonly [string, string]>)("keeps its form: %s", (source, branch) => {
    expect(ofUrl(source)).toBe(branch)
  })

  it("has the name of the branch's database, wherever the source has it", () => {
    expect(ofUrl("mssql://h/shop", "other")).toBe(`mssql://${login}/other?${trusted}`)
    expect(ofUrl("sqlserver://h", "other")).toBe(`sqlserver://${login}?${trusted}&database=other`)
    expect(ofUrl("mssql://h?database=shop", "other")).toBe(`mssql://${login}?${trusted}&database=other`)
    expect(ofUrl("Server=h;Database=a;Initial Catalog=b", "o;p")).toContain(`;Database="o;p";User ID=sa;`)
    expect(ofUrl("jdbc:sqlserver://h", "a}b")).toContain(";databaseName={a}}b};")
  })

  it.each([
    ["Server=canary;Database=a;Initial Catalog=b", "an ADO connection string that names its database twice"],
    ["Server=canary;Password={a;b}", "an ADO connection string that cannot be read"],
    ["Server=canary;Password='a", "its quotes are never closed"],
    ["Server=canary;Password='a'b", "cannot be read"],
    ["Server=canary;nonsense", "a key is not as this form has it"],
    ["Server=canary;Proxy Host=canary2", "which may lead to another server"],
    ['Server=h;Provider Connection String="a=b;data source=canary"', 'in "Provider Connection String"'],
    ["Server=h;Application Name='a;Server=canary;b'", 'has a text of keys and values in "Application Name"'],
    ["Server=h;Database='a;Server=canary;b'", 'has a text of keys and values in "Database"'],
    ["Driver={x};Server=h;APP={a;Server=canary}", 'has a text of keys and values in "APP"'],
    ["jdbc:sqlserver://h;applicationName={serverName=canary}", 'has a text of keys and values in "applicationName"'],
    ["DSN=canary;UID=u", "a file of the target's drivers"],
    ["jdbc:sqlserver://canary/shop;user=u", "a JDBC URL that cannot be read"],
    ["sqlserver://u:p;w@canary:1433/shop?database=x", "a JDBC URL that cannot be read"],
    ["sqlserver://h:1433;applicationName=a@canary:1433", "a value holds a sign of URLs"],
    ["sqlserver://u:p;database=w@canary:1433?database=shop", "a value holds a sign of URLs"],
    ["sqlserver://u:p;encrypt=w@canary:1433", "a value holds a sign of URLs"],
    ["mssql+pyodbc:///?odbc_connect=Server%3Dcanary", "odbc_connect"],
    ["mssql+pyodbc://u:p@canary", "takes for a DSN"],
    ["mssql://u:p@h/shop?host=x&proxy=canary", "may lead to another server"],
    ["host=canary port=1433 dbname=x", "a text of keys and values"],
    ["postgresql://canary/shop", "a URL of another scheme"]
  ])("refuses the session where it cannot: %s", (source, reason) => {
    expect(ofUrl(source)).toContain(reason)
    expect(ofUrl(source)).not.toContain("canary:")
    expect(ofUrl(source)).toMatch(/^The variable URL cannot lead to branch branch-1: it /u)
  })

  it("is changed in parts, a JDBC URL without its encoding", () => {
    const params = { host: variable("HOST"), port: variable("PORT") }
    expect(rewritten({ params }, { HOST: "tcp:h,1433", PORT: "1" })).toEqual({ HOST: "10.1.2.3", PORT: "1433" })
    const parts = { host: pattern("URL", "//([^:;]+)"), user: pattern("URL", "user=([^;]+)") }
    expect(rewritten({ params: parts }, { URL: "jdbc:sqlserver://h:1433;encrypt=true;user=u" })).toEqual({
      URL: "jdbc:sqlserver://10.1.2.3:1433;encrypt=true;user=sa"
    })
    for (const stray of ["failoverPartner=x", "serverName=y"]) {
      const found = rewritten({ params: parts }, { URL: `jdbc:sqlserver://h:1433;${stray};user=u` })
      expect(found).toContain("still leads elsewhere")
    }
  })

  const keys = fc.constantFrom("Server", "Data Source", "addr", "Database", "UID", "Pwd", "Encrypt", "Application Name")
  const values = fc.string({
    unit: fc.constantFrom("a", "B", ";", "=", "'", '"', "{", "}", " ", "@", ",", "\\"),
    maxLength: 8
  })
  const pairs = fc.array(fc.record({ key: keys, value: values }), { minLength: 1, maxLength: 6 })

  it("is read as it was written, in every form", () => {
    const forms = fc.constantFrom("ADO", "ODBC", "JDBC")
    fc.assert(
      fc.property(forms, pairs, (form, given) => {
        const isJdbc = form === "JDBC"
        const all = [
          ...(form === "ODBC" ? [{ key: "Driver", value: "x" }] : []),
          ...(isJdbc ? [] : [{ key: "Server", value: "h" }]),
          ...given
        ]
        const text = { form, start: isJdbc ? "jdbc:sqlserver://" : "", place: isJdbc ? "h:1" : "", pairs: all } as const
        const read = readAddressText(writtenAddressText(text))
        expect(read && Result.getOrThrow(read)).toEqual(text)
      })
    )
  })

  it("leads to the branch alone, as the parser of Node's driver reads it", () => {
    let proved = 0
    fc.assert(
      fc.property(pairs, fc.option(values, { nil: undefined }), (given, database) => {
        const text = {
          form: "ADO",
          start: "",
          place: "",
          pairs: [{ key: "Server", value: "canary" }, ...given]
        } as const
        const found = ofUrl(writtenAddressText(text), database)
        if (found.startsWith("The variable URL")) return
        proved++
        const read = parse(found).toSchema(MSSQL_SCHEMA)
        expect(read).toMatchObject({ "data source": "10.1.2.3,1433", "user id": "sa", password })
        expect(found).not.toContain("canary")
        if (database !== undefined) expect(read["initial catalog"] ?? "").toBe(database)
      }),
      { numRuns: 300 }
    )
    expect(proved).toBeGreaterThan(50)
  })
})
