import { spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { sqlServer } from "../../../../src/domain/branches/dialects/sql-server.ts"
import { until } from "../../../support/until.ts"

const between = "\u001f"
const behind = "\u001e"

/** Every stand-in tells its name, the password that it was given, and its arguments. */
const told = `printf '%s${between}' "\${0##*/}" "\${SQLCMDPASSWORD-}" "$@" >> "$LOG"; printf '${behind}' >> "$LOG"`

/** The programs of Microsoft's images as far as the copy asks them. \`$BROKEN\`: the one that fails. */
const standIns: Readonly<Record<string, string>> = {
  sqlservr: `printf '%s${between}' sqlservr "\${MSSQL_SA_PASSWORD-}" "\${MSSQL_IP_ADDRESS-}:$MSSQL_TCP_PORT" >> "$LOG"
printf '${behind}' >> "$LOG"
echo $$ > "$STATE/pid"
[ "$BROKEN" != sqlservr ] || { echo "no memory"; exit 1; }
: > "$STATE/up"
while [ ! -e "$STATE/down" ]; do sleep 0.02; done
rm "$STATE/up"`,
  sqlcmd: `case $* in *"select 1") [ -e "$STATE/up" ] && exit 0; exit 1 ;; esac
${told}
case $* in
  *tcp:127.0.0.1,*) [ -e "$STATE/up" ] || { echo "no server"; exit 1; } ;;
  *) [ "$BROKEN" != source ] || { echo "Login failed ($SQLCMDPASSWORD)."; echo "Login failed."; exit 1; } ;;
esac
case $* in
  *shutdown) : > "$STATE/down"; exit 1 ;;
  *databasepropertyex*) [ "$BROKEN" = hidden ] && part=" in part"; echo "collation Latin1_General_CI_AS\${part-}" ;;
  *missing*) ;;
  *history*) echo "temporal [dbo].[history]" ;;
  *far*) echo "external [dbo].[far]" ;;
  *sys.tables*) echo "plain [dbo].[orders]" ;;
  *sys.sequences*) [ "$BROKEN" != sequences ] || echo ":!! id"; echo "alter sequence [dbo].[s] restart with 4;" ;;
  *prune.sql*) cat "$STAGING/prune.sql" >> "$STATE/pruned" ;;
  *answer*) cat "$STAGING/answer" >> "$STATE/sequences" ;;
esac`,
  sqlpackage: `${told}
[ "$BROKEN" != "$1" ] || { echo "*** Error SQL71501: a view names no table ($SECRET)"; echo "*** Error."; exit 1; }
for argument; do case $argument in /TargetFile:*) echo x > "\${argument#*:}" ;; esac; done`,
  bcp: `[ "$1" != -v ] || { echo "Version: 18.2.0001.1"; exit 0; }
${told}
[ "$BROKEN" != rows ] || { echo "SQLState = 22012, NativeError = 8134"; echo "Error = [x]Divide by zero."; }
[ "$BROKEN" != bcp ] || { echo "SQLState = 22018"; exit 1; }
case $2 in queryout) echo rows > "$3"; echo "2 rows copied." ;; *) echo "\${TAKEN:-2} rows copied." ;; esac`
}

interface Outcome {
  readonly status: number | null
  readonly words: string
  readonly calls: ReadonlyArray<ReadonlyArray<string>>
  /** Files that the stand-ins left. */
  readonly state: Readonly<Record<string, string>>
  /** Files of the staging volume. */
  readonly staged: ReadonlyArray<string>
}

const secret = "pa;'\"ss w"
const branchPassword = "-branch_aA0"

const copied = (variables: Readonly<Record<string, string>>, missing: ReadonlyArray<string> = []): Outcome => {
  const folder = mkdtempSync(join(tmpdir(), "braid-sql-server-"))
  try {
    const [bin, STAGING, STATE] = ["bin", "staging", "state"].map((name) => join(folder, name)) as [
      string,
      string,
      string
    ]
    for (const one of [bin, STAGING, STATE, join(folder, "home")]) mkdirSync(one)
    writeFileSync(join(STAGING, "old"), "")
    for (const [name, script] of Object.entries(standIns)) {
      if (missing.includes(name)) continue
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    const env = {
      PATH: `${bin}:/usr/bin:/bin`,
      DATA: join(folder, "home/db"),
      STAGING,
      STATE,
      LOG: join(STATE, "calls"),
      BRANCH_PASSWORD: branchPassword,
      SECRET: secret,
      BROKEN: "",
      ACCEPT_EULA: "Y",
      COPY_MODE: "empty",
      ...variables
    }
    writeFileSync(env.LOG, "")
    const { status, stderr, stdout } = spawnSync("sh", ["-c", sqlServer.copyScript], {
      env,
      encoding: "utf8",
      timeout: 600_000
    })
    const plain = (text: string) => text.replaceAll(folder, "")
    const calls = plain(readFileSync(env.LOG, "utf8"))
      .split(behind)
      .slice(0, -1)
      .map((call) => call.split(between).slice(0, -1))
    const state = Object.fromEntries(
      readdirSync(STATE).flatMap((name) => (name === "calls" ? [] : [[name, readFileSync(join(STATE, name), "utf8")]]))
    )
    return {
      status,
      words: plain(stderr + stdout),
      calls,
      state,
      staged: existsSync(STAGING) ? readdirSync(STAGING) : []
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const source = { SOURCE_URL: `Server=tcp:h,1444;Database=shop;User ID=u;Password="${secret.replaceAll('"', '""')}"` }
const items = { COPY_ITEMS: "1", COPY_ITEM_0: "[or'ders]", COPY_FILTER_0: "name = N'a''b $(x) `y`'" }

/** Whether the server that the copy has started still runs; one that nobody has waited for does not. */
const isRunning = ({ state }: Outcome): boolean => {
  const file = `/proc/${(state["pid"] ?? "").trim()}/stat`
  return state["pid"] !== undefined && existsSync(file) && !readFileSync(file, "utf8").includes(") Z ")
}

/** The calls as lines, with the options that every call of sqlcmd has left out. */
const lines = ({ calls }: Outcome): string =>
  calls.map((call) => call.join(" ¦ ").replace("-C ¦ -b ¦ -x ¦ -h ¦ -1 ¦ -W ¦ -w ¦ 65535 ¦ -l ¦ 15", "…")).join("\n")

describe("the copy of SQL Server, with stand-ins for SQL Server's programs", () => {
  it.each([
    ["empty", {}],
    ["empty with a table", items],
    ["schema", { COPY_MODE: "schema" }],
    ["schema with a table and another name", { COPY_MODE: "schema", DATABASE_NAME: "o]'\"; x", ...items }],
    ["all", { COPY_MODE: "all" }]
  ] as ReadonlyArray<readonly [string, Readonly<Record<string, string>>]>)(
    "asks them this: %s",
    async (_, variables) => {
      const outcome = copied({ ...source, ...variables })
      expect({ status: outcome.status, words: outcome.words }).toEqual({ status: 0, words: "" })
      expect(`${lines(outcome)}\n${outcome.state["pruned"] ?? ""}${outcome.state["sequences"] ?? ""}`).toMatchSnapshot(
        "calls"
      )
      // The server listened to the pod alone, and has ended.
      expect(outcome.calls.find(([name]) => name === "sqlservr")).toEqual([
        "sqlservr",
        branchPassword,
        "127.0.0.1:1433"
      ])
      expect(outcome.calls.at(-1)?.slice(-2)).toEqual(["-Q", "shutdown"])
      expect(Object.keys(outcome.state)).not.toContain("up")
      await until("the end of the server", () => (isRunning(outcome) ? undefined : true))
      expect(outcome.staged).toEqual([])
    }
  )

  it("is this program, and serves by this one", () => {
    expect(sqlServer.copyScript).toMatchSnapshot("copy")
    expect(sqlServer.serveScript).toMatchSnapshot("serve")
    expect(sqlServer.startedScript).toMatchSnapshot("started")
  })

  it("needs neither a source nor SqlPackage for an empty branch", () => {
    const variables = { SOURCE_URL: "$(TARGET_URL)", DATABASE_NAME: "shop" }
    const outcome = copied(variables, ["sqlpackage", "bcp"])
    expect({ status: outcome.status, words: outcome.words }).toEqual({ status: 0, words: "" })
    expect(lines(outcome)).toContain("create database [shop]")
  })

  it.each(["Server=h;PWD='a", "Server=h;nonsense", "postgres://h/x?a=b", "Server=h\\I;PWD={a;b", "sqlserver://h:x;a"])(
    "takes no more than a name from an address that it cannot read: %s",
    (SOURCE_URL) => {
      const { status, words } = copied({ SOURCE_URL, DATABASE_NAME: "shop" })
      expect({ status, words }).toEqual({ status: 0, words: "" })
    }
  )

  it.each([
    ["the licence", { ACCEPT_EULA: "" }, [], "licence of SQL Server is not accepted"],
    ["no SqlPackage", { COPY_MODE: "schema" }, ["sqlpackage"], "the image has no program sqlpackage"],
    ["no bcp", items, ["bcp"], "the image has no program bcp"],
    ["no server", { BROKEN: "sqlservr", COPY_MODE: "schema" }, [], "no memory"],
    ["a source that refuses", { BROKEN: "source", COPY_MODE: "all" }, [], "Login failed."],
    ["a source that is seen in part", { BROKEN: "hidden", COPY_MODE: "schema" }, [], "grant it VIEW DEFINITION"],
    ["a sequence with a line of its own", { BROKEN: "sequences", COPY_MODE: "all" }, [], "sequences could not be read"],
    ["rows that end early", { BROKEN: "rows", ...items }, [], "rows of table [dbo].[orders] could not be read"],
    ["a package that cannot be made", { BROKEN: "/Action:Extract", COPY_MODE: "all" }, [], "could not be read"],
    ["a package that cannot be taken", { BROKEN: "/Action:Publish", COPY_MODE: "all" }, [], "could not be made"],
    ["rows that cannot be read", { BROKEN: "bcp", ...items }, [], "rows of table [dbo].[orders] could not be read"],
    ["rows that get lost", { TAKEN: "1", ...items }, [], "rows of table [dbo].[orders] were not all copied"],
    ["a table that is missing", { ...items, COPY_ITEM_0: "[missing]" }, [], "the source has no table [missing]"],
    ["a table with a history", { ...items, COPY_ITEM_0: "[history]" }, [], "keeps its own history"],
    ["a table that is elsewhere", { ...items, COPY_ITEM_0: "[far]" }, [], "is an external one"],
    ["a line in a name", { DATABASE_NAME: "a\nGO\nb" }, [], "a control character"],
    ["no user", { COPY_MODE: "all", SOURCE_URL: "Server=h;Database=a" }, [], "names no user"],
    ["Windows", { COPY_MODE: "all", SOURCE_URL: "Server=h;Database=a;Integrated Security=SSPI" }, [], "another login"],
    ["an instance", { COPY_MODE: "all", SOURCE_URL: "Server=h\\I;Database=a;UID=u" }, [], "instance without its port"],
    ["two servers", { COPY_MODE: "all", SOURCE_URL: "Server=h;Addr=g;Database=a;UID=u" }, [], "says its server twice"],
    ["open quotes", { COPY_MODE: "all", SOURCE_URL: "Server=h;PWD='a" }, [], "never closed"],
    ["braces", { COPY_MODE: "all", SOURCE_URL: "Server=h;PWD={a}" }, [], "in braces"],
    ["another engine", { COPY_MODE: "all", SOURCE_URL: "postgres://u:p@h/a?x=y" }, [], "none of SQL Server"],
    ["a missing variable", { COPY_MODE: "all", SOURCE_URL: "$(TARGET_URL)" }, [], "no variable for the source's URL"]
  ] as ReadonlyArray<readonly [string, Readonly<Record<string, string>>, ReadonlyArray<string>, string]>)(
    "fails with one reason, without the password, and leaves no server: %s",
    async (_, variables, missing, reason) => {
      const outcome = copied({ ...source, ...variables }, missing)
      const { state, status, words } = outcome
      expect(status).toBe(1)
      expect(words.trim().split("\n").slice(-3).join(" ")).toContain(reason)
      expect(words).not.toContain(secret)
      expect(words).not.toContain(branchPassword)
      expect(Object.keys(state)).not.toContain("down")
      await until("the end of the server", () => (isRunning(outcome) ? undefined : true))
    }
  )

  it.each([
    ["mssql://u:p%40%27@h/shop", "tcp:h,1433", "p@'"],
    ["mssql+pyodbc://u:p%40%27@h:5/shop?driver=x", "tcp:h,5", "p@'"],
    ["sqlserver://u:p%40%27@h:5/INST?database=shop", "tcp:h,5", "p@'"],
    ["jdbc:sqlserver://h\\I:5;databaseName=shop;user=u;password={p}};}}};encrypt=true", "tcp:h,5", "p};}"],
    ["jdbc:sqlserver://;serverName=h;portNumber=5;databaseName=shop;user=u;password=p", "tcp:h,5", "p"],
    ["sqlserver://h:5;database=shop;user=u;password= p ", "tcp:h,5", "p"],
    ['Driver={ODBC Driver 18};Server=tcp:h,5;UID=u;PWD={a;"b}}};Database=shop', "tcp:h,5", 'a;"b}'],
    ["server = h ; port = 5 ; user id = u ; password = 'a;''b' ; database = shop", "tcp:h,5", "a;'b"],
    ['Data Source=h\\I,5;Initial Catalog=shop;User ID=u;Pwd="a""b"', "tcp:h,5", 'a"b']
  ])("finds server and login in %s", (SOURCE_URL, server, password) => {
    const [name, given, ...args] = copied({ SOURCE_URL, COPY_MODE: "all", DATABASE_NAME: "shop" }).calls[0] ?? []
    const login = args.find((one) => one.startsWith("-U"))
    expect([name, given, args[args.indexOf("-S") + 1], login]).toEqual(["sqlcmd", password, server, "-Uu"])
    expect(args[args.indexOf("-d") + 1]).toBe("shop")
  })

  it("reads the source's parts", () => {
    const variables = { SOURCE_HOST: "h\\I,7", SOURCE_USER: "u", SOURCE_PASSWORD: "p", SOURCE_DATABASE: "shop" }
    const [, password, ...args] = copied({ ...variables, COPY_MODE: "all" }).calls[0] ?? []
    expect([password, args[args.indexOf("-S") + 1], args[args.indexOf("-d") + 1]]).toEqual(["p", "tcp:h,7", "shop"])
  })
})
