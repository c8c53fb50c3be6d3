/** Branches of MariaDB and MySQL: what the containers of a branch's pod do with real servers. */

import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { subnetOf } from "../../address-plan.ts"
import { describeWith } from "../../support/describe-with.ts"
import { branchPassword, copyFailure, fromEnv, withBranch, type BranchPlace } from "./branch-containers.ts"
import { askAs, type MysqlEngine, mysqlEngines, serveMysqlBranch, startMysqlSource } from "./mysql-server.ts"
import { engineFolder, quickFolder, type Server } from "./postgresql-server.ts"

const password = "p w$(HOME)'\"%\\ü"
const sourceAddress = `127.${subnetOf("copies of databases")}.0.1`
const branchAddress = `127.${subnetOf("copies of databases")}.0.2`
const sourceUrl = `mysql+pymysql://root:${encodeURIComponent(password)}@${sourceAddress}:3306/shop?charset=utf8mb4#x`

const content = `
  create user reader@'%' identified by 'x';
  create user poor@'%' identified by 'secret';
  create table users (id int primary key auto_increment, name varchar(40),
    twice int as (char_length(name) * 2) stored, raw blob);
  create table orders (id int primary key auto_increment, buyer int, foreign key (buyer) references users (id));
  create table changes (id int primary key auto_increment, what varchar(40));
  create table \`Big.Orders \`\`x\` (id int, note text character set utf8mb4);
  create definer = reader@'%' view names as select name from users;
  create definer = 'root'@'10.%' view places as select count(*) as number from users;
  create definer = reader@'%' function doubled(a int) returns int deterministic return a * 2;
  create function spoil() returns int modifies sql data begin delete from orders; return 1; end;
  grant select on shop.users to poor@'%', reader@'%';
  insert into users (name, raw) with recursive n (i) as (select 1 union all select i + 1 from n where i < 20)
    select concat('user', i), x'00ff5c27' from n;
  insert into orders (buyer) with recursive n (i) as (select 1 union all select i + 1 from n where i < 100)
    select 1 + i % 20 from n;
  insert into \`Big.Orders \`\`x\` values (1, 'tab\\there'), (2, '\\\\.'), (3, null), (4, '🦊');
  create definer = reader@'%' trigger told after insert on users for each row insert into changes (what) values ('new');
  create event often on schedule every 1 day starts now() + interval 1 day do delete from shop.orders;`

type Options = NonNullable<BranchDatabaseSpec["mariadbOptions"]>

const place = (path: string): BranchPlace => ({
  path,
  parent: quickFolder(),
  env: [
    { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "app", key: "url" } } },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "app", key: "password" } } },
    { name: "HOST", value: sourceAddress },
    { name: "DB_USER", value: "root" },
    { name: "DB_NAME", value: "shop" },
    { name: "DEAD_URL", value: "mysql://root@127.7.7.7:1/shop" },
    { name: "NO_NAME", value: "mysql://root@127.7.7.7:1" },
    { name: "CLUSTER", value: "mysql://root@one,two/shop" }
  ],
  secrets: { app: { url: sourceUrl, password } }
})

const tables = "select group_concat(table_name order by 1) from information_schema.tables where table_schema = 'shop'"
const poorUrl = `mysql://poor:secret@${sourceAddress}/shop`

