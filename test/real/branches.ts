/** Branches of a real PostgreSQL, as mirrord's own client orders, uses, lists and stops them. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { shopContent } from "../../lab/playground/branches/shop-database.ts"
import { images, workloadNamespace } from "../../lab/playground/manifests.ts"
import { at } from "../../src/domain/json.ts"
import type { KubeObject } from "../../src/ports/kube-api.ts"
import { eventually } from "../support/eventually.ts"
import { apiClient } from "./api-client.ts"
import { applyObjects } from "./cluster-writes.ts"
import { writeMigrations } from "./engines/flyway.ts"
import { connectedTo, engineFolder, run as runProgram, type Server, startSource } from "./engines/postgresql-server.ts"
import { fleetIs } from "./fleet-health.ts"
import { type AnyRealPlayground, describeReal, runClient, type RunningCommand } from "./harness.ts"
import { startOlderApi } from "./older-api.ts"

/** A playground whose clusters make branches; the default is `cluster-a`. */
export interface BranchPlayground {
  readonly real: AnyRealPlayground
  /** The namespace in which the client orders branches. */
  readonly orders: string
  /** An address for the source, which no pod has. */
  readonly sourceAddress: string
}

const password = "p'a s/%"

const text = (objects: ReadonlyArray<object>): string => objects.map((object) => JSON.stringify(object)).join("\n---\n")

/** A workload whose container has this environment, as the fields `env` and `envFrom`. */
export const workload = (name: string, environment: object, namespace = workloadNamespace): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name, image: images.demo, ...environment }] }
    }
  }
})

/** A workload that finds its database by a Secret. */
export const shop = (url: string, namespace = workloadNamespace): ReadonlyArray<object> => [
  { apiVersion: "v1", kind: "Secret", metadata: { name: "shop", namespace }, stringData: { url } },
  workload(
    "shop",
    {
      env: [
        { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "shop", key: "url" } } },
        { name: "JDBC_URL", value: "jdbc:postgresql://db.example/shop" }
      ]
    },
    namespace
  )
]

/** How a session is started; without its own values it is one of the workload `shop`, at the primary. */
export interface SessionOptions {
  readonly target?: string
  readonly namespace?: string
  /** Path of the client's kubeconfig. */
  readonly kubeconfig?: string
  readonly home?: string
  /** Further fields of the configuration. */
  readonly configuration?: object
  readonly feature?: object
}

/** The real client with a workload and its source, for further cases. */
export interface BranchClient extends BranchPlayground {
  /** Applies objects in a cluster, the default one unless given. */
  readonly apply: (objects: ReadonlyArray<object>, cluster?: string) => Promise<unknown>
  readonly source: () => Server
  /** A program with mirrord's layer. */
  readonly layerApp: string
  /** URL of the source, as the workload has it. */
  readonly sourceUrl: string
  /** Runs a program in a session with these branches, each as in the client's configuration. */
  readonly session: (
    program: ReadonlyArray<string>,
    branches: ReadonlyArray<object>,
    options?: SessionOptions
  ) => RunningCommand
  /** The variable of a program in a session of the workload. */
  readonly urlOf: (branch?: object, options?: SessionOptions) => Promise<string>
  /** The server to which a program's variable leads. */
  readonly serverAt: (url: string) => Server
  /** Runs a command of the client. */
  readonly run: (args: ReadonlyArray<string>, options?: Pick<SessionOptions, "kubeconfig" | "home">) => RunningCommand
  /** The list of branches as the client shows it. */
  readonly listed: () => Promise<string>
  /** Names of the branches' pods in a namespace. */
  readonly podsOfBranches: (namespace?: string) => ReadonlyArray<string>
}

/** Commands of the client in a playground. */
export const branchSessions = (
  real: AnyRealPlayground,
  mirrord: string
): Pick<BranchClient, "run" | "session"> & { readonly stop: () => void } => {
  const commands: Array<RunningCommand> = []
  const run: BranchClient["run"] = (args, options = {}) => {
    const { home = real.home("branches"), kubeconfig = real.kubeconfig() } = options
    const started = runClient({ file: mirrord, args, home, kubeconfig })
    commands.push(started)
    return started
  }
  return {
    run,
    session: (program, db_branches, options = {}) => {
      const { configuration = {}, feature = {}, home = real.home("branches"), target = "deployment/shop" } = options
      const file = join(home, "mirrord.json")
      writeFileSync(file, JSON.stringify({ ...configuration, feature: { ...feature, db_branches } }))
      const place = ["-t", target, "-n", options.namespace ?? workloadNamespace]
      return run(["exec", ...place, "-f", file, "--", ...program], { ...options, home })
    },
    stop: () => {
      for (const command of commands.splice(0)) command.stop()
    }
  }
}

