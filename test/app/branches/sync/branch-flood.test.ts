import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { processProgram } from "../../../../lab/cluster/node/process-program.ts"
import { readVitals } from "../../../../lab/fuzz/vitals.ts"
import type { Playground } from "../../../../lab/playground/local-cluster.ts"
import { startPlayground } from "../../../../lab/playground/playground.ts"
import { topology } from "../../../../lab/playground/topology.ts"
import { makeKubeApi } from "../../../../src/adapters/kubernetes/kube-api-http.ts"
import { asString, at } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import type { KubeApi } from "../../../../src/ports/kube-api.ts"
import { subnetOf } from "../../../address-plan.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"
import { quietNode } from "../../../support/quiet-node.ts"
import { until } from "../../../support/until.ts"

const repository = new URL("../../../../", import.meta.url)
const preload = new URL("lab/fuzz/vitals-preload.ts", repository)
const operatorNamespace = "mirrord"
/** Together far more than an answer may have, and than an operator may keep. */
const orders = process.env["BRAID_TEST_LONG"] === "true" ? 150 : 60
const archive = Buffer.alloc(750_000, 7).toString("base64")

describe("a primary, while a developer makes branches of a megabyte that never go", () => {
  const scope = Effect.runSync(Scope.make())
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(effect.pipe(Scope.provide(scope)))
  let directory = ""
  let playground: Playground
  let primary: KubeApi
  /** The operators' processes, by cluster. */
  const processes = new Map<string, number>()
  let starting = ""
  let honest = 0
  let idle = 0

  /** Bytes that the primary's operator keeps. */
  const memory = async (): Promise<number> => (await readVitals(join(directory, "primary-node.sock"))).memory

  const object = (name: string, namespace: string, more: object, metadata: object = {}) => ({
    apiVersion: "dbs.mirrord.metalbear.co/v1alpha1",
    kind: branchDatabases.kind,
    metadata: { name, annotations: { "mirrord.metalbear.co/target-namespace": namespace }, ...metadata },
    spec: { ...bareBranchSpec, databaseName: "shop", postgresOptions: {}, ...more }
  })

  /** Somebody else orders a branch, which the default cluster begins to make. */
  const orderAnother = async (): Promise<void> => {
    const name = `honest-${++honest}`
    await run(primary.create(branchDatabases, object(name, "default", {}), operatorNamespace))
    await until(`${name} is being made`, async () => {
      const found = await run(primary.get(branchDatabases, name, operatorNamespace))
      return asString(at(found, "status", "copy", "cluster"))
    })
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-flood-"))
    const all = topology("management", subnetOf("branches without end"))
    const operator = processProgram({
      command: ({ pod }) => {
        starting = asString(at(pod, "spec", "nodeName")) ?? ""
        const look = `--import=${preload.href}?socket=${encodeURIComponent(join(directory, `${starting}.sock`))}`
        const program = new URL("src/app/braid.ts", repository).pathname
        return [process.execPath, "--max-semi-space-size=2", look, program, "operator"]
      },
      started: (pid) => void processes.set(starting, pid)
    })
    playground = await run(
      startPlayground({
        topology: { ...all, clusters: all.clusters.filter(({ name }) => name !== "cluster-b") },
        directory,
        sessionTtlSecs: 60,
        remoteSessionTimeoutSecs: 120,
        hasBranches: true,
        operator,
        progress: () => Effect.void
      }).pipe(Effect.provide(quietNode))
    )
    const config = new KubeConfig()
    config.loadFromString(readFileSync(playground.primary.cluster.kubeconfigPath, "utf8"))
    primary = await run(makeKubeApi(config, "primary"))
    await orderAnother()
    idle = await memory()
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  })

  it("makes the branches of others, and keeps no more than when it was idle", async () => {
    const migrations = { flavor: "flyway", archive }
    const names = Array.from({ length: orders }, (_, index) => `flood-${index}`)
    await run(
      Effect.forEach(
        names,
        (name) => {
          const flood = object(name, "nowhere", { migrations }, { finalizers: ["example.com/never"] })
          return primary.create(branchDatabases, flood, operatorNamespace)
        },
        { concurrency: 4, discard: true }
      )
    )
    await orderAnother()
    const kind = { group: branchDatabases.group, version: branchDatabases.version, resource: branchDatabases.plural }
    const isJudged = (name: string): boolean => {
      const found = playground.primary.cluster.store.get(kind, operatorNamespace, name)
      return at(found, "status", "phase") === "Failed" || found?.metadata.deletionTimestamp !== undefined
    }
    await until("all are judged", () => (names.every(isJudged) ? true : undefined))
    expect((await memory()) / idle).toBeLessThan(1.3)
  })

  it("does so after a crash, with all of them to read", async () => {
    const before = processes.get("primary-node") ?? 0
    process.kill(before, "SIGKILL")
    await until("another process", () => (processes.get("primary-node") === before ? undefined : true))
    await orderAnother()
    expect((await memory()) / idle).toBeLessThan(1.3)
  })
})
