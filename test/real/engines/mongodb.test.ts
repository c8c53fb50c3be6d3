/**
 * Branches of MongoDB: what the containers of a branch's pod do with MongoDB's own mongodump, mongorestore and mongosh,
 * and FerretDB in the place of its server. Indexes, views and rights are not tested: FerretDB has none of them.
 */

import { readdirSync } from "node:fs"
import { Long, MongoClient } from "mongodb"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { subnetOf } from "../../address-plan.ts"
import { describeWith } from "../../support/describe-with.ts"
import { branchPassword, copyFailure, fromEnv, withBranch, type BranchPlace } from "./branch-containers.ts"
import { mongodbPath, startMongodb, type MongodbServer } from "./mongodb-server.ts"
import { engineFolder } from "./postgresql-server.ts"

const password = "p w$(HOME)'\"%\\ü/?#@:"
const sourceAddress = `127.${subnetOf("copies of databases")}.0.5`
const branchAddress = `127.${subnetOf("copies of databases")}.0.6`
const login = `root:${encodeURIComponent(password)}`
const sourceUrl = `mongodb://${login}@${sourceAddress}:27017/shop?authSource=admin&retryWrites=true`
const unusual = "Ünusual (x) '*%"
const deadUrl = "mongodb://ann:secret@127.7.7.7:1/shop?serverSelectionTimeoutMS=500"

type Options = NonNullable<BranchDatabaseSpec["mongodbOptions"]>

