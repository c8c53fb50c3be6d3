/** Branches of a real PostgreSQL, as mirrord's own client orders, uses, lists and stops them. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { images, workloadNamespace } from "../../lab/playground/manifests.ts"
import { applyObjects } from "./cluster-writes.ts"
import { writeMigrations } from "./engines/flyway-stand-in.ts"
import { connectedTo, engineFolder, type Server, startSource } from "./engines/postgresql-server.ts"
import { fleetIs } from "./fleet-health.ts"
import { type AnyRealPlayground, describeReal, eventually, runClient, type RunningCommand } from "./harness.ts"

/** A playground whose clusters make branches; the default is `cluster-a`. */
export interface BranchPlayground {
  readonly real: AnyRealPlayground
  /** The namespace in which the client orders branches. */
  readonly orders: string
  /** An address for the source, which no pod has. */
  readonly sourceAddress: string
  /** The address of a pod as this machine dials it. */
  readonly reach: (address: string) => string
}

const password = "p'a s/%"
const content = `
  create table users (id serial primary key, name text);
  create table orders (id serial primary key, buyer int references users);
  insert into users (name) select 'user ' || n from generate_series(1, 20) n;
  insert into orders (buyer) select 1 + n % 20 from generate_series(1, 100) n;
`

/** A workload that finds its database by a Secret. */
const shop = (url: string): string =>
  [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "shop", namespace: workloadNamespace }, stringData: { url } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "shop", namespace: workloadNamespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "shop" } },
        template: {
          metadata: { labels: { app: "shop" } },
          spec: {
            containers: [
              {
                name: "shop",
                image: images.demo,
                env: [
                  { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "shop", key: "url" } } },
                  { name: "JDBC_URL", value: "jdbc:postgresql://db.example/shop" }
                ]
              }
            ]
          }
        }
      }
    }
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")