/** A source with its content, and what is done to branches of it. */
const branches = (engine: MysqlEngine) => {
  let source: Server
  const folder = engineFolder(quickFolder())
  const here = place(engine.path)

  beforeAll(async () => {
    source = await startMysqlSource(engine, folder.path, sourceAddress, password)
    await source.query("", "create database shop character set latin1")
    await source.query("shop", `delimiter //\n${content.replaceAll(/;$/gmu, "//")}\n//`)
  })
  afterAll(async () => {
    await source.stop()
    folder.remove()
  })

  const query = (database: string, sql: string) => source.query(database, sql)
  const asked = (options: Options, more: Partial<BranchDatabaseSpec> = {}) => ({
    spec: { [engine.block]: options, ...more }
  })

  /** Makes the branch, and asks it. */
  const branch = (
    wanted: ReturnType<typeof asked>,
    ask: (server: Server) => Promise<void>,
    said: unknown = ""
  ): Promise<void> =>
    withBranch(here, wanted, async (serve, log) => {
      expect(log).toEqual(said)
      const server = await serveMysqlBranch(engine, serve, branchAddress, branchPassword)
      try {
        await ask(server)
      } finally {
        await server.stop()
      }
    })

  const failure = (options: Options, change: Readonly<Record<string, string>> = {}) =>
    copyFailure(here, { ...asked(options), change })

  /** The reason of a copy whose dump program goes on with a script when it has written everything. */
  const failureOfDump = async (end: string): Promise<string> => {
    const programs = engineFolder()
    try {
      const script = `#!/bin/sh\nPATH=\${PATH#*:}\n"$(basename "$0")" "$@"\n${end}\n`
      for (const name of ["mariadb-dump", "mysqldump"]) {
        writeFileSync(join(programs.path, name), script, { mode: 0o755 })
      }
      const changed = { ...here, path: `${programs.path}:${engine.path}` }
      return await copyFailure(changed, asked({ copy: { mode: "all" } }))
    } finally {
      programs.remove()
    }
  }

  const failsWith = async (reason: string, change: Readonly<Record<string, string>>): Promise<void> => {
    const told = await failure({ copy: { mode: "schema" } }, change)
    expect(told).toContain(reason)
    for (const secret of [password, encodeURIComponent(password), "secret"]) expect(told).not.toContain(secret)
  }

  const changesNothing = async (reason: RegExp, filter: string): Promise<void> => {
    const change = { COPY_FILTER_0: filter }
    const told = await failure({ copy: { mode: "schema", items: { orders: { filter: "true" } } } }, change)
    expect(told).toMatch(reason)
    expect(await query("shop", "select count(*) from orders")).toBe("100")
    expect(readdirSync("/tmp")).not.toContain("braid-outfile")
  }

  return { asked, branch, changesNothing, engine, failsWith, failure, failureOfDump, query }
}

