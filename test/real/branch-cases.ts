/** Further cases of branches with mirrord's own client, for one playground of each topology. */

import { join } from "node:path"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { workloadNamespace } from "../../lab/playground/manifests.ts"
import { branchDatabases } from "../../src/domain/resources/branches/branch-database.ts"
import { eventually } from "../support/eventually.ts"
import { type BranchClient, shop, workload } from "./branches.ts"
import { type Server } from "./engines/postgresql-server.ts"
import { type RunningCommand } from "./harness.ts"

/** The variables that a program prints. */
const variablesOf = async (ran: RunningCommand): Promise<Readonly<Record<string, string>>> => {
  expect(await ran.ended(), ran.stderr()).toBe(0)
  const lines = ran.stdout().trim().split("\n")
  return Object.fromEntries(lines.map((line) => [line.split("=")[0] ?? "", line.slice(line.indexOf("=") + 1)]))
}

/** The client wraps its sentences. */
const told = (ran: RunningCommand): string => ran.stderr().replaceAll(/[\s│]+/gu, " ")

/** A workload that finds the same database by variables of every form. */
const depot = ({ sourceAddress, sourceUrl }: BranchClient): ReadonlyArray<object> => {
  const { password } = new URL(sourceUrl)
  const parts = { DB_HOST: sourceAddress, DB_PORT: "5432", DB_USER: "postgres", DB_NAME: "shop" }
  return [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "depot", namespace: workloadNamespace },
      stringData: { ...parts, DB_PASSWORD: decodeURIComponent(password), REPLICA_URL: sourceUrl }
    },
    workload("depot", {
      envFrom: [{ secretRef: { name: "depot" } }],
      env: [
        ...["DATABASE_URL", "MIRROR_URL", "HIDDEN_URL", "REPORT_URL"].map((name) => ({
          name,
          valueFrom: { secretKeyRef: { name: "shop", key: "url" } }
        })),
        { name: "DSN", value: `host=${sourceAddress} port=5432 dbname=shop` }
      ]
    })
  ]
}

/** Branches by every form of a connection, all for one session of {@link depot}. */
const everyForm = [
  {
    id: "urls",
    name: undefined,
    connection: { url: ["DATABASE_URL", "MIRROR_URL", "HIDDEN_URL"] },
    query_params: { application_name: "branch" }
  },
  {
    id: "from-secret",
    connection: { url: { type: "env_from", variable: "REPLICA_URL" } },
    copy: { mode: "empty", tables: { users: { filter: "id <= 2" } } }
  },
  {
    id: "parts",
    connection: {
      params: { host: "DB_HOST", port: "DB_PORT", user: "DB_USER", password: "DB_PASSWORD", database: "DB_NAME" }
    }
  },
  {
    id: "patterns",
    connection: {
      params: {
        host: { env_var_name: "DSN", value_pattern: "host=(?P<host>[^ ]+)" },
        port: { env_var_name: "DSN", value_pattern: "port=([0-9]+)" }
      }
    }
  },
  {
    id: "injected",
    connection: { url: { type: "secret", name: "shop", key: "url", env_var_name: "INJECTED_URL" } }
  }
]

/** A copy that reads the table which {@link whileLocked} holds. */
const ofOne = { mode: "empty", tables: { users: { filter: "id = 1" } } }

/** Acts while nobody can read a table of the source, so that a copy of it waits. A prepared transaction holds it. */
const whileLocked = async <A>(source: Server, act: () => Promise<A>): Promise<A> => {
  await source.query("shop", "begin; lock table users; prepare transaction 'lock'")
  try {
    return await act()
  } finally {
    await source.query("shop", "rollback prepared 'lock'")
  }
}