const asked = (options: Options, more: Partial<BranchDatabaseSpec> = {}) => ({
  spec: { mongodbOptions: options, ...more }
})

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describeWith(["MongoDB"], "a branch of MongoDB", () => {
  let source: MongodbServer
  const folder = engineFolder()
  const path = mongodbPath(folder.path)
  const place: BranchPlace = {
    path,
    env: [
      { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "app", key: "url" } } },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "app", key: "password" } } },
      { name: "HOST", value: sourceAddress },
      { name: "DB_USER", value: "root" },
      { name: "DB_NAME", value: "shop" },
      { name: "DEAD_URL", value: deadUrl }
    ],
    secrets: { app: { url: sourceUrl, password } }
  }

  /** Makes the branch, and asks it. */
  const branch = (wanted: ReturnType<typeof asked>, ask: (server: MongodbServer) => Promise<void>): Promise<void> =>
    withBranch(place, wanted, async (serve, log) => {
      expect(log).toBe("")
      const server = await startMongodb(serve, branchAddress, branchPassword)
      try {
        await ask(server)
      } finally {
        await server.stop()
      }
    })

  const collections = async (
    { client }: MongodbServer,
    database: string
  ): Promise<Readonly<Record<string, number>>> => {
    const found = await client.db(database).listCollections().toArray()
    const names = found.map(({ name }) => name).toSorted()
    const counts = await Promise.all(names.map((name) => client.db(database).collection(name).countDocuments()))
    return Object.fromEntries(names.map((name, index) => [name, counts[index] ?? -1]))
  }

  beforeAll(async () => {
    const script = `mkdir "$DATA" && exec ferretdb --listen-addr=${sourceAddress}:27017 --handler=sqlite \\
      --sqlite-url="file:$DATA/" --state-dir="$DATA" --debug-addr=- --telemetry=disable --test-enable-new-auth \\
      --log-level=ERROR --setup-database=admin --setup-username=root --setup-password="$SETUP"`
    const env = { PATH: path, DATA: `${folder.path}/source`, SETUP: password }
    source = await startMongodb({ command: ["sh", "-c", script], env }, sourceAddress, password)
    const shop = source.client.db("shop")
    await shop
      .collection("users")
      .insertMany(numbers(1, 20).map((n) => ({ age: n, name: `user ${n}`, big: Long.fromString("9007199254740993") })))
    await shop.collection("orders").insertMany(numbers(1, 100).map((n) => ({ buyer: 1 + (n % 20) })))
    await shop.collection(unusual).insertOne({ made: new Date(0), tag: "a'\"\\b" })
    await shop.collection("nothing").insertOne({})
    await shop.collection("nothing").deleteMany({})
    await source.client.db("other").collection("kept").insertOne({ a: 1 })
  })
  afterAll(async () => {
    await source.stop()
    folder.remove()
  })

  it("has all collections of its database with mode all, and nothing of others", async () => {
    await branch(asked({ copy: { mode: "all" } }), async (server) => {
      expect(await collections(server, "shop")).toEqual({ [unusual]: 1, nothing: 0, orders: 100, users: 20 })
      expect(await collections(server, "other")).toEqual({})
      const [own, theirs] = [server, source].map(({ client }) => client.db("shop"))
      expect(await own?.collection("users").findOne({ age: 7 })).toEqual(
        await theirs?.collection("users").findOne({ age: 7 })
      )
      expect(await own?.collection(unusual).findOne({ made: new Date(0) })).toMatchObject({ tag: "a'\"\\b" })
      await own?.collection("orders").deleteMany({})
    })
    expect(await collections(source, "shop")).toMatchObject({ orders: 100 })
  })

  it("has only the documents that filters let through with mode all, and the other collections whole", async () => {
    const items = { users: { filter: '{"age": {"$lte": 5}}' }, orders: { filter: '{"buyer": 99}' } }
    await branch(asked({ copy: { mode: "all", items } }), async (server) => {
      expect(await collections(server, "shop")).toEqual({ [unusual]: 1, nothing: 0, orders: 0, users: 5 })
    })
  })

  it("has the named collections alone with mode empty, with filters or whole", async () => {
    const items = { users: { filter: ` {"big":9007199254740993, "name": {"$regex":"\\\\d{2}$"}}\n` }, [unusual]: {} }
    await branch(asked({ copy: { mode: "empty", items } }), async (server) => {
      expect(await collections(server, "shop")).toEqual({ [unusual]: 1, users: 11 })
    })
  })

  it("is empty without a source that can be reached", async () => {
    const dead = { connectionSource: { url: fromEnv("DEAD_URL") } }
    await branch(asked({ copy: { mode: "empty" } }, dead), async (server) => {
      expect(await collections(server, "shop")).toEqual({})
      await server.client.db("shop").collection("own").insertOne({ a: 1 })
    })
  })

  it("has its user from a server that listens later than its socket is there", async () => {
    const wanted = { ...asked({ copy: { mode: "empty" } }), change: { BIND_FIRST: "yes" } }
    await withBranch(place, wanted, async (serve) => {
      const server = await startMongodb(serve, branchAddress, branchPassword)
      await server.stop()
    })
  })

  it("is copied from a source that is found by single values, into a database of another name", async () => {
    const params = {
      host: fromEnv("HOST"),
      user: fromEnv("DB_USER"),
      password: { secret: { name: "app", key: "password" } },
      database: fromEnv("DB_NAME")
    }
    const more = { connectionSource: { params }, databaseName: "Copy-1" }
    await branch(asked({ copy: { mode: "all", items: { users: { filter: "{}" } } } }, more), async (server) => {
      expect(await collections(server, "Copy-1")).toEqual({ [unusual]: 1, nothing: 0, orders: 100, users: 20 })
      expect(await collections(server, "shop")).toEqual({})
    })
  })

  it("is copied from a source of several hosts whose address names no database", async () => {
    const change = { SOURCE_URL: `mongodb://${login}@${sourceAddress}:27017,${sourceAddress}/` }
    const wanted = asked({ copy: { mode: "empty", items: { orders: {} } } }, { databaseName: "shop" })
    await withBranch(place, { ...wanted, change }, async (serve) => {
      const server = await startMongodb(serve, branchAddress, branchPassword)
      try {
        expect(await collections(server, "shop")).toEqual({ orders: 100 })
      } finally {
        await server.stop()
      }
    })
  })

  it("is entered by its password alone", async () => {
    await branch(asked({ copy: { mode: "empty" } }), async () => {
      const client = new MongoClient(`mongodb://root:wrong@${branchAddress}/?authSource=admin`)
      await expect(client.db("admin").command({ ping: 1 })).rejects.toThrow("Authentication failed")
      await client.close()
      const stranger = new MongoClient(`mongodb://${branchAddress}`)
      await expect(stranger.db("shop").collection("own").insertOne({})).rejects.toThrow("requires authentication")
      await stranger.close()
    })
  })

  it.each([
    ["a wrong password", { SOURCE_URL: sourceUrl.replace("root:", "root:secret") }, "Authentication failed"],
    ["no server", { SOURCE_URL: deadUrl }, "connection refused"],
    ["no address", { SOURCE_URL: "" }, "the source's address has no host"],
    ["an address of another form", { SOURCE_URL: "jdbc:mongodb://h/secret" }, "it must begin with mongodb://"],
    ["an address with spaces", { SOURCE_URL: "mongodb://ann:a secret@h/shop" }, "it must be percent-encoded"],
    ["an address without a database", { SOURCE_URL: "mongodb://h" }, "spec.databaseName must name it"],
    ["a database of the server", { SOURCE_URL: "mongodb://h/admin" }, "no name of a database that can be copied"],
    ["a variable that is not there", { SOURCE_URL: "$(TARGET_DATABASE_URL)" }, "has no variable for the source's URL"],
    ["no such database", { SOURCE_URL: sourceUrl.replace("/shop?", "/shoq?") }, "no database shoq"],
    ["no such collection", { COPY_ITEMS: "1", COPY_ITEM_0: "none" }, "no collection none"],
    ["a wrong filter", { COPY_ITEMS: "1", COPY_ITEM_0: "users", COPY_FILTER_0: '{"$nope": 1}' }, "$nope"]
  ])("fails with the reason, and without credentials: %s", async (_, change, reason) => {
    const told = await copyFailure(place, { ...asked({ copy: { mode: "all" } }), change })
    expect(told).toContain(reason)
    for (const secret of [password, encodeURIComponent(password), "secret"]) expect(told).not.toContain(secret)
  })

  it.each([
    ["a collection like an option", { COPY_ITEM_0: "--db=other" }],
    ["a collection like a command", { COPY_ITEM_0: '"; touch $STAGING/braid; `touch /tmp/braid-mongo`' }],
    ["a filter like a command", { COPY_FILTER_0: '"; touch $STAGING/braid; `touch /tmp/braid-mongo`' }]
  ])("changes nothing in the source, even by %s", async (_, change) => {
    const wanted = asked({ copy: { mode: "empty", items: { orders: { filter: "{}" } } } })
    expect(await copyFailure(place, { ...wanted, change })).not.toBe("")
    expect(await collections(source, "shop")).toEqual({ [unusual]: 1, nothing: 0, orders: 100, users: 20 })
    expect(readdirSync("/tmp")).not.toContain("braid-mongo")
  })
})
