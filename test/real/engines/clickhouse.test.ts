/** Branches of ClickHouse: what the containers of a branch's pod do with real servers. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { subnetOf } from "../../address-plan.ts"
import { describeWith } from "../../support/describe-with.ts"
import { branchPassword, copyFailure, fromEnv, withBranch, type BranchPlace } from "./branch-containers.ts"
import { askClickhouse, clickhousePath, serveClickhouseBranch, startClickhouseSource } from "./clickhouse-server.ts"
import { engineFolder, type Server } from "./postgresql-server.ts"

const password = "p w$(HOME)'\"%\\ü<&"
const sourceAddress = `127.${subnetOf("copies of databases")}.0.5`
const branchAddress = `127.${subnetOf("copies of databases")}.0.6`
const urlOf = (login: string, rest = ":9000/shop"): string => `clickhouse://${login}@${sourceAddress}${rest}`
const sourceUrl = urlOf(`default:${encodeURIComponent(password)}`)

type Options = NonNullable<BranchDatabaseSpec["clickhouseOptions"]>

const place: BranchPlace = {
  path: clickhousePath,
  env: [
    { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "app", key: "url" } } },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "reader", key: "password" } } },
    { name: "HOST", value: sourceAddress },
    { name: "HTTP_PORT", value: "8123" },
    { name: "READER", value: "reader" },
    { name: "DATABASE", value: "shop" },
    { name: "DEAD_URL", value: "clickhouse://127.7.7.7:1/other" }
  ],
  secrets: { app: { url: sourceUrl }, reader: { password: "of-the-reader" } }
}

const asked = (options: Options, more: Partial<BranchDatabaseSpec> = {}) => ({
  spec: { clickhouseOptions: options, ...more }
})

/** Makes the branch, and asks it. */
const branch = (
  wanted: ReturnType<typeof asked>,
  ask: (query: (sql: string) => Promise<string>, server: Server) => Promise<void>,
  database = "shop"
): Promise<void> =>
  withBranch(place, wanted, async (serve, log) => {
    expect(log).toBe("")
    const server = await serveClickhouseBranch(serve, branchAddress, branchPassword)
    try {
      await ask((sql) => server.query(database, sql), server)
    } finally {
      await server.stop()
    }
  })

const tables = "select name from system.tables where database = currentDatabase() order by name"