export const clientBranches = (
  where: string,
  use: () => BranchPlayground,
  further: (client: BranchClient) => void = () => undefined
): void =>
  describeReal(`branches of the real client, ${where}`, ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
    const { orders, real, sourceAddress } = use()
    const folder = engineFolder()
    let source: Server

    const sourceUrl = `postgresql://postgres:${encodeURIComponent(password)}@${sourceAddress}:5432/shop`
    const client = branchSessions(real, mirrord)
    const { run } = client
    const wanted = {
      type: "pg",
      name: "shop",
      ttl_secs: 300,
      connection: { url: { type: "env", variable: "DATABASE_URL" } }
    }
    const session: BranchClient["session"] = (program, branches, options) =>
      client.session(
        program,
        branches.map((branch) => ({ ...wanted, ...branch })),
        options
      )
    const urlOf: BranchClient["urlOf"] = async (branch, options) => {
      const ran = session(["sh", "-c", 'echo "$DATABASE_URL"'], branch === undefined ? [] : [branch], options)
      expect(await ran.ended(), ran.stderr()).toBe(0)
      return ran.stdout().trim()
    }
    const serverAt: BranchClient["serverAt"] = (url) => {
      const { hostname, password: secret } = new URL(url)
      return connectedTo(hostname, decodeURIComponent(secret), () => Promise.resolve())
    }
    const podsOfBranches: BranchClient["podsOfBranches"] = (namespace = workloadNamespace) =>
      real
        .cluster("cluster-a")
        .cluster.store.list(pods, { namespace })
        .items.filter(({ metadata: { labels } }) => labels?.["db-owner-name"] !== undefined)
        .map(({ metadata: { name = "" } }) => name)
    const apply: BranchClient["apply"] = (objects, cluster = "cluster-a") =>
      applyObjects(real.cluster(cluster).cluster, text(objects))
    const listed = async (): Promise<string> => {
      const list = run(["db-branches", "-n", orders, "status"])
      expect(await list.ended(), list.stderr()).toBe(0)
      return list.stdout() + list.stderr()
    }

    beforeAll(async () => {
      await fleetIs(real.playground())
      source = await startSource(folder.path, sourceAddress, password)
      await source.query("postgres", "create database shop")
      await source.query("shop", shopContent)
      await apply(shop(sourceUrl))
      await eventually("a session of the workload", async () => {
        expect(await urlOf()).toBe(sourceUrl)
      })
    })
    afterEach(client.stop)
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
      const home = real.home("branches")
      const app = session([layerApp, ...asked], [branch], { home })
      // A later request for the variable has the same answer, and connections reach the branch.
      expect(await app.waitForEvent("env")).toMatchObject({ name: "DATABASE_URL", value: url })
      expect((await app.waitForEvent("connect"))["peer"]).toBeDefined()
      await eventually("the branch is used", async () => {
        expect((await listed()).split("\n").find((text) => /Ready/u.test(text) && /ann/u.test(text))).toBeDefined()
      })
      expect(await serverAt(url).query("shop", "select count(*) from orders")).toBe("100")

      // The client asks once more for the variable, and forwards a port of this machine to where that leads.
      const forward = await eventually("the port is shown", async () => {
        const shown = run(["db-branches", "connections"], { home })
        expect(await shown.ended(), shown.stderr()).toBe(0)
        return new URL(/\| whole +\| (postgresql:\S+) \|/u.exec(shown.stdout())?.[1] ?? "")
      })
      const { port } = forward
      expect(port).not.toBe("5432")
      const count = ["-XqAt", "-c", "select count(*) from orders"]
      forward.hostname = "127.0.0.1"
      expect(await runProgram("psql", [...count, forward.href])).toMatchObject({ status: 0, out: "100\n" })
      expect(Object.assign(forward, { hostname, port: 5432 }).href).toBe(url)
      app.stop()
      const stop = run(["db-branches", "-n", orders, "stop", "--all"])
      expect(await stop.ended(), stop.stderr()).toBe(0)
      await eventually("the branches are gone", async () => {
        expect(await listed()).not.toMatch(/Ready/u)
        expect(podsOfBranches()).toEqual([])
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
      const ran = session(["echo", "started"], [migrated(edited)])
      expect(await ran.ended()).not.toBe(0)
      expect(ran.stdout()).not.toContain("started")
      expect(ran.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(/database branching failed.*checksum mismatch/u)
      expect(await urlOf({ id: "migrated" })).toContain("@")
      expect(await server.query("shop", "select count(*) from goods")).toBe("2")
    })

    /** The objects of a kind in a cluster, as its administrator sees them. */
    const objectsIn = async (cluster: string, resource: string): Promise<ReadonlyArray<KubeObject>> => {
      const path = join(real.home("branches"), `${cluster}-administrator.kubeconfig`)
      const administrator = { user: "administrator", groups: ["system:masters"], path }
      await Effect.runPromise(real.cluster(cluster).cluster.userKubeconfig(administrator))
      const { body, status } = await apiClient(path).call("GET", resource)
      expect(status).toBe(200)
      return (body as { readonly items: ReadonlyArray<KubeObject> }).items
    }
    const branchesIn = (cluster: string, plural: string) =>
      objectsIn(cluster, `/apis/dbs.mirrord.metalbear.co/v1alpha1/${plural}`)
    const idsIn = async (cluster: string, plural: string): Promise<ReadonlyArray<unknown>> =>
      (await branchesIn(cluster, plural)).map((branch) => at(branch, "spec", "id"))
    /** The Secrets with values of clients. */
    const valuesIn = async (cluster: string): Promise<ReadonlyArray<KubeObject>> =>
      (await objectsIn(cluster, "/api/v1/secrets")).filter(({ metadata: { name } }) =>
        name.startsWith("mirrord-branch-values-")
      )

    it("have values of the client's own, which stand in a Secret of the branch alone", async () => {
      const given = {
        DB_HOST: sourceAddress,
        DB_PORT: "5432",
        DB_USER: "postgres",
        DB_PASSWORD: password,
        DB_NAME: "shop"
      }
      const [host, port, user, secret, database] = Object.entries(given).map(([variable, value]) => ({
        variable,
        value
      }))
      const branch = (change: object = {}) => ({
        id: "literal",
        copy: { mode: "all" },
        connection: { type: "env", params: { host, port, user, password: secret, database, ...change } }
      })
      const program = ["sh", "-c", 'echo "$DB_HOST $DB_PORT $DB_USER $DB_PASSWORD $DB_NAME"']
      const ran = session(program, [branch()])
      expect(await ran.ended(), ran.stderr()).toBe(0)
      const [address = "", ...others] = ran.stdout().trim().split(" ")
      expect(others).toEqual(["5432", "postgres", expect.not.stringContaining(password), "shop"])
      const server = connectedTo(address, others[2] ?? "", () => Promise.resolve())
      expect(await server.query("shop", "select count(*) from orders")).toBe("100")

      const branches = await branchesIn("cluster-a", "branchdatabases")
      const made = branches.find((object) => at(object, "spec", "id") === "literal")
      const owners = (await valuesIn("cluster-a")).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid)
      expect(owners).toEqual([made?.metadata.uid])
      const { name: primary } = real.playground().primary.description
      const ordered = await branchesIn(primary, "branchdatabases")
      expect(JSON.stringify([branches, ordered])).not.toContain(password)
      if (primary !== "cluster-a") expect(await valuesIn(primary)).toEqual([])
      // The branch lives, and has these values.
      const other = session(program, [branch({ password: { variable: "DB_PASSWORD", value: "wrong" } })])
      expect(await other.ended()).not.toBe(0)
      expect(other.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(/was made with other values of DB_PASSWORD/u)
    })

    it("are ordered by a client that finds the older kinds alone, and listed and stopped by it", async () => {
      const older = await startOlderApi(real.kubeconfig(), join(real.home("branches"), "older.kubeconfig"))
      try {
        const branch = { id: "older", copy: { mode: "schema", tables: { users: { filter: "id <= 3" } } } }
        const url = await urlOf(branch, older)
        expect(await serverAt(url).query("shop", "select count(*) from users")).toBe("3")
        expect(await idsIn("cluster-a", "pgbranchdatabases")).toEqual(["older"])
        expect(await idsIn("cluster-a", "branchdatabases")).not.toContain("older")
        expect(await urlOf(branch, older)).toBe(url)
        const list = run(["db-branches", "-n", orders, "status"], older)
        expect(await list.ended(), list.stderr()).toBe(0)
        expect(list.stdout() + list.stderr()).toMatch(/shop-pg-branch-.*Ready/u)
        const failed = session(
          ["echo", "started"],
          [{ id: "none", copy: { mode: "schema", tables: { none: {} } } }],
          older
        )
        expect(await failed.ended()).not.toBe(0)
        expect(failed.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(/PostgreSQL branching.*the source has no table/u)
        const stop = run(["db-branches", "-n", orders, "stop", "--all"], older)
        expect(await stop.ended(), stop.stderr()).toBe(0)
        await eventually("the branches are gone", async () => {
          expect(await idsIn("cluster-a", "pgbranchdatabases")).toEqual([])
        })
      } finally {
        older.close()
      }
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
      const ran = session(["echo", "started"], [branch])
      expect(await ran.ended()).not.toBe(0)
      expect(ran.stdout()).not.toContain("started")
      // The client wraps its sentences.
      expect(ran.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(reason)
    })

    further({
      apply,
      layerApp,
      listed,
      orders,
      podsOfBranches,

      real,
      run,
      serverAt,
      session,
      source: () => source,
      sourceAddress,
      sourceUrl,
      urlOf
    })
  })
