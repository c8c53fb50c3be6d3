/** Branches of Redis: what the containers of a branch's pod do with real servers. */

import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { programsOf } from "../../../src/adapters/engines/programs.ts"
import { redis } from "../../../src/domain/branches/dialects/redis.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { subnetOf } from "../../address-plan.ts"
import { describeWith } from "../../support/describe-with.ts"
import { eventually } from "../../support/eventually.ts"
import { branchPassword, copyFailure, fromEnv, withBranch, type BranchPlace } from "./branch-containers.ts"
import { engineFolder, run } from "./postgresql-server.ts"
import { startRedis, type RedisServer } from "./redis-server.ts"

const password = "p w$(HOME)'\"%\\ü"
const sourceAddress = `127.${subnetOf("copies of databases")}.0.3`
const branchAddress = `127.${subnetOf("copies of databases")}.0.4`
const fakeAddress = `127.${subnetOf("copies of databases")}.0.5`
const sourceUrl = `redis://:${encodeURIComponent(password)}@${sourceAddress}:6379/2`
const defaultPath = process.env["PATH"] ?? ""

type Options = NonNullable<BranchDatabaseSpec["redisOptions"]>

const place: BranchPlace = {
  path: defaultPath,
  env: [
    { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "app", key: "url" } } },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "reader", key: "password" } } },
    { name: "HOST", value: sourceAddress },
    { name: "READER", value: "reader" },
    { name: "INDEX", value: "2" },
    { name: "DEAD_URL", value: "redis://127.7.7.7:1/3" }
  ],
  secrets: { app: { url: sourceUrl, password } }
}

const asked = (options: Options, more: Partial<BranchDatabaseSpec> = {}) => ({
  spec: { redisOptions: options, ...more }
})

/** Makes the branch, and asks it. */
const branch = (wanted: ReturnType<typeof asked>, ask: (server: RedisServer) => Promise<void>): Promise<void> =>
  withBranch(place, wanted, async (serve, log) => {
    expect(log).toBe("")
    const server = await startRedis(serve, branchAddress, branchPassword)
    try {
      await ask(server)
    } finally {
      await server.stop()
    }
  })