describeWith(["ClickHouse"], "a branch of ClickHouse", () => {
  let source: Server
  const folder = engineFolder()

  beforeAll(async () => {
    source = await startClickhouseSource(folder.path, sourceAddress, {
      default: { password, profile: "default" },
      reader: { password: "of-the-reader", profile: "reading" },
      partial: { password: "", profile: "partial" }
    })
    await source.query("default", "create database shop")
    for (const statement of [
      `create table users (id UInt32, day Date, name String, tags Array(String), at DateTime default now(), half Float64
        materialized id / 2) engine = MergeTree partition by toYYYYMM(day) order by id`,
      `insert into users (id, day, name, tags) select number, toDate('2010-01-01') + number, concat('it''s \\\\ \\n ',
        toString(number)), ['a', 'ü'] from system.numbers limit 6000`,
      "create table `Odd \\`na.me\\\\` (id UInt32, note Nullable(String)) engine = Log",
      "insert into `Odd \\`na.me\\\\` values (1, null), (2, 'x')",
      "create table empty (id UInt32) engine = TinyLog",
      "create materialized view per_day engine = SummingMergeTree order by id as select id % 7 id, 1 as n from users",
      "create materialized view a_last engine = SummingMergeTree order by id as select id % 3 as id, n from per_day",
      "create materialized view per_name to `Odd \\`na.me\\\\` as select id, toNullable(name) as note from users",
      "create view later_view as select id, name from users where name != ' ENGINE = Log'",
      "create view a_view as select id from later_view where id < 10",
      "create table buffer as users engine = Buffer(shop, users, 1, 100, 1000, 1000, 10000, 1000, 10000)",
      "create table memory (id UInt32) engine = Memory",
      "insert into memory values (1)"
    ])
      await source.query("shop", statement)
    await source.query("shop", "insert into users (id, day) values (100000, '2010-01-01')")
  })
  afterAll(async () => {
    await source?.stop()
    folder.remove()
  })

  it("has everything with mode all, and changes nothing in the source", async () => {
    await branch(asked({ copy: { mode: "all" } }), async (query) => {
      for (const question of [
        "select count(), sum(id), sum(cityHash64(name)), sum(length(tags)), sum(toUInt32(at)), sum(half) from users",
        "select id, note from `Odd \\`na.me\\\\` order by id, note",
        "select count() from empty",
        "select id, sum(n) from per_day group by id order by id",
        "select id, sum(n) from a_last group by id order by id",
        "select count() from a_view",
        "select timezone(), toString(at), uniq(toYYYYMM(day)) > 100 from users where id = 5 group by at",
        "select count() from buffer"
      ]) {
        const told = await source.query("shop", question)
        expect(told.length).toBeGreaterThan(0)
        expect(await query(question)).toBe(told)
      }
      expect(await query("select count() from memory")).toBe("0")
      // A view keeps at its work.
      await query("insert into users (id, day) values (100001, '2010-01-01')")
      expect(await query("select count() from `Odd \\`na.me\\\\` where id = 100001")).toBe("1")
      await query("alter table users add column more UInt8")
      await query("drop table empty")
    })
    expect(await source.query("shop", "select count() from users where id = 100001")).toBe("0")
    expect(await source.query("shop", "exists table empty")).toBe("1")
  })

  it("has the rows that filters let through beside all structures, by a user who may only read", async () => {
    const items = { users: { filter: "id < 10 and name like 'it''s%'" }, "`Odd ``na.me\\`": {} }
    const params = {
      host: fromEnv("HOST"),
      port: fromEnv("HTTP_PORT"),
      user: fromEnv("READER"),
      password: { secret: { name: "reader", key: "password" } },
      database: fromEnv("DATABASE")
    }
    await branch(asked({ copy: { mode: "schema", items } }, { connectionSource: { params } }), async (query) => {
      expect(await query("select count(), max(id) from users")).toBe("10\t9")
      expect(await query("select count() from `Odd \\`na.me\\\\`")).toBe(
        await source.query("shop", "select count() from `Odd \\`na.me\\\\`")
      )
      expect(await query("select count() from per_day")).toBe("0")
    })
  })

  it("has single tables alone with mode empty, under a name of its own", async () => {
    const limited = "name = 'max_execution_time' and value = '1800'"
    const filter = `id in (select max(id) from users) and (select count() from system.settings where ${limited}) = 1`
    await branch(
      asked({ copy: { mode: "empty", items: { users: { filter } } } }, { databaseName: "mi`ne" }),
      async (query) => {
        expect(await query(tables)).toBe("users")
        expect(await query("select id from users")).toBe("100000")
      },
      "mi`ne"
    )
  })

  it("is empty without a source that can be reached, and entered by its password alone", async () => {
    const dead = { connectionSource: { url: fromEnv("DEAD_URL") } }
    await branch(
      asked({ copy: { mode: "empty" } }, dead),
      async (query, server) => {
        expect(await query(tables)).toBe("")
        await expect(
          askClickhouse(server.address, { user: "default", password: "no" }, "default", "select 1")
        ).rejects.toThrow("Wrong password")
        const headers = {
          "X-ClickHouse-User": "default",
          "X-ClickHouse-Key": Buffer.from(branchPassword).toString("latin1")
        }
        const answer = await fetch(`http://${server.address}:8123/?query=select+currentDatabase()&database=other`, {
          headers
        })
        expect(await answer.text()).toBe("other\n")
      },
      "other"
    )
  })

  it.each([
    ["a wrong password", { SOURCE_URL: urlOf("default:wrong-secret") }, "Wrong password"],
    ["no server", { SOURCE_URL: "clickhouse://default:wrong-secret@127.7.7.7:1/shop" }, "Connection refused"],
    ["no such database", { SOURCE_URL: sourceUrl.replace("/shop", "/none") }, "none doesn't exist"],
    ["a variable that is not there", { SOURCE_URL: "$(TARGET_DATABASE_URL)" }, "has no variable for the source's URL"],
    ["several hosts", { SOURCE_URL: "clickhouse://a:wrong-secret@a:9000,b:9000/shop" }, "names several hosts"],
    ["an unusual port of HTTP", { SOURCE_URL: "http://a:wrong-secret@a:8000/shop" }, "no usual port of HTTP"],
    ["another form", { SOURCE_URL: "tcp://a:9000?password=wrong-secret" }, "must begin with clickhouse:// or http://"],
    ["a user who gets a part", { SOURCE_URL: urlOf("partial") }, "settings that leave rows out (read_overflow_mode)"],
    ["another name for views", { DATABASE_NAME: "other" }, "views name its database"]
  ])("fails with the reason, and without credentials: %s", async (_, change, reason) => {
    const told = await copyFailure(place, { ...asked({ copy: { mode: "all" } }), change })
    expect(told).toContain(reason)
    for (const secret of [password, encodeURIComponent(password), "wrong-secret"]) expect(told).not.toContain(secret)
  })

  it.each([
    ["no such table", { nothing: {} }, "the source has no table nothing that keeps rows"],
    ["a view", { a_view: {} }, "the source has no table a_view that keeps rows"],
    ["a filter that is none", { users: { filter: "no such thing" } }, "rows of table users could not be copied"],
    ["a filter with an unknown column", { users: { filter: "nobody = 1" } }, "nobody"]
  ])("fails with the reason for tables: %s", async (_, items, reason) => {
    expect(await copyFailure(place, asked({ copy: { mode: "empty", items } }))).toContain(reason)
  })

  it("reads the rows for a filter without a right to read elsewhere", async () => {
    const change = { COPY_FILTER_0: "id in (select number from url('http://127.7.7.7:1/', 'CSV', 'number UInt32'))" }
    const wanted = { ...asked({ copy: { mode: "empty", items: { users: { filter: "true" } } } }), change }
    expect(await copyFailure(place, wanted)).toContain("readonly mode")
  })

  it("fails where the source breaks off among its rows, whatever arrived", async () => {
    const programs = engineFolder()
    try {
      const script = `#!/bin/sh
        PATH=\${PATH#*:}
        case "$*" in
          *"select * from"*)
            clickhouse-client "$@" | head -c 1000
            echo 'Code: 32. DB::Exception: it is lost' >&2
            exit 1
            ;;
        esac
        exec clickhouse-client "$@"`
      writeFileSync(join(programs.path, "clickhouse-client"), script, { mode: 0o755 })
      const lost = { ...place, path: `${programs.path}:${clickhousePath}` }
      const told = await copyFailure(lost, asked({ copy: { mode: "empty", items: { users: {} } } }))
      expect(told).toMatch(/it is lost\nrows of table users could not be copied\n$/u)
    } finally {
      programs.remove()
    }
  })

  it("has plain tables in the place of those that their servers replicate", async () => {
    await source.query("default", "create database copies")
    // Without a keeper a server takes such tables as they are when it starts, or when they are attached.
    for (const statement of [
      `attach table a (id UInt32, v UInt8) engine =
        ReplicatedReplacingMergeTree('/tables/{shard}/a', '{replica}', v) order by id`,
      "attach table b (d Date, id UInt32) engine = ReplicatedMergeTree('/tables/b', 'r', d, id, 8192)",
      "attach table c (id UInt32) engine = ReplicatedMergeTree('/tables/c', 'r') order by id"
    ])
      await source.query("copies", statement)
    const wanted = asked({ copy: { mode: "all" } }, { databaseName: "copies" })
    const change = { SOURCE_URL: sourceUrl.replace("/shop", "/copies") }
    await withBranch(place, { ...wanted, change }, async (serve) => {
      const server = await serveClickhouseBranch(serve, branchAddress, branchPassword)
      try {
        expect(
          await server.query("copies", "select engine from system.tables where database = 'copies' order by name")
        ).toBe("ReplacingMergeTree\nMergeTree\nMergeTree")
      } finally {
        await server.stop()
      }
    })
  })

  it("is not made of a source whose tables lead elsewhere", async () => {
    await source.query("default", "create database leads")
    await source.query("leads", "create table events (id UInt32) engine = URL('http://127.7.7.7:1/', 'CSV')")
    const change = { SOURCE_URL: sourceUrl.replace("/shop", "/leads") }
    const told = await copyFailure(place, { ...asked({ copy: { mode: "schema" } }), change })
    expect(told).toContain("the source has events (URL), whose engine a branch cannot have")
  })

  it.each([
    ["a view of a function", "view t as select id from url('http://127.7.7.7:1/', 'CSV', 'id UInt32')", "View"],
    ["a view's engine", "materialized view t engine = URL('http://127.7.7.7:1/', 'CSV') as select id from a", "Mat"],
    // The server of a machine may be too old for such a disk; the text of its statement is the same.
    ["a disk", "table t (id UInt32, note String default ' disk = disk(') engine = MergeTree order by id", "MergeTree"]
  ])("is not made of a source that leads elsewhere by %s", async (_, object, engine) => {
    await source.query("default", "create database lead")
    try {
      await source.query("lead", "create table a (id UInt32) engine = Log")
      await source.query("lead", `create ${object}`)
      const change = { SOURCE_URL: sourceUrl.replace("/shop", "/lead") }
      const told = await copyFailure(place, { ...asked({ copy: { mode: "schema" } }), change })
      expect(told).toContain(`the source has t (${engine}`)
      expect(told).toContain("which leads out of the server")
      const named = asked({ copy: { mode: "empty", items: { t: {} } } })
      expect(await copyFailure(place, { ...named, change })).toContain("no table t that keeps rows in the server")
    } finally {
      await source.query("default", "drop database lead")
    }
  })

  it("is made of a source whose tables have names of functions", async () => {
    await source.query("default", "create database names")
    await source.query("names", "create table url (file UInt32, remote String) engine = Log")
    await source.query("names", "create view redis as select file, URLHierarchy(remote) as path from url")
    const change = { SOURCE_URL: sourceUrl.replace("/shop", "/names") }
    await withBranch(place, { ...asked({ copy: { mode: "all" } }, { databaseName: "names" }), change }, async () => {})
  })
})
