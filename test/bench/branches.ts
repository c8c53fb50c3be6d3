/**
 * Benchmark of copies: how long the copy of a branch's pod takes with mode `all`, against a new server of the same
 * engine that is filled by the engine's own programs, in the same run and in turns. Servers are real and of this
 * machine. It fails if a copy is not whole.
 */

import { join } from "node:path"
import type { BranchDatabaseSpec } from "../../src/domain/resources/branches/branch-database.ts"
import { subnetOf } from "../address-plan.ts"
import { branchPassword, type BranchPlace, type Command, withBranch } from "../real/engines/branch-containers.ts"
import { clickhousePath, serveClickhouseBranch, startClickhouseSource } from "../real/engines/clickhouse-server.ts"
import { type MysqlEngine, mysqlEngines, serveMysqlBranch, startMysqlSource } from "../real/engines/mysql-server.ts"
import { engineFolder, programPath, run, serveBranch, startSource } from "../real/engines/postgresql-server.ts"
import { startRedis } from "../real/engines/redis-server.ts"
import type { Need } from "../suites.ts"
import { find } from "../support/outside-programs.ts"
import { median, spread } from "./spread.ts"

const sourceAddress = `127.${subnetOf("copies of databases")}.0.7`
const branchAddress = `127.${subnetOf("copies of databases")}.0.8`
const password = "source"
/** Bytes of one row, about. */
const rowSize = 200
const smallSize = 10
const largeSize = 1_000
const repetitions = { short: 3, small: 5, large: 3 }

/** A server of this benchmark. */
interface Running {
  /** The number of rows, or of keys. */
  readonly count: () => Promise<string>
  readonly stop: () => Promise<void>
}

/** An engine whose copies are measured. */
interface Engine {
  readonly name: Need
  /** Starts a source with so many MB. */
  readonly source: (folder: string, megabytes: number) => Promise<Running>
  readonly url: string
  readonly path: string
  readonly spec: Partial<BranchDatabaseSpec>
  readonly serve: (serve: Command) => Promise<Running>
  /**
   * Makes a server in `$DATA` as the engine's own programs do it, for `sh -c`. `mark` is said before and behind the
   * part that copies.
   */
  readonly own: string
}

/** Fills a source; one that cannot be filled does not stay behind. */
const filled = async (stop: () => Promise<void>, fill: () => Promise<void>): Promise<void> => {
  try {
    await fill()
  } catch (error) {
    await stop()
    throw error
  }
}

const rowsOf = (megabytes: number): number => (megabytes * 1_000_000) / rowSize

const postgresql: Engine = {
  name: "PostgreSQL",
  url: `postgresql://postgres:${password}@${sourceAddress}:5432/shop`,
  path: programPath,
  spec: { postgresOptions: { copy: { mode: "all" } } },
  source: async (folder, megabytes) => {
    const server = await startSource(folder, sourceAddress, password)
    await filled(server.stop, async () => {
      await server.query("postgres", "create database shop")
      await server.query(
        "shop",
        `create table orders
          (id serial primary key, buyer int, name text, payload text, amount numeric, at timestamptz);
      insert into orders (buyer, name, payload, amount, at)
        select n % 1000, 'order ' || n, md5(n::text) || md5((n + 1)::text) || md5((n + 2)::text), n * 0.01,
          timestamptz '2020-01-01' + n * interval '1 s' from generate_series(1, ${rowsOf(megabytes)}) n;
      create index on orders (buyer); analyze`
      )
    })
    return { stop: server.stop, count: () => server.query("shop", "select count(*) from orders") }
  },
  serve: async ({ command, env }) => {
    const server = await serveBranch(command, env, branchAddress)
    return { stop: server.stop, count: () => server.query("shop", "select count(*) from orders") }
  },
  own: `initdb -D "$DATA" -U postgres -A trust -E UTF8 --no-sync > "$STAGING/log"
    pg_ctl -D "$DATA" -w -s -l "$STAGING/log" -o "-c listen_addresses= -c unix_socket_directories='$STAGING'" start
    export PGHOST="$STAGING" PGUSER=postgres
    createdb shop
    mark
    pg_dump "$URL" | psql -q -X -v ON_ERROR_STOP=1 -d shop > "$STAGING/log"
    mark
    pg_ctl -D "$DATA" -w -s -m fast stop`
}

