/**
 * The playground's story of branches: mirrord's own client runs programs with a branch of the workload's database. The
 * story of a whole session is `../story.ts`.
 */

import { writeFileSync } from "node:fs"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { pods, secrets } from "../../cluster/store/resource-refs.ts"
import { seen } from "../awaited.ts"
import type { AnyPlayground, AnyRunningCluster } from "../local-cluster.ts"
import { operatorNamespace, workloadNamespace, workloadTarget } from "../manifests.ts"
import type { Reporter } from "../reporter.ts"
import { demand, failed, reportedStep } from "../story-steps.ts"
import type { Mirrord } from "./mirrord.ts"
import { databaseName, type ShopDatabase } from "./shop-database.ts"

export interface BranchStory {
  readonly playground: AnyPlayground
  readonly database: ShopDatabase
  readonly mirrord: Mirrord
  /** The client's configuration file, which the story writes. */
  readonly configuration: string
}

const copied = 3
const configuration = {
  target: { path: workloadTarget, namespace: workloadNamespace },
  feature: {
    // psql needs files of this machine alone.
    fs: "local",
    db_branches: [
      {
        id: "playground",
        type: "pg",
        name: databaseName,
        ttl_secs: 300,
        connection: { url: { type: "env", variable: "DATABASE_URL" } },
        copy: { mode: "schema", tables: { users: { filter: `id <= ${copied}` } } }
      }
    ]
  }
}

/** Numbers of users and of orders, as `20|100`. */
const counts = "select (select count(*) from users), (select count(*) from orders)"
const names = "select name from users order by id"

/** The namespace in which the client orders branches. */
export const orderNamespace = ({ primary: { description } }: AnyPlayground): string =>
  description.hasWorkload ? workloadNamespace : operatorNamespace

const inSource = ({ database }: BranchStory, sql: string) =>
  Effect.tryPromise({
    try: () => database.server.query(databaseName, sql),
    catch: (cause) => failed(`the database does not answer: ${String(cause)}`)
  })

const showDatabase = (story: BranchStory) =>
  Effect.gen(function* () {
    const found = yield* inSource(story, counts)
    const [users, orders] = found.split("|").map(Number)
    return { address: `${story.database.server.address}:5432`, users, orders }
  })

/** Runs psql in a session, with the URL of the program's variable: the server's address, and each line it prints. */
const session = ({ configuration: file, database, mirrord }: BranchStory, statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const program = 'echo "$DATABASE_URL" && exec psql "$DATABASE_URL" -XqAt "$@"'
    const asked = statements.flatMap((statement) => ["-c", statement])
    const { stdout } = yield* mirrord(["exec", "-f", file, "--", "sh", "-c", program, "sh", ...asked])
    const [url = "", ...lines] = stdout.trim().split("\n")
    const { host, hostname } = URL.canParse(url) ? new URL(url) : { host: "", hostname: "" }
    yield* demand(
      hostname !== "" && hostname !== database.server.address,
      `DATABASE_URL of the program leads to ${host === "" ? "nothing" : host}`
    )
    return { server: host, lines }
  })

const useBranch = (story: BranchStory) =>
  Effect.gen(function* () {
    const insert = "insert into users (name) values ('you') returning id"
    const { lines, server } = yield* session(story, [counts, names, insert])
    const [found, ...rest] = lines
    yield* demand(found === `${copied}|0`, `the branch has ${found} users|orders, wanted ${copied}|0`)
    const [users, written] = [rest.slice(0, copied), rest.at(copied)]
    yield* demand(written === String(copied + 1), `the new row has the id ${written}`)
    return { server, users, orders: 0, written: `user ${written}` }
  })

const databaseIsUnchanged = (story: BranchStory) =>
  Effect.gen(function* () {
    const you = yield* inSource(story, "select count(*) from users where name = 'you'")
    const details = yield* showDatabase(story)
    yield* demand(you === "0" && details.users === 20, "the row of the session is in the database itself")
    return details
  })

/** Objects of branches in a cluster beside the custom resource: pods, and the Secrets of the same names. */
const objectsOfBranches = ({ cluster: { store } }: AnyRunningCluster, named: ReadonlySet<string>) => {
  const own = store
    .list(pods, { namespace: workloadNamespace })
    .items.filter((pod) => at(pod, "metadata", "labels", "db-owner-name") !== undefined)
  const withNames = store
    .list(secrets, { namespace: workloadNamespace })
    .items.filter(({ metadata: { name = "" } }) => named.has(name))
  return [...own, ...withNames].map(({ metadata }) => metadata.name ?? "")
}

const listBranch = ({ mirrord, playground }: BranchStory) =>
  Effect.gen(function* () {
    const command = ["db-branches", "-n", orderNamespace(playground), "status"]
    const { stdout, stderr } = yield* mirrord(command)
    const row = `${stdout}\n${stderr}`.split("\n").find((line) => /Ready/u.test(line) && line.includes(databaseName))
    if (row === undefined) return yield* failed(`no line with a branch that is ready: ${stdout}${stderr}`)
    return { command: ["mirrord", ...command].join(" "), row: row.trim() }
  })

const reuseBranch = (story: BranchStory, first: string) =>
  Effect.gen(function* () {
    const { lines, server } = yield* session(story, [names])
    yield* demand(server === first, `the second session has the branch at ${server}, the first at ${first}`)
    yield* demand(lines.at(-1) === "you", `the second session reads ${lines.join(", ")}`)
    return { server, users: lines }
  })

/** Names of the branches of a cluster, as its API server lists them. */
const branchesOf = ({ cluster, description }: AnyRunningCluster) =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(cluster.kubeconfigPath)
    const api = yield* makeKubeApi(config, description.name)
    const { items } = yield* api.list(branchDatabases, {}).pipe(Effect.mapError(({ message }) => failed(message)))
    return items.map(({ metadata: { name } }) => `${description.name}: BranchDatabase ${name ?? ""}`)
  }).pipe(Effect.scoped)

const endBranch = ({ mirrord, playground }: BranchStory) =>
  Effect.gen(function* () {
    const named = new Set(playground.clusters.flatMap((cluster) => objectsOfBranches(cluster, new Set())))
    yield* demand(named.size === 1, `there are ${named.size} pods of branches, wanted 1`)
    const command = ["db-branches", "-n", orderNamespace(playground), "destroy", "--all"]
    yield* mirrord(command)
    let left: ReadonlyArray<string> = []
    yield* seen(
      "the end of the branch",
      Effect.gen(function* () {
        const resources = yield* Effect.forEach(playground.clusters, branchesOf)
        left = [...resources.flat(), ...playground.clusters.flatMap((cluster) => objectsOfBranches(cluster, named))]
        return left.length === 0 ? left : undefined
      }).pipe(Effect.catch(() => Effect.succeed(undefined))),
      () => `left: ${left.join(", ")}`
    )
    return { command: ["mirrord", ...command].join(" ") }
  })

/** Plays sessions with one branch from its order to its end, and reports one step after the other. */
export const playBranchStory = (story: BranchStory, reporter: Reporter): Effect.Effect<void> =>
  Effect.gen(function* () {
    const step = reportedStep(reporter)
    writeFileSync(story.configuration, `${JSON.stringify(configuration, undefined, 2)}\n`)
    yield* step("database", showDatabase(story))
    const { server } = yield* step("branch", useBranch(story))
    yield* step("database-unchanged", databaseIsUnchanged(story))
    yield* step("branch-listed", listBranch(story))
    yield* step("branch-reused", reuseBranch(story, server))
    yield* step("branch-ended", endBranch(story))
  }).pipe(Effect.ignore)
