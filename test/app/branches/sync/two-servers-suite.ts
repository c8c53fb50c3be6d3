import { readFile } from "node:fs/promises"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Logger, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeKubeApi } from "../../../../src/adapters/kubernetes/kube-api-http.ts"
import { type Fleet, makeFleet } from "../../../../src/app/fleet/fleet.ts"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import type { Capability } from "../../../../src/app/services/capability.ts"
import { clusterName, credentialsSecretName } from "../../../../src/domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../../../src/domain/fleet/credentials/cluster-auth.ts"
import { at } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { ClusterConnector } from "../../../../src/ports/cluster-connector.ts"
import type { KubeApi, KubeObject } from "../../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../../src/ports/member-link.ts"
import { configurationOf, operatorNamespace } from "../../../support/fleet.ts"
import { operatorDefinition } from "../../../support/operator-objects.ts"
import { untilTrue } from "../../../support/until-true.ts"
import { until } from "../../../support/until.ts"
import type { ApiServer } from "../../fleet/api-server.ts"
import { branchSpec, namespace, defaultRules } from "../branched.ts"
import { syncAlone } from "./sync-alone.ts"

const definition = new URL("../../../../crds/branchdatabases.yaml", import.meta.url)
const namespaceOf = (name: string): string =>
  JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
const run = Effect.runPromise
const nothing = (): void => {}

/** The credentials by which a primary's fleet has the cluster `a`. */
const credentials = JSON.stringify({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: credentialsSecretName(clusterName("a"), sha256Hex),
    namespace: operatorNamespace,
    labels: { [credentialsLabel]: "true" }
  },
  data: { bearerToken: Buffer.from("token").toString("base64") }
})

/** The description of an operator, as its API server has it for everybody who asks. */
const description = (...features: ReadonlyArray<string>): string =>
  JSON.stringify({
    apiVersion: "operator.metalbear.co/v1",
    kind: "MirrordOperator",
    metadata: { name: "operator" },
    spec: { operator_version: "1", supported_features: features }
  })

/** The fleet of a primary whose member is a server that opens no links. */
const fleetOf = (own: KubeApi, member: KubeApi): Effect.Effect<Fleet, never, Scope.Scope> => {
  const access = (api: KubeApi) => ({
    api,
    link: () => Effect.fail(new LinkRefused({ cluster: api.cluster, reason: "", detail: "none" }))
  })
  return makeFleet({
    configuration: configurationOf(["a"]),
    namespace: operatorNamespace,
    sha256Hex,
    ownHealth: { _tag: "Connected", operatorVersion: "1", fingerprint: undefined, parametersInHeader: true },
    events: { joined: nothing, left: nothing, childChanged: nothing, reachChanged: nothing, happened: nothing }
  }).pipe(
    Effect.provideService(ClusterConnector, {
      own: access(own),
      member: () => Effect.succeed({ ...access(member), reauthenticate: nothing })
    })
  )
}

/** A branch as the real client sends it: with nulls, and with a TTL that JavaScript does not hold. */
const order = (name: string, target: string, spec: object = {}) => ({
  apiVersion: "dbs.mirrord.metalbear.co/v1alpha1",
  kind: "BranchDatabase",
  metadata: {
    name,
    labels: { "mirrord-branch-id": name },
    annotations: { "mirrord.metalbear.co/target-namespace": target }
  },
  spec: { ...branchSpec, id: name, databaseName: null, queryParams: undefined, later: { list: [null, 1] }, ...spec }
})

const ready = {
  phase: "Ready",
  expireTime: "2027-01-15T08:05:00Z",
  podName: "pod",
  sessionInfo: { "1": { id: "1", owner: { userId: "u", username: "ann", hostname: "box", k8sUsername: "ann" } } }
}