/** Cases of a primary that is the default. They take half a minute. */
export const branchCases = (client: BranchClient): void => {
  const { apply, layerApp, podsOfBranches, real, run, serverAt, session, sourceAddress, sourceUrl, urlOf } = client
  /** The branch of an id in the workload's namespace. */
  const nameOf = (id: string): string => {
    const { store } = real.cluster("cluster-a").cluster
    const { items } = store.list(
      { ...branchDatabases, resource: branchDatabases.plural },
      { namespace: workloadNamespace }
    )
    const found = items.find(({ metadata: { labels } }) => labels?.["mirrord-branch-id"] === id)
    if (found?.metadata.name === undefined) throw new Error(`there is no branch ${id}`)
    return found.metadata.name
  }
  const stop = async (name: string): Promise<void> => {
    const ran = run(["db-branches", "-n", workloadNamespace, "stop", name])
    expect(await ran.ended(), ran.stderr()).toBe(0)
  }

  it("of one session are as many as it names, for lists of URLs, parts, patterns and Secrets", async () => {
    await apply(depot(client))
    const options = { target: "deployment/depot", feature: { env: { exclude: "HIDDEN_URL" } } }
    const found = await eventually("a session of the other workload", () =>
      variablesOf(session(["env"], everyForm, options))
    )
    const at = (variable: string): URL => new URL(found[variable] ?? "")
    // All URLs of a list, with the database of the source where the branch has no name, and the user's parameters.
    expect(at("DATABASE_URL").href).toBe(at("MIRROR_URL").href)
    expect(at("DATABASE_URL").pathname).toBe("/shop")
    expect(at("DATABASE_URL").searchParams.get("application_name")).toBe("branch")
    expect(await serverAt(at("DATABASE_URL").href).query("shop", "select 1")).toBe("1")
    expect(found).not.toHaveProperty("HIDDEN_URL")
    expect(found["REPORT_URL"]).toBe(sourceUrl)
    expect(await serverAt(at("REPLICA_URL").href).query("shop", "select count(*) from users")).toBe("2")
    const secret = encodeURIComponent(found["DB_PASSWORD"] ?? "")
    const parts = serverAt(`postgresql://${found["DB_USER"]}:${secret}@${found["DB_HOST"]}`)
    expect(await parts.query(found["DB_NAME"] ?? "", "select 1")).toBe("1")
    const dsn = /^host=(\S+) port=5432 dbname=shop$/u.exec(found["DSN"] ?? "")?.[1]
    const servers = [
      at("DATABASE_URL").hostname,
      at("REPLICA_URL").hostname,
      found["DB_HOST"],
      dsn,
      at("INJECTED_URL").hostname
    ]
    expect(new Set([sourceAddress, ...servers]).size).toBe(servers.length + 1)
  })

  it("that two clients order at once are one, also for another workload of the namespace", async () => {
    const branch = { id: "shared" }
    const urls = await Promise.all([
      urlOf(branch),
      urlOf(branch),
      urlOf({ ...branch, connection: { url: "DATABASE_URL" } }, { target: "deployment/depot" })
    ])
    expect(urls).toEqual(urls.map(() => urls[0]))
    const own = nameOf("shared")
    expect(podsOfBranches().filter((name) => name.startsWith(own))).toHaveLength(1)
    // The same id in another namespace is another branch, and one that was stopped is made again.
    const namespace = "elsewhere"
    await apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, ...shop(sourceUrl, namespace)])
    const other = await eventually("a session in the other namespace", () => urlOf(branch, { namespace }))
    expect(new URL(other).hostname).not.toBe(new URL(urls[0] ?? "").hostname)
    await stop(own)
    expect(await eventually("the branch again", () => urlOf(branch))).not.toBe(urls[0])
  })

  it("that take longer than the client waits are made all the same, and can be stopped meanwhile", async () => {
    const own = await whileLocked(client.source(), async () => {
      const late = { creation_timeout_secs: 1, copy: ofOne }
      const kept = session(["env"], [{ ...late, id: "kept" }])
      const stopped = session(["env"], [{ ...late, id: "stopped", creation_timeout_secs: 5 }])
      const name = await eventually("both are being made", () => {
        const names = [nameOf("stopped"), nameOf("kept")]
        for (const name of names) expect(podsOfBranches().some((pod) => pod.startsWith(name))).toBe(true)
        return names[0] ?? ""
      })
      await stop(name)
      for (const ran of [kept, stopped]) {
        expect(await ran.ended()).not.toBe(0)
        expect(told(ran)).toContain("timed out: database branching")
        expect(ran.stdout()).toBe("")
      }
      return name
    })
    const server = serverAt(await urlOf({ id: "kept", copy: ofOne }))
    expect(await server.query("shop", "select count(*) from users")).toBe("1")
    await eventually("the pod of the other is gone", () => {
      expect(podsOfBranches().filter((pod) => pod.startsWith(own))).toEqual([])
    })
  })

  it.each([
    ["is switched off", { type: "redis", name: "0" }, "Branches of Redis are switched off in this cluster"],
    ["is not built", { type: "spanner" }, "which this operator does not serve"]
  ])("whose engine %s end the client at once with the reason", async (_what, branch, reason) => {
    const ran = session(["echo", "started"], [{ id: `engine-${branch.type}`, ...branch }])
    expect(await ran.ended()).not.toBe(0)
    expect(ran.stdout()).toBe("")
    expect(told(ran)).toContain(reason)
  })

  it.each([
    ["in an empty copy", { connection: { url: { type: "env", variable: "DATABSE_URL" } }, copy: { mode: "empty" } }],
    ["in the usual copy", { connection: { url: "DATABSE_URL" }, copy: undefined }],
    ["as parts", { connection: { params: { host: "DB_HSOT", port: "DB_PROT", user: "DB_USER" } }, copy: undefined }]
  ])("to which no variable leads end the client before its program starts, %s", async (what, branch) => {
    const ran = session(["echo", "started"], [{ id: what.replaceAll(" ", "-"), name: "shop", type: "pg", ...branch }])
    expect(await ran.ended()).not.toBe(0)
    expect(ran.stdout()).toBe("")
    expect(told(ran)).toContain("No environment variable of this target leads to branch")
  })

  it("that replace another variable than the configuration names leave its program without the source", async () => {
    await apply(depot(client))
    const options = { target: "deployment/depot" }
    await eventually("a session of the other workload", () => urlOf({ id: "mixed-up" }, options))
    const mixedUp = [{ id: "mixed-up", connection: { url: "REPORT_URL" } }]
    const asked = ["--env", "REPORT_URL", "--connect", `${sourceAddress}:5432`, "--seconds", "60"]
    const app = session([layerApp, ...asked], mixedUp, options)
    expect(await app.ended()).not.toBe(0)
    expect(app.stdout()).not.toContain('"peer"')
  })

  it("that have failed are made again by the same command, once the failure was read", async () => {
    // The order of an earlier case, whose table was missing.
    await client.source().query("shop", "create table none (id int)")
    const branch = { id: "none", copy: { mode: "schema", tables: { none: {} } } }
    const url = await eventually("the branch again", () => urlOf(branch))
    expect(await serverAt(url).query("shop", "select count(*) from none")).toBe("0")
  })
}