describeWith(["Redis"], "a branch of Redis", () => {
  let source: RedisServer
  const folder = engineFolder()
  /** Keys and values that are hard to pass on, and of more bytes than one call reads; all of database 5. */
  const hard = String.raw`local odd = {'', ' ', '\n', '\r\n', '"', "'", '\\', '\\n', '"a" "b',
      '$(x)', '%s', '&', '/', '-p', '0', 'ü', '\0', '\255\254', '(error) no', '(nil)', '1) (integer) 1', '2) "x"',
      '*1\r\n$8\r\nflushall\r\n'}
    for n, key in ipairs(odd) do
      redis.call('rpush', 'l' .. key, key, odd[#odd + 1 - n])
      redis.call('set', key, odd[#odd + 1 - n])
    end
    for n = 1, 8 do redis.call('set', 'large ' .. n, string.rep('\0\255' .. n, 250000)) end
    redis.call('set', string.rep('long', 20000), '')
    for n = 1, 20 do redis.call('set', 'ends ' .. n, n, 'ex', 3600 + n) end
    return 1`
  /** One text for what the keys of a database are, and one for how long they stay. */
  const contents = `local keys, all, times = redis.call('keys', '*'), '', 0
    table.sort(keys)
    for _, key in ipairs(keys) do
      all = redis.sha1hex(all .. key .. redis.call('dump', key))
      times = times + math.max(0, redis.call('pttl', key))
    end
    return {#keys, all, times}`
  const binary = "redis.call('set', 'bin\\0\\n\\255\"$(x)', 'a\\0\\r\\n\\255\\'\"\\\\ü') return 1"

  beforeAll(async () => {
    const options = ["--bind", sourceAddress, "--port", "6379", "--save", "", "--dir", folder.path]
    const command = ["redis-server", ...options, "--requirepass", password]
    source = await startRedis({ command, env: { PATH: defaultPath } }, sourceAddress, password)
    await source.ask(2, "eval", binary, "0")
    await source.ask(5, "eval", hard, "0")
    await source.ask(2, "eval", "for i = 1, 12000 do redis.call('set', 'n:' .. i, i) end return 1", "0")
    await source.ask(2, "set", "user:1 x", "ann")
    await source.ask(2, "set", "session:1", "s", "px", "3600000")
    await source.ask(2, "rpush", "list", "a", "b")
    await source.ask(2, "hset", "user:2", "name", "bob")
    await source.ask(2, "zadd", "scores", "1.5", "ann")
    await source.ask(2, "xadd", "stream", "1-1", "k", "v")
    await source.ask(0, "set", "elsewhere", "1")
    const rights = ["resetkeys", "~user:*", "-@all", "+select", "+scan", "+pttl", "+dump", "+readonly"]
    await source.ask(0, "acl", "setuser", "reader", "on", ">of-the-reader", ...rights)
    await source.ask(0, "acl", "setuser", "slow", "on", ">of-the-slow", "~*", ...rights.slice(2))
    await source.ask(0, "acl", "setuser", "script", "on", ">of-the-script", ...rights.slice(1), "+eval_ro")
    await source.ask(0, "acl", "setuser", "blind", "on", ">of-the-blind", "~*", "-@all", "+select", "+scan", "+pttl")
  })
  afterAll(async () => {
    await source.stop()
    folder.remove()
  })

  it("has all keys of its database with mode all, of every type, with the time that they have left", async () => {
    await branch(asked({ copy: { mode: "all" } }), async (server) => {
      expect(await server.ask(2, "dbsize")).toBe("(integer) 12007")
      expect(await server.ask(0, "dbsize")).toBe("(integer) 0")
      expect(await server.ask(2, "get", "n:12000")).toBe('"12000"')
      expect(await server.ask(2, "eval", "return redis.call('get', 'bin\\0\\n\\255\"$(x)')", "0")).toBe(
        await source.ask(2, "eval", "return redis.call('get', 'bin\\0\\n\\255\"$(x)')", "0")
      )
      for (const question of [
        "lrange list 0 -1",
        "hgetall user:2",
        "zrange scores 0 -1 withscores",
        "xrange stream - +"
      ]) {
        const words = question.split(" ")
        expect(await server.ask(2, ...words)).toBe(await source.ask(2, ...words))
      }
      const left = Number((await server.ask(2, "pttl", "session:1")).replace("(integer) ", ""))
      expect(left).toBeGreaterThan(0)
      expect(left).toBeLessThanOrEqual(3_600_000)
      expect(await server.ask(2, "pttl", "list")).toBe("(integer) -1")
      await server.ask(2, "set", "n:1", "changed")
    })
    expect(await source.ask(2, "get", "n:1")).toBe('"1"')
  })

  it.each([
    ["many at once", password, "default"],
    ["one by one, where its user may run no script", "of-the-slow", "slow"]
  ])("has any key with any value, read %s", async (_, secret, user) => {
    const url = `redis://${user}:${encodeURIComponent(secret)}@${sourceAddress}:6379/5`
    const reading = { ...place, secrets: { app: { url } } }
    const wanted = asked({ copy: { mode: "all" } })
    const read = async (server: RedisServer) => {
      // Values are read as large as they are.
      await server.ask(5, "config", "set", "rdbcompression", "no")
      return (await server.ask(5, "eval", contents, "0")).split(/\s+\d\) /u)
    }
    const [count, all, times] = await read(source)
    await withBranch(reading, wanted, async (serve) => {
      const server = await startRedis(serve, branchAddress, branchPassword)
      try {
        const [copied, alike, left] = await read(server)
        expect([copied, alike]).toEqual([count, all])
        const passed = (seconds: string | undefined) => Number(seconds?.replace("(integer) ", ""))
        expect(passed(left)).toBeLessThanOrEqual(passed(times))
        expect(passed(left)).toBeGreaterThan(passed(times) / 2)
      } finally {
        await server.stop()
      }
    })
  })

  it("has all keys where an answer takes half a second, behind which redis-cli writes how long it took", async () => {
    const programs = engineFolder()
    try {
      const script = '#!/bin/sh\nPATH=${PATH#*:} redis-cli "$@" | sed "s/^(integer) -1$/&\\n(0.86s)/"\n'
      writeFileSync(join(programs.path, "redis-cli"), script, { mode: 0o755 })
      const url = `redis://slow:of-the-slow@${sourceAddress}:6379/2`
      const changed = { ...place, path: `${programs.path}:${defaultPath}`, secrets: { app: { url } } }
      await withBranch(changed, asked({ copy: { mode: "all" } }), async (serve) => {
        const server = await startRedis(serve, branchAddress, branchPassword)
        try {
          expect(await server.ask(2, "dbsize")).toBe("(integer) 12007")
        } finally {
          await server.stop()
        }
      })
    } finally {
      programs.remove()
    }
  })

  it("has all keys where reading many at once fails", async () => {
    const programs = engineFolder()
    try {
      const script = '#!/bin/sh\ncase " $* " in *" --raw "*) exit 1 ;; esac\nPATH=${PATH#*:} exec redis-cli "$@"\n'
      writeFileSync(join(programs.path, "redis-cli"), script, { mode: 0o755 })
      const changed = { ...place, path: `${programs.path}:${defaultPath}` }
      await withBranch(changed, asked({ copy: { mode: "all" } }), async (serve) => {
        const server = await startRedis(serve, branchAddress, branchPassword)
        try {
          expect(await server.ask(2, "dbsize")).toBe("(integer) 12007")
        } finally {
          await server.stop()
        }
      })
    } finally {
      programs.remove()
    }
  })

  /**
   * The branch of a source that answers each command by the first sign in it, and the signs that it saw; an empty
   * answer is the end of the connection.
   */
  const branchOfFake = async (
    answers: ReadonlyArray<readonly [sign: string, answer: string]>,
    ask: (server: RedisServer) => Promise<void>
  ): Promise<ReadonlyArray<string>> => {
    const asks: Array<string> = []
    const fake = createServer((socket) => {
      socket.on("data", (data) => {
        const text = data.toString("latin1").toLowerCase()
        const [sign, answer] = answers.find(([part]) => text.includes(part)) ?? ["", "-ERR unknown command\r\n"]
        asks.push(sign)
        if (answer === "") socket.destroy()
        else socket.write(answer, "latin1")
      })
    })
    await new Promise<void>((resolve) => fake.listen(6379, fakeAddress, resolve))
    try {
      const reading = { ...place, secrets: { app: { url: `redis://${fakeAddress}/0` } } }
      await withBranch(reading, asked({ copy: { mode: "all" } }), async (serve) => {
        const server = await startRedis(serve, branchAddress, branchPassword)
        try {
          await ask(server)
        } finally {
          await server.stop()
        }
      })
      return asks
    } finally {
      fake.close()
    }
  }
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`
  const oneKey = ["\r\nscan\r\n", `*2\r\n${bulk("0")}*1\r\n${bulk("k")}`] as const

  it("restores what the source answers, and does nothing else that it says", async () => {
    const said = "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$5\r\nvalue\r\n"
    const answers = [
      oneKey,
      ["return 1", ":1\r\n"],
      ["eval_ro", bulk(said)],
      ["pttl", ":-2\r\n"],
      ["dump", "$-1\r\n"]
    ] as const
    const asks = await branchOfFake(answers, async (server) => {
      expect(await server.ask(0, "dbsize")).toBe("(integer) 0")
    })
    expect(asks).toEqual(expect.arrayContaining(["eval_ro", "pttl", "dump"]))
  })

  it.each([
    ["stays, where its time has no end", -1, 1],
    ["is gone, where its time is less than a millisecond", 0, 0]
  ])("a key that is read by itself %s", async (_, left, count) => {
    const inHex = "return (redis.call('dump', 'n:1'):gsub('.', function(c) return string.format('%02x', c:byte()) end))"
    const value = Buffer.from(JSON.parse(await source.ask(2, "eval", inHex, "0")), "hex").toString("latin1")
    const answers = [oneKey, ["return 1", ""], ["pttl", `:${left}\r\n`], ["dump", bulk(value)]] as const
    await branchOfFake(answers, async (server) => {
      expect(await server.ask(0, "exists", "k")).toBe(`(integer) ${count}`)
    })
  })

  it("has the keys that match any pattern, in the database that the user names", async () => {
    const options: Options = { copy: { mode: "all", patterns: ["user:*", "session:?", "--no such $(key) '"] } }
    await branch(asked(options, { databaseName: "20" }), async (server) => {
      const keys = await server.ask(20, "sort", "none")
      expect(keys).toBe("(empty array)")
      expect(await server.ask(20, "dbsize")).toBe("(integer) 3")
      expect(await server.ask(20, "get", "user:1 x")).toBe('"ann"')
    })
  })

  it("has not started while its server still loads the data, although the port is open", async () => {
    await withBranch(place, asked({ copy: { mode: "all" } }), async (serve) => {
      // The server rests at each key, as if there were many of them.
      const slowly = ["server", "--key-load-delay", "100", "--loading-process-events-interval-bytes", "1024"]
      const starting = startRedis({ ...serve, command: [...serve.command, ...slowly] }, branchAddress, branchPassword)
      const started = () => run("sh", ["-c", programsOf(redis).started ?? ""], { ...serve.env, POD_IP: branchAddress })
      await eventually("an open port", async () => {
        if ((await run("redis-cli", ["-h", branchAddress, "ping"], {})).out === "") throw new Error("no answer")
      })
      expect((await started()).status).not.toBe(0)
      const server = await starting
      expect(await started()).toEqual({ err: "", out: "", status: 0 })
      await server.stop()
    })
  })

  it("is empty without a source that can be reached", async () => {
    const dead = { connectionSource: { url: fromEnv("DEAD_URL") } }
    await branch(asked({ copy: { mode: "empty", patterns: ["user:*"] } }, dead), async (server) => {
      expect(await server.ask(3, "dbsize")).toBe("(integer) 0")
    })
  })

  it("is copied by a user with no more rights than it needs, who is found by single values", async () => {
    const params = {
      host: fromEnv("HOST"),
      user: fromEnv("READER"),
      password: { secret: { name: "reader", key: "password" } },
      database: fromEnv("INDEX")
    }
    const reading = { ...place, secrets: { ...place.secrets, reader: { password: "of-the-reader" } } }
    const wanted = asked({ copy: { mode: "all", patterns: ["user:*"] } }, { connectionSource: { params } })
    await withBranch(reading, wanted, async (serve) => {
      const server = await startRedis(serve, branchAddress, branchPassword)
      try {
        expect(await server.ask(2, "dbsize")).toBe("(integer) 2")
      } finally {
        await server.stop()
      }
    })
  })

  it("is entered by its password alone", async () => {
    await branch(asked({ copy: { mode: "empty" } }), async (server) => {
      expect(await server.ask(0, "config", "get", "appendonly")).toContain("no")
      const { out } = await run("redis-cli", ["-h", branchAddress, "dbsize"])
      expect(out).toContain("NOAUTH")
    })
  })

  it.each([
    ["a wrong password", { SOURCE_URL: sourceUrl.replace("redis://:", "redis://:no") }, "WRONGPASS"],
    ["no password", { SOURCE_URL: `redis://${sourceAddress}/2` }, "NOAUTH"],
    ["no server", { SOURCE_URL: "redis://:secret@127.7.7.7:1" }, "Connection refused"],
    ["no such database", { SOURCE_URL: sourceUrl.replace("/2", "/99") }, "out of range"],
    ["a database that has no index", { SOURCE_URL: sourceUrl.replace("/2", "/main") }, "no index of a database"],
    ["several hosts", { SOURCE_URL: "redis://:secret@a,b/0" }, "names several hosts"],
    ["an address of an unknown form", { SOURCE_URL: "redis-sentinel://h/0" }, "must begin with redis://"],
    ["a variable that is not there", { SOURCE_URL: "$(TARGET_DATABASE_URL)" }, "has no variable for the source's URL"],
    [
      "keys that may not be seen",
      { SOURCE_URL: `redis://reader:of-the-reader@${sourceAddress}/2` },
      "could not be read"
    ],
    [
      "some keys that may not be seen by a script",
      { SOURCE_URL: `redis://script:of-the-script@${sourceAddress}/2` },
      "could not be read"
    ],
    [
      "values that may not be seen",
      { SOURCE_URL: `redis://blind:of-the-blind@${sourceAddress}/2` },
      "could not be read"
    ]
  ])("fails with the reason, and without credentials: %s", async (_, change, reason) => {
    const told = await copyFailure(place, { ...asked({ copy: { mode: "all" } }), change })
    expect(told).toContain(reason)
    for (const secret of [password, encodeURIComponent(password), "secret", "of-the-"]) {
      expect(told).not.toContain(secret)
    }
  })

  it("fails where the source is a cluster, of which a server has only some keys", async () => {
    const command = ["redis-server", "--bind", branchAddress, "--port", "6379", "--save", "", "--dir", folder.path]
    const cluster = await startRedis(
      { command: [...command, "--cluster-enabled", "yes"], env: { PATH: defaultPath } },
      branchAddress,
      ""
    )
    const change = { SOURCE_URL: `redis://${branchAddress}` }
    try {
      const told = await copyFailure(place, { ...asked({ copy: { mode: "all" } }), change })
      expect(told).toContain("the source is a cluster")
    } finally {
      await cluster.stop()
    }
  })
})