export const clientBranches = (where: string, use: () => BranchPlayground): void =>
  describeReal(
    `branches of the real client, ${where}`,
    ["mirrord", "layerApp"],
    ({ layerApp, mirrord }) => {
      const { orders, reach, real, sourceAddress } = use()
      const folder = engineFolder()
      const commands: Array<RunningCommand> = []
      let source: Server

      const run = (args: ReadonlyArray<string>): RunningCommand => {
        const started = runClient({
          file: mirrord,
          args,
          home: real.home("branches"),
          kubeconfig: real.kubeconfig(),
          deadlineMs: 120_000
        })
        commands.push(started)
        return started
      }
      /** Runs a program in a session of the workload; `branch`: as in the client's configuration. */
      const session = (program: ReadonlyArray<string>, branch?: object): RunningCommand => {
        const file = join(real.home("branches"), "mirrord.json")
        const wanted = {
          type: "pg",
          name: "shop",
          ttl_secs: 300,
          connection: { url: { type: "env", variable: "DATABASE_URL" } }
        }
        const branches = branch === undefined ? [] : [{ ...wanted, ...branch }]
        writeFileSync(file, JSON.stringify({ feature: { db_branches: branches } }))
        return run(["exec", "-t", "deployment/shop", "-f", file, "--", ...program])
      }
      /** The program's variable. */
      const urlOf = async (branch?: object): Promise<string> => {
        const ran = session(["sh", "-c", 'echo "$DATABASE_URL"'], branch)
        expect(await ran.ended(), ran.stderr()).toBe(0)
        return ran.stdout().trim()
      }
      /** The server to which a program's variable leads. */
      const serverAt = (url: string): Server => {
        const { hostname, password: secret } = new URL(url)
        return connectedTo(reach(hostname), decodeURIComponent(secret), () => Promise.resolve())
      }
      const listed = async (): Promise<string> => {
        const list = run(["db-branches", "-n", orders, "status"])
        expect(await list.ended(), list.stderr()).toBe(0)
        return list.stdout() + list.stderr()
      }

      beforeAll(async () => {
        await fleetIs(real.playground())
        source = await startSource(folder.path, sourceAddress, password)
        await source.query("postgres", "create database shop")
        await source.query("shop", content)
        const url = `postgresql://postgres:${encodeURIComponent(password)}@${sourceAddress}:5432/shop`
        await applyObjects(real.cluster("cluster-a").cluster, shop(url))
        await eventually("a session of the workload", async () => {
          expect(await urlOf()).toBe(url)
        })
      }, 900_000)
      afterEach(() => {
        for (const command of commands.splice(0)) command.stop()
      })
      afterAll(async () => {
        await source?.stop()
        folder.remove()
      })

      it("have the structures and the rows that a filter lets through, at the URL of the program", async () => {
        const branch = { id: "filtered", copy: { mode: "schema", tables: { users: { filter: "id <= 3" } } } }
        const url = await urlOf(branch)
        expect(url).toMatch(/^postgresql:\/\/postgres:[^@]+@\d+\.\d+\.\d+\.\d+:5432\/shop$/u)
        expect(url).not.toContain(sourceAddress)
        const server = serverAt(url)
        expect(await server.query("shop", "select count(*) from users")).toBe("3")
        expect(await server.query("shop", "select count(*) from orders")).toBe("0")
        expect(await server.query("shop", "insert into users (name) values ('new') returning id")).toBe("4")
        expect(await source.query("shop", "select count(*) from users")).toBe("20")

        // Another session has the same branch, and one without it the source's address.
        expect(await urlOf(branch)).toBe(url)
        expect(await urlOf()).toContain(sourceAddress)
      })

      it("are listed with their users while a session lasts, and are gone when they are stopped", async () => {
        const branch = { id: "whole", copy: { mode: "all" } }
        const url = await urlOf(branch)
        const { hostname } = new URL(url)
        const asked = ["--env", "DATABASE_URL", "--connect", `${hostname}:5432`, "--seconds", "600"]
        const app = session([layerApp, ...asked], branch)
        // A later request for the variable has the same answer, and connections reach the branch.
        expect(await app.waitForEvent("env")).toMatchObject({ name: "DATABASE_URL", value: url })
        expect((await app.waitForEvent("connect"))["peer"]).toBeDefined()
        await eventually("the branch is used", async () => {
          expect((await listed()).split("\n").find((text) => /Ready/u.test(text) && /ann/u.test(text))).toBeDefined()
        })
        expect(await serverAt(url).query("shop", "select count(*) from orders")).toBe("100")
        app.stop()
        const stop = run(["db-branches", "-n", orders, "stop", "--all"])
        expect(await stop.ended(), stop.stderr()).toBe(0)
        await eventually("the branches are gone", async () => {
          expect(await listed()).not.toMatch(/Ready/u)
          const { store } = real.cluster("cluster-a").cluster
          const pods = store.list({ group: "", version: "v1", resource: "pods" }, { namespace: workloadNamespace })
          expect(pods.items.filter(({ metadata: { labels } }) => labels?.["db-owner-name"] !== undefined)).toEqual([])
        })
      })

      it("have the user's migrations, later ones as well, and stay for others when these fail", async () => {
        const first = { "V1__goods.sql": "create table goods (id int); insert into goods values (1);" }
        const both = { ...first, "V2__more.sql": "insert into goods values (2);" }
        const edited = { ...both, "V1__goods.sql": "create table goods (id text);" }
        const migrated = (files: Readonly<Record<string, string>>) => ({
          id: "migrated",
          migrations: { flavor: "flyway", path: writeMigrations(folder.path, files) }
        })
        const server = serverAt(await urlOf(migrated(first)))
        expect(await server.query("shop", "select count(*) from goods")).toBe("1")
        await urlOf(migrated(both))
        expect(await server.query("shop", "select count(*) from goods")).toBe("2")
        const ran = session(["echo", "started"], migrated(edited))
        expect(await ran.ended()).not.toBe(0)
        expect(ran.stdout()).not.toContain("started")
        expect(ran.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(/database branching failed.*checksum mismatch/u)
        expect(await urlOf({ id: "migrated" })).toContain("@")
        expect(await server.query("shop", "select count(*) from goods")).toBe("2")
      })

      it.each([
        ["names a profile that there is not", { id: "profile", profile: "tiny" }, /profile is "tiny".*there are none/u],
        [
          "has migrations that fail",
          {
            id: "slipped",
            migrations: {
              flavor: "container",
              image: "docker.io/library/postgres:17",
              command: ["sh", "-c", 'psql --command="creat table goods ()" "$DATABASE_URL"']
            }
          },
          /database branching failed.*syntax error/u
        ],
        [
          "names a table that the source does not have",
          { id: "none", copy: { mode: "schema", tables: { none: {} } } },
          /database branching failed.*the source has no table/u
        ],
        [
          "is found by a variable that cannot be rewritten",
          { id: "jdbc", connection: { url: { type: "env", variable: "JDBC_URL" } } },
          /The variable JDBC_URL cannot lead to branch/u
        ],
        ["is of an image that nobody can pull", { id: "image", image: "no/such:1" }, /database branching failed/u]
      ])("that %s end the client with the reason, and no program starts", async (_what, branch, reason) => {
        const ran = session(["echo", "started"], branch)
        expect(await ran.ended()).not.toBe(0)
        expect(ran.stdout()).not.toContain("started")
        // The client wraps its sentences.
        expect(ran.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(reason)
      })
    },
    { timeout: 600_000 }
  )