/** The decisive cases: contents by every mode, rights that do not suffice, and that the source stays as it is. */
const decisive = (tried: ReturnType<typeof branches>): void => {
  const { asked, branch, changesNothing, engine, failsWith, failure, query } = tried

  it("has everything with mode all, also views, routines and triggers of users that cannot log in", async () => {
    await branch(asked({ copy: { mode: "all" } }), async (server) => {
      const told = (sql: string) => server.query("shop", sql)
      expect(await told("select count(*) from orders join users on buyer = users.id")).toBe("100")
      expect(await told("select count(*), min(hex(raw)), sum(twice) from users")).toBe("20\t00FF5C27\t222")
      expect(await told("select count(*) from changes")).toBe("0")
      expect(await told("select group_concat(note order by id) from `Big.Orders ``x`")).toBe("tab\there,\\.,🦊")
      const next =
        "select auto_increment from information_schema.tables where table_name = 'users' and table_schema = 'shop'"
      const given = await query("shop", next)
      expect(await told("insert into users (name) values ('new'); select last_insert_id()")).toBe(given)
      expect(await told("select count(*) from changes")).toBe("1")
      expect(await told("select count(*), doubled(21) from names")).toBe("21\t42")
      expect(await told("select number from places")).toBe("21")
      await expect(told("insert into orders (buyer) values (99)")).rejects.toThrow("foreign key")
      const charset = "select default_character_set_name from information_schema.schemata where schema_name = 'shop'"
      expect(await told(charset)).toBe("latin1")
      const events = "select count(*) from information_schema.events"
      expect(await told(events)).toBe("0")
      await expect(askAs(engine, server, "reader", "x", "select 1")).rejects.toThrow("denied")
    })
    expect(await query("shop", "select count(*) from users")).toBe("20")
  })

  it("has the structures with mode schema, and the rows that filters let through", async () => {
    const items = {
      users: { filter: "id <= 3 and ('a;b)' = 'a;b)') and `name` <> \"'\"" },
      "`Big.Orders ``x`": {}
    }
    await branch(asked({ copy: { mode: "schema", items } }), async (server) => {
      const told = (sql: string) => server.query("shop", sql)
      expect(await told("select count(*), max(id) from users")).toBe("3\t3")
      expect(await told("select count(*) from orders")).toBe("0")
      expect(await told("select count(*) from `Big.Orders ``x`")).toBe("4")
      expect(await told("select count(*), doubled(1) from names")).toBe("3\t2")
      expect(await told("select count(*) from changes")).toBe("0")
      await told("insert into users (name) values ('new')")
      expect(await told("select count(*), max(users.id) > 20 from changes, users where name = 'new'")).toBe("1\t1")
    })
  })

  it("has the named tables alone with mode empty, whatever they refer to", async () => {
    const items = { orders: { filter: "id < 11" }, "`Big.Orders ``x`": { filter: "id = 3" } }
    await branch(asked({ copy: { mode: "empty", items } }), async (server) => {
      expect(await server.query("shop", tables)).toBe("Big.Orders `x,orders")
      expect(await server.query("shop", "select count(*) from orders")).toBe("10")
      await server.query("shop", "insert into orders (buyer) values (1)")
      expect(await server.query("shop", "select count(*) from information_schema.routines")).not.toBe("")
    })
  })

  it("says that it may lack triggers where the source's user cannot see them", async () => {
    const wanted = { ...asked({ copy: { mode: "schema" } }), change: { SOURCE_URL: poorUrl } }
    const said = "warning: the source's user has no right to see triggers, so the branch may lack some\n"
    await branch(wanted, async (server) => expect(await server.query("shop", tables)).toBe("users"), said)
  })

  it.each([
    ["a wrong password", { SOURCE_URL: sourceUrl.replace("root:", "root:no") }, "Access denied for user '…'"],
    ["no server", { SOURCE_URL: "mysql://root:secret@127.7.7.7:1/shop" }, "127.7.7.7"],
    ["no such database", { SOURCE_URL: sourceUrl.replace("/shop", "/none") }, "Unknown database 'none'"],
    ["no database", { SOURCE_URL: sourceUrl.replace("/shop", "") }, "names no database"],
    ["several hosts", { SOURCE_URL: "mysql://root:secret@a,b/shop" }, "names several hosts"],
    ["an address of an unknown form", { SOURCE_URL: "jdbc:mysql://h/db" }, "must begin with mysql:// or mariadb://"],
    ["an address with a bad escape", { SOURCE_URL: "mysql://root:%5@h/db" }, "not percent-encoded"],
    ["a variable that is not there", { SOURCE_URL: "$(TARGET_DATABASE_URL)" }, "has no variable for the source's URL"]
  ])("fails with the reason, and without credentials: %s", async (_, change, reason) => {
    await failsWith(reason, change)
  })

  it("fails where the dump program leaves out what it may not see", async () => {
    await query("shop", "grant execute on shop.* to poor@'%'")
    const told = await failure({ copy: { mode: "schema" } }, { SOURCE_URL: poorUrl })
    await query("shop", "revoke execute on shop.* from poor@'%'")
    expect(told).toMatch(/doubled|privilege/u)
  })

  it("tries a filter no longer than a copy may take, and with MySQL reads its rows so", async () => {
    const limits = {
      MariaDB: "@@max_statement_time = 1800 * @@tx_read_only",
      MySQL: "@@max_execution_time * @@transaction_read_only = 1800000"
    }
    const change = { COPY_FILTER_0: `(select 1 union select ${limits[engine.name]})` }
    const wanted = { ...asked({ copy: { mode: "schema", items: { orders: { filter: "true" } } } }), change }
    await branch(wanted, async (server) => {
      expect(await server.query("shop", "select count(*) from orders")).toBe("100")
    })
  })

  it("changes nothing in the source, even by a filter that calls a routine", async () => {
    await changesNothing(/read.only/iu, "spoil() = 1")
  })
}