/** Cases of a primary whose default is a member. */
export const memberBranchCases = ({ apply, podsOfBranches, real, session, sourceUrl, urlOf }: BranchClient): void => {
  /** A session that is not of the fleet asks for the target itself, for which developers have no right here. */
  const administrator = async (cluster: string): Promise<string> => {
    const path = join(real.home("administrator"), "kubeconfig")
    const options = { user: "cleo", groups: ["system:masters"], path }
    await Effect.runPromise(real.cluster(cluster).cluster.userKubeconfig(options))
    return path
  }

  // No image of MySQL can be pulled here, which a client finds out if it has been told of the engine.
  it.each([
    ["only the default cluster has are ordered there", "mysql", /database branching failed.*image/u],
    ["only the primary could make", "mariadb", /Feature `MariaDB branching` is not enabled/u]
  ])("of an engine that %s", async (_what, type, reason) => {
    const ran = session(["echo", "started"], [{ id: type, type, connection: { url: "DATABASE_URL" } }])
    expect(await ran.ended()).not.toBe(0)
    expect(ran.stdout()).not.toContain("started")
    expect(told(ran)).toMatch(reason)
  })

  it("are those of the member's own users too, who go to it directly", async () => {
    const url = await urlOf({ id: "direct" }, { kubeconfig: await administrator("cluster-a") })
    expect(await urlOf({ id: "direct" })).toBe(url)
  })

  it("that are for the primary alone are refused at once, and none is made", async () => {
    const before = podsOfBranches()
    await apply(shop(sourceUrl), "primary")
    const ran = session(["echo", "started"], [{ id: "alone" }], {
      kubeconfig: await administrator("primary"),
      configuration: { multi_cluster: false }
    })
    expect(await ran.ended()).not.toBe(0)
    expect(ran.stdout()).toBe("")
    expect(told(ran)).toContain("The branch is for this cluster alone, where none is made")
    expect(podsOfBranches().filter((name) => !before.includes(name))).toEqual([])
  })
}