const mysql = (engine: MysqlEngine): Engine => ({
  name: engine.name,
  url: `mysql://root:${password}@${sourceAddress}:3306/shop`,
  path: engine.path,
  spec: { [engine.block]: { copy: { mode: "all" } } },
  source: async (folder, megabytes) => {
    const server = await startMysqlSource(engine, folder, sourceAddress, password)
    await filled(server.stop, async () => {
      await server.query("", "create database shop")
      await server.query(
        "shop",
        `create table orders (id int auto_increment primary key, buyer int, name varchar(100), payload varchar(200),
        amount decimal(12, 2), at datetime, key (buyer));
      insert into orders (buyer, name, payload, amount, at) with recursive s (n) as
        (select 1 union all select n + 1 from s where n < 1000)
        select n, concat('order ', n), concat(sha2(n, 256), left(sha2(n + 1, 256), 32)), n * 0.01, '2020-01-01' from s`
      )
      for (let rows = 1_000; rows < rowsOf(megabytes); rows *= 2)
        await server.query(
          "shop",
          `insert into orders (buyer, name, payload, amount, at) select buyer, name,
          concat(sha2(id, 256), left(sha2(id + 1, 256), 32)), amount + 1, at from orders`
        )
    })
    return { stop: server.stop, count: () => server.query("shop", "select count(*) from orders") }
  },
  serve: async (serve) => {
    const server = await serveMysqlBranch(engine, serve, branchAddress, branchPassword)
    return { stop: server.stop, count: () => server.query("shop", "select count(*) from orders") }
  },
  own: `${engine.install}
    ${engine.server} --no-defaults --datadir="$DATA" --skip-networking --socket="$STAGING/s" \\
      --pid-file="$STAGING/pid" --skip-log-bin ${engine.name === "MySQL" ? "--mysqlx=OFF" : ""} --secure-file-priv= \\
      > "$STAGING/log" 2>&1 &
    own() { ${engine.client} --no-defaults --protocol=socket --socket="$STAGING/s" --user=root "$@"; }
    until own -e 'select 1' > "$STAGING/answer" 2>&1; do sleep 0.1; done
    own -e 'create database shop'
    mark
    MYSQL_PWD=${password} ${engine.name === "MySQL" ? "mysqldump" : "mariadb-dump --ssl-verify-server-cert=0"} \\
      --no-defaults --protocol=tcp --host=${sourceAddress} --user=root --single-transaction --routines shop |
      own --database=shop
    mark
    kill $!
    wait $! || :`.replace(
    "--ssl-verify-server-cert=0 \\\n      --no-defaults",
    "--no-defaults --ssl-verify-server-cert=0"
  )
})

const keys = `for i = tonumber(ARGV[1]) + 1, tonumber(ARGV[2]) do
  local text = ''
  for j = 1, 5 do text = text .. redis.sha1hex(i .. '.' .. j) end
  redis.call('set', 'order:' .. i, text)
end
return 1`

const redis: Engine = {
  name: "Redis",
  url: `redis://default:${password}@${sourceAddress}:6379/0`,
  path: process.env["PATH"] ?? "",
  spec: { redisOptions: { copy: { mode: "all" } } },
  source: async (folder, megabytes) => {
    const options = ["--bind", sourceAddress, "--port", "6379", "--save", "", "--dir", folder]
    const command = ["redis-server", ...options, "--requirepass", password]
    const server = await startRedis({ command, env: { PATH: process.env["PATH"] ?? "" } }, sourceAddress, password)
    await filled(server.stop, async () => {
      const [all, step] = [rowsOf(megabytes), 10_000]
      for (let done = 0; done < all; done += step)
        await server.ask(0, "eval", keys, "0", String(done), String(Math.min(all, done + step)))
    })
    return { stop: server.stop, count: () => server.ask(0, "dbsize") }
  },
  serve: async (serve) => {
    const server = await startRedis(serve, branchAddress, branchPassword)
    return { stop: server.stop, count: () => server.ask(0, "dbsize") }
  },
  own: `mkdir "$DATA"
    mark
    redis-cli --no-auth-warning -u "$URL" --rdb "$DATA/dump.rdb" > "$STAGING/log" 2>&1
    redis-server --dir "$DATA" --port 0 --unixsocket "$STAGING/s" --save "" > "$STAGING/log" 2>&1 &
    until [ "$(redis-cli -s "$STAGING/s" ping 2> "$STAGING/answer")" = PONG ]; do sleep 0.1; done
    mark
    redis-cli -s "$STAGING/s" shutdown nosave > "$STAGING/answer" 2>&1 || :
    wait $! || :`
}