/** Branches between two API servers, with nobody but the primary's operator; `use` gives primary and default. */
export const twoServersSuite = (use: () => readonly [ApiServer, ApiServer]): void => {
  const scope = Effect.runSync(Scope.make())
  let own: KubeApi
  let atDefault: KubeApi
  let capability: Capability = {}
  const look = (api: KubeApi, name: string, place: string): Promise<KubeObject | undefined> =>
    run(api.get(branchDatabases, name, place).pipe(Effect.catch(() => Effect.succeed(undefined))))
  const origin = (name: string) => look(own, name, operatorNamespace)
  const copy = (name: string) => look(atDefault, name, namespace)
  const say = (name: string, status: object) =>
    run(atDefault.mergePatch(branchDatabases, name, { status }, { namespace, subresource: "status" }))
  const phaseIs = (name: string, phase: string) =>
    until(`${name} is ${phase}`, async () => {
      const found = await origin(name)
      return at(found, "status", "phase") === phase ? found : undefined
    })

  beforeAll(async () => {
    const servers = use()
    const apis = await Promise.all(
      servers.map(({ kubeconfigPath }, index) => {
        const config = new KubeConfig()
        config.loadFromFile(kubeconfigPath)
        return run(makeKubeApi(config, index === 0 ? "primary" : "a").pipe(Scope.provide(scope)))
      })
    )
    const [first, second] = apis
    if (first === undefined || second === undefined) throw new Error("two servers are needed")
    own = first
    atDefault = second
    const [primary, member] = servers
    await primary.apply(await readFile(definition, "utf8"))
    await primary.apply(namespaceOf(operatorNamespace))
    await member.apply(namespaceOf(namespace))
    await untilTrue("branches are served", () => run(Effect.isSuccess(own.list(branchDatabases))))
    await primary.apply(credentials)
    capability = await run(
      Effect.gen(function* () {
        const fleet = yield* fleetOf(own, atDefault)
        const clusters = () => [
          {
            name: clusterName("a"),
            isDefault: true,
            api: () => atDefault,
            lost: () => undefined,
            branchFeatures: fleet.clusters.get(clusterName("a"))?.branchFeatures
          }
        ]
        return (yield* syncAlone({ api: own, fleet: configurationOf(["a"]) }, defaultRules.settings, clusters))
          .capability
      }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))
    )
  })
  afterAll(() => run(Scope.close(scope, Exit.void)))

  it("fail where the default cluster has not the kind, until it has it", async () => {
    await run(own.create(branchDatabases, order("early", namespace), operatorNamespace))
    const failed = await phaseIs("early", "Failed")
    expect(at(failed, "status", "error")).toContain(
      "The default cluster a has no branchdatabases.dbs.mirrord.metalbear.co"
    )
    const [, member] = use()
    await member.apply(await readFile(definition, "utf8"))
    await untilTrue("branches are served", () => run(Effect.isSuccess(atDefault.list(branchDatabases))))
    await untilTrue("it is gone", async () => (await origin("early")) === undefined)
  })

  it("are offered as the default cluster's operator has told, until then as the primary's values say", async () => {
    const offered = () => (capability.features?.() ?? []).toSorted()
    expect(offered()).toContain("PgBranching")
    const [, member] = use()
    await member.apply(JSON.stringify(operatorDefinition))
    await until("the description is taken", async () => {
      const taken = await Promise.allSettled([member.apply(description("MySqlBranching", "DbBranchProfiles", "Other"))])
      return taken[0]?.status === "fulfilled" ? true : undefined
    })
    await untilTrue("they are told", async () => offered().join() === "DbBranchProfiles,MySqlBranching")
  })

  it("have the whole spec in the default cluster, and its whole status at the primary", async () => {
    await run(own.create(branchDatabases, order("whole", namespace, { ttlSecs: 2 ** 62 }), operatorNamespace))
    const made = await until("the copy", () => copy("whole"))
    expect(made["spec"]).toMatchObject({
      id: "whole",
      ttlSecs: Number.MAX_SAFE_INTEGER,
      later: { list: [null, 1] },
      postgresOptions: { copy: { mode: "all" } }
    })
    expect(made.metadata.labels).toMatchObject({ "mirrord-branch-id": "whole" })
    await say("whole", ready)
    const { metadata } = made
    const known = { ...ready, copy: { cluster: "a", namespace, uid: metadata.uid } }
    expect((await phaseIs("whole", "Ready"))["status"]).toEqual(known)
    await say("whole", { sessionInfo: { "1": null } })
    await untilTrue(
      "the session is gone",
      async () => at(await origin("whole"), "status", "sessionInfo", "1") === undefined
    )
  })

  it("run migrations of a later generation, and count by the primary's generations", async () => {
    await run(own.create(branchDatabases, order("migrated", namespace), operatorNamespace))
    await until("the copy", () => copy("migrated"))
    // A hand that edits the copy, so that the generations differ.
    await run(atDefault.mergePatch(branchDatabases, "migrated", { spec: { ttlSecs: 7 } }, { namespace }))
    await untilTrue("it is undone", async () => at(await copy("migrated"), "spec", "ttlSecs") === 300)
    const spec = { migrations: { flavor: "flyway", archive: "1" } }
    await run(own.mergePatch(branchDatabases, "migrated", { spec }, { namespace: operatorNamespace }))
    const patched = await until("the migrations", async () => {
      const found = await copy("migrated")
      return at(found, "spec", "migrations") === undefined ? undefined : found
    })
    const { generation } = patched.metadata
    await say("migrated", { ...ready, migrations: { observedGeneration: generation, phase: "Succeeded" } })
    const told = await until("their end", async () => {
      const found = await origin("migrated")
      return at(found, "status", "migrations") === undefined ? undefined : found
    })
    expect([generation, told.metadata.generation]).toEqual([4, 2])
    expect(at(told, "status", "migrations")).toEqual({ observedGeneration: 2, phase: "Succeeded" })
  })

  it("end together, whichever is deleted", async () => {
    for (const name of ["stopped", "expired"])
      await run(own.create(branchDatabases, order(name, namespace), operatorNamespace))
    for (const name of ["stopped", "expired"]) {
      await until("the copy", () => copy(name))
      await say(name, ready)
      await phaseIs(name, "Ready")
    }
    await run(own.delete(branchDatabases, "stopped", { namespace: operatorNamespace }))
    await run(atDefault.delete(branchDatabases, "expired", { namespace }))
    await untilTrue("the copy is gone", async () => (await copy("stopped")) === undefined)
    await untilTrue("the origin is gone", async () => (await origin("expired")) === undefined)
  })

  it("fail where the namespace is missing, with its name", async () => {
    await run(own.create(branchDatabases, order("nowhere", "no-such"), operatorNamespace))
    const failed = await phaseIs("nowhere", "Failed")
    expect(at(failed, "status", "error")).toBe(
      'The default cluster a does not take the branch no-such/nowhere: namespaces "no-such" not found.'
    )
  })
}
