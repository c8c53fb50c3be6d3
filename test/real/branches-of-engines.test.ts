/** Branches of other engines than PostgreSQL with mirrord's own client: its programs find them at their variables. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { loopbackAddresses } from "../../lab/cluster/node/pod-addresses.ts"
import { engineImage } from "../../lab/playground/branches/postgresql.ts"
import { workloadNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { describeWith } from "../support/describe-with.ts"
import { eventually } from "../support/eventually.ts"
import { branchSessions, workload } from "./branches.ts"
import { applyObjects } from "./cluster-writes.ts"
import { createTable, dynamodbClient, dynamodbImage, tablesOf } from "./engines/dynamodb-server.ts"
import { type MysqlEngine, mysqlEngines, startMysqlSource } from "./engines/mysql-server.ts"
import { engineFolder, quickFolder, type Server } from "./engines/postgresql-server.ts"
import { type RedisServer, startRedis } from "./engines/redis-server.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, usePlayground } from "./harness.ts"

const password = "p'a s/%"
const [mariadb, mysql] = mysqlEngines

describeWith(["MariaDB", "Redis", "DynamoDB"], "with MariaDB, Redis and DynamoDB", () => {
  describeReal("branches of the real client", ["mirrord"], ({ mirrord }) => {
    const subnet = subnetOf("real client, branches of other engines")
    const sourceAddress = `127.${subnet + 2}.0.1`
    const paths = { mariadb: mariadb.path, mysql: mysql.path, redis: mariadb.path }
    const images = Object.entries(paths).map(
      ([name, path]) => [`docker.io/library/${name}`, engineImage(loopbackAddresses, path)] as const
    )
    const real = usePlayground({
      topology: "primary-default",
      hasBranches: true,
      branchEngines: ["mariadb", "mysql", "redis", "dynamodb"],
      images: new Map([...images, ["docker.io/amazon/dynamodb-local", dynamodbImage]]),
      subnet
    })
    const { session, stop } = branchSessions(real, mirrord)

    /** The lines of a program in a session of the workload. */
    const read = async (program: string, branch: object): Promise<ReadonlyArray<string>> => {
      const ran = session(["sh", "-c", program], [branch])
      expect(await ran.ended(), ran.stderr()).toBe(0)
      return ran.stdout().trim().split("\n")
    }

    beforeAll(async () => {
      await fleetIs(real.playground())
      const login = encodeURIComponent(password)
      const stringData = {
        DB_HOST: sourceAddress,
        DB_PORT: "3306",
        DB_USER: "root",
        DB_PASSWORD: password,
        DB_NAME: "shop",
        REDIS_URL: `redis://:${login}@${sourceAddress}:6379/2`
      }
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "shop", namespace: workloadNamespace } }
      const objects = [{ ...secret, stringData }, workload("shop", { envFrom: [{ secretRef: { name: "shop" } }] })]
      const yaml = objects.map((object) => JSON.stringify(object)).join("\n---\n")
      await applyObjects(real.cluster("cluster-a").cluster, yaml)
    })
    afterEach(stop)

    const sqlSuite = (engine: MysqlEngine) => () => {
      let source: Server
      const folder = engineFolder(quickFolder())
      beforeAll(async () => {
        source = await startMysqlSource(engine, folder.path, sourceAddress, password)
        await source.query("", "create database shop")
        await source.query("shop", "create table users (id int primary key auto_increment, name varchar(40))")
        await source.query("shop", "insert into users (name) values ('ann'), ('bob'), ('cleo')")
      })
      afterAll(async () => {
        await source?.stop()
        folder.remove()
      })

      it("have the rows that a filter lets through, and take others, at the parts of a connection", async () => {
        const asked = "select name from users; insert into users (name) values ('new'); select last_insert_id()"
        const program = `echo "$DB_HOST" && MYSQL_PWD="$DB_PASSWORD" exec env PATH=${engine.path} ${engine.client} \
          --no-defaults --protocol=tcp -h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" "$DB_NAME" -BN -e "${asked}"`
        const branch = {
          id: engine.name.toLowerCase(),
          type: engine.name.toLowerCase(),
          name: "shop",
          connection: {
            params: { host: "DB_HOST", port: "DB_PORT", user: "DB_USER", password: "DB_PASSWORD", database: "DB_NAME" }
          },
          copy: { mode: "schema", tables: { users: { filter: "id <= 2" } } }
        }
        const [host, ...lines] = await eventually("a session with the branch", () => read(program, branch))
        expect(host).not.toBe(sourceAddress)
        expect(lines).toEqual(["ann", "bob", "4"])
        expect(await source.query("shop", "select group_concat(name order by id) from users")).toBe("ann,bob,cleo")
      })
    }
    for (const engine of mysqlEngines) describeWith([engine.name], `of ${engine.name}`, sqlSuite(engine))

    describe("of Redis", () => {
      let source: RedisServer
      const folder = engineFolder()
      beforeAll(async () => {
        const options = ["--bind", sourceAddress, "--port", "6379", "--save", "", "--dir", folder.path]
        const command = ["redis-server", ...options, "--requirepass", password]
        source = await startRedis({ command, env: { PATH: paths.redis } }, sourceAddress, password)
        await source.ask(2, "set", "user:1", "ann")
        await source.ask(2, "set", "order:1", "tea")
      })
      afterAll(async () => {
        await source?.stop()
        folder.remove()
      })

      it("have the keys of a pattern, and take others, at the URL of the program", async () => {
        const redis = `env PATH=${paths.redis} redis-cli --no-auth-warning -u "$REDIS_URL"`
        const program = `echo "$REDIS_URL" && ${redis} get user:1 && ${redis} exists order:1 && ${redis} set user:1 bob`
        const branch = {
          id: "redis",
          type: "redis",
          connection: { url: { type: "env_from", variable: "REDIS_URL" } },
          copy: { mode: "all", patterns: ["user:*"] }
        }
        const [url = "", ...answers] = await eventually("a session with the branch", () => read(program, branch))
        expect(new URL(url).hostname).not.toBe(sourceAddress)
        expect(new URL(url).pathname).toBe("/2")
        expect(answers).toEqual(["ann", "0", "OK"])
        expect(await source.ask(2, "get", "user:1")).toBe('"ann"')
      })
    })

    it("of DynamoDB are at the endpoint of a program that had none, and keep their tables", async () => {
      const url = "AWS_ENDPOINT_URL_DYNAMODB"
      const branch = { id: "dynamodb", type: "dynamodb", connection: { url } }
      const endpointOf = async () => (await read(`echo "$${url}"`, branch))[0] ?? ""
      const endpoint = await eventually("a session with the branch", endpointOf)
      expect(new URL(endpoint)).toMatchObject({ protocol: "http:", port: "8000" })
      const client = dynamodbClient(endpoint, "eu-west-1")
      try {
        expect(await tablesOf(client)).toEqual([])
        await createTable(client, "users")
        expect(await endpointOf()).toBe(endpoint)
        expect(await tablesOf(client)).toEqual(["users"])
      } finally {
        client.destroy()
      }
    })
  })
})