const clickhouse: Engine = {
  name: "ClickHouse",
  url: `clickhouse://default:${password}@${sourceAddress}:9000/shop`,
  path: clickhousePath,
  spec: { clickhouseOptions: { copy: { mode: "all" } } },
  source: async (folder, megabytes) => {
    const server = await startClickhouseSource(folder, sourceAddress, { default: { password, profile: "default" } })
    await filled(server.stop, async () => {
      await server.query("default", "create database shop")
      await server.query(
        "shop",
        `create table orders (id UInt64, buyer UInt32, name String, payload String, amount Float64, at DateTime)
        engine = MergeTree order by id`
      )
      await server.query(
        "shop",
        `insert into orders select number, number % 1000, concat('order ', toString(number)),
        concat(hex(MD5(toString(number))), hex(MD5(toString(number + 1))), hex(MD5(toString(number + 2)))),
        number * 0.01, toDateTime('2020-01-01 00:00:00') + number from system.numbers limit ${rowsOf(megabytes)}`
      )
    })
    return { stop: server.stop, count: () => server.query("shop", "select count() from orders") }
  },
  serve: async (serve) => {
    const server = await serveClickhouseBranch(serve, branchAddress, branchPassword)
    return { stop: server.stop, count: () => server.query("shop", "select count() from orders") }
  },
  own: `mkdir "$DATA"
    cat > "$STAGING/users.xml" << END
<yandex><profiles><default></default></profiles><quotas><default></default></quotas><users><default>
<password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
</default></users></yandex>
END
    cat > "$STAGING/config.xml" << END
<yandex><logger><level>warning</level><console>true</console></logger><listen_host>${branchAddress}</listen_host>
<tcp_port>9000</tcp_port><path>$DATA/</path><tmp_path>$DATA/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>1073741824</mark_cache_size></yandex>
END
    clickhouse-server --config-file="$STAGING/config.xml" > "$STAGING/log" 2>&1 &
    own() { clickhouse-client --host=${branchAddress} "$@"; }
    from() { clickhouse-client --host=${sourceAddress} --password=${password} --database=shop "$@" < /dev/null; }
    until own --query='select 1' > "$STAGING/answer" 2>&1; do sleep 0.1; done
    own --query='create database shop'
    mark
    from --query='show create table orders' --format=TabSeparatedRaw | own
    from --query='select * from orders format Native' | own --query='insert into shop.orders format Native'
    mark
    kill $!
    wait $! || :`
}

const engines = [postgresql, ...mysqlEngines.map(mysql), redis, clickhouse]

const placeOf = ({ path, url }: Engine): BranchPlace => ({
  path,
  env: [{ name: "DATABASE_URL", value: url }],
  secrets: {}
})

/** Seconds of the pod's copy; the first one is looked at. */
const copySeconds = async (engine: Engine, wanted: string | undefined): Promise<number> => {
  const began = performance.now()
  let took = 0
  await withBranch(placeOf(engine), { spec: engine.spec }, async (serve) => {
    took = (performance.now() - began) / 1_000
    if (wanted === undefined) return
    const server = await engine.serve(serve)
    try {
      const found = await server.count()
      if (found !== wanted) throw new Error(`branches: the copy of ${engine.name} has ${found} rows, not ${wanted}`)
    } finally {
      await server.stop()
    }
  })
  return took
}

/** Seconds of the engine's own programs: of all, and of the part that copies. */
const ownSeconds = async ({ name, own, path, url }: Engine): Promise<readonly [all: number, copy: number]> => {
  const folder = engineFolder()
  try {
    const staging = join(folder.path, "s")
    await run("mkdir", [staging])
    const script = `set -eu\nmark() { date +%s%N; }\n${own}`
    const env = { PATH: path, URL: url, DATA: join(folder.path, "d"), STAGING: staging }
    const began = performance.now()
    const { err, out, status } = await run("sh", ["-c", script], env)
    const all = (performance.now() - began) / 1_000
    const [from, to] = out.trim().split("\n").map(Number)
    if (status !== 0 || from === undefined || to === undefined) throw new Error(`branches: ${name}'s own copy: ${err}`)
    return [all, (to - from) / 1e9]
  } finally {
    folder.remove()
  }
}

const widths = [11, 5, 17, 17, 8, 17]

const row = ([name = "", ...cells]: ReadonlyArray<string>): string =>
  [name.padEnd(widths[0] ?? 0), ...cells.map((cell, index) => cell.padStart(widths[index + 1] ?? 0))].join(" ")

async function* measured(engine: Engine, megabytes: number, times: number): AsyncGenerator<string> {
  const folder = engineFolder()
  try {
    const source = await engine.source(folder.path, megabytes)
    try {
      const rows = await source.count()
      const figures: Array<{ readonly ours: number; readonly all: number; readonly copy: number }> = []
      for (let turn = 0; turn < times; turn++) {
        const ours = await copySeconds(engine, turn === 0 ? rows : undefined)
        const [all, copy] = await ownSeconds(engine)
        figures.push({ ours, all, copy })
        console.error(`${engine.name}, ${megabytes} MB, ${turn + 1} of ${times}: ${ours.toFixed(1)} s`)
      }
      const ours = figures.map((figure) => figure.ours)
      yield row([
        engine.name,
        String(megabytes),
        spread(ours, 1),
        spread(
          figures.map(({ all }) => all),
          1
        ),
        median(figures.map(({ copy }) => copy)).toFixed(1),
        spread(
          figures.map((figure) => figure.ours / figure.all),
          2
        )
      ])
    } finally {
      await source.stop()
    }
  } finally {
    folder.remove()
  }
}

/** Lines of the benchmark; engines that this machine lacks are named. */
export const branches = async function* (isShort: boolean): AsyncGenerator<string> {
  yield "copies of databases in s: median (least–most); `own` is a new server, `copies` the part of it that copies"
  yield row(["engine", "MB", "branch", "own", "copies", "branch / own"])
  for (const engine of engines) {
    const found = find(engine.name)
    if (found._tag === "Missing") {
      yield `${engine.name}: ${found.sentence}`
      continue
    }
    yield* measured(engine, smallSize, isShort ? repetitions.short : repetitions.small)
    if (!isShort) yield* measured(engine, largeSize, repetitions.large)
  }
}