/** The rest, in which the engines hardly differ. */
const further = ({
  asked,
  branch,
  changesNothing,
  failsWith,
  failureOfDump,
  query
}: ReturnType<typeof branches>): void => {
  it("is empty without a source that can be reached", async () => {
    const empty = (variable: string, databaseName?: string) =>
      asked(
        { copy: { mode: "empty" } },
        { connectionSource: { url: fromEnv(variable) }, ...(databaseName === undefined ? {} : { databaseName }) }
      )
    const databases = (server: Server) =>
      server.query(
        "",
        "select group_concat(schema_name) from information_schema.schemata where schema_name like '%shop%'"
      )
    await branch(empty("DEAD_URL"), async (server) => expect(await databases(server)).toBe("shop"))
    await branch(empty("CLUSTER", "my `$(HOME)` 'shop\\"), async (server) => {
      expect(await databases(server)).toBe("my `$(HOME)` 'shop\\")
    })
  })

  it("is copied from a source that is found by single values, into a database of another name", async () => {
    const params = {
      host: fromEnv("HOST"),
      user: fromEnv("DB_USER"),
      password: { secret: { name: "app", key: "password" } },
      database: fromEnv("DB_NAME")
    }
    const wanted = asked({ copy: { mode: "all" } }, { connectionSource: { params }, databaseName: "other" })
    await branch(wanted, async (server) => {
      expect(await server.query("other", "select count(*), doubled(4) from names")).toBe("20\t8")
    })
  })

  it("has tables whatever signs are in their names, and runs none of them", async () => {
    const ran = `/tmp/braid-ran-${process.pid}`
    const names = [`\`-a $(touch ${ran}) "b\``, `\`\`\`touch ${ran}\`\` 'c\\d; -- e\``]
    for (const name of names) {
      await query("shop", `create table ${name} (id int); insert into ${name} values (1), (2)`)
    }
    const items = Object.fromEntries(names.map((name) => [name, { filter: "id = 1" }]))
    const dumpArgs = ["--routines", `--ignore-table=shop.$(touch ${ran})`]
    try {
      await branch(asked({ copy: { mode: "empty", items, dumpArgs } }), async (server) => {
        for (const name of names) expect(await server.query("shop", `select count(*) from ${name}`)).toBe("1")
      })
    } finally {
      for (const name of names) await query("shop", `drop table ${name}`)
    }
    expect(existsSync(ran)).toBe(false)
  })

  it("fails where the dump breaks off, whatever it has written", async () => {
    const end = "echo 'Error 2013: Lost connection to server during query' >&2; exit 2"
    expect(await failureOfDump(end)).toContain("Lost connection to server")
    expect(await failureOfDump("kill -9 $PPID")).toContain("the dump of the source broke off")
  })

  it("takes the user's arguments of the dump program", async () => {
    const dumpArgs = ["--skip-triggers", "--ignore-table=shop.orders"]
    await branch(asked({ copy: { mode: "schema", dumpArgs } }), async (server) => {
      expect(await server.query("shop", tables)).toBe("Big.Orders `x,changes,names,places,users")
      const programs = "select count(*) from information_schema.routines where routine_schema = 'shop'"
      expect(await server.query("shop", programs)).toBe("0")
      expect(await server.query("shop", "select count(*) from information_schema.triggers")).not.toBe("1")
    })
  })

  it.each([
    ["a table that is not there", { COPY_ITEMS: "1", COPY_ITEM_0: "none" }, "no table none"],
    ["a view", { COPY_ITEMS: "1", COPY_ITEM_0: "names" }, "no table names"],
    ["a filter that is wrong", { COPY_ITEMS: "1", COPY_ITEM_0: "users", COPY_FILTER_0: "no = 1" }, "'no'"]
  ])("fails with the reason, and without credentials: %s", async (_, change, reason) => {
    await failsWith(reason, change)
  })

  it.each([
    ["that is no condition", "id < 3); delete from orders where (true", /read.only/iu],
    ["that writes a file", "id < 3) into outfile '/tmp/braid-outfile' -- ", /syntax|outfile/iu]
  ])("changes nothing in the source, even by a filter %s", async (_, filter, reason) => {
    await changesNothing(reason, filter)
  })
}

// A server of MySQL takes several times as long to be made as one of MariaDB, whose scripts it shares.
const isLong = process.env["BRAID_TEST_LONG"] === "true"
for (const engine of mysqlEngines) {
  describeWith([engine.name], `a branch of ${engine.name}`, () => {
    const tried = branches(engine)
    decisive(tried)
    if (engine.name === "MariaDB" || isLong) further(tried)
  })
}
