import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { makeConfigurationSource } from "../../../src/app/fleet/configuration-source.ts"
import { kubeconfigSecrets } from "../../../src/app/fleet/kubeconfig-secrets.ts"
import { makeProvidedSource } from "../../../src/app/fleet/provided-source.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { parseFleetConfiguration } from "../../../src/domain/fleet/parse-configuration.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { ChangingFiles, documentsOf } from "../../support/changing-files.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { operatorNamespace } from "../../support/fleet.ts"
import { writeKubeconfig } from "../../support/kubeconfig.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { connectTo, opened, startWorld } from "../../support/memory-session.ts"

/** A client of a primary that is configured with these clusters, and finds others by these kubeconfigs. */
const start = Effect.fnUntraced(function* (configured: ReadonlyArray<string>, found: ReadonlyArray<string>) {
  const documents = { ...documentsOf(configured, { defaultCluster: "a" }), findsClusters: true }
  const fleet = Result.getOrThrow(parseFleetConfiguration(documents, sha256Hex))
  const kubeconfigs = new MemoryKubeApi("primary")
  for (const name of found) writeKubeconfig(kubeconfigs, name)
  const files = yield* makeConfigurationSource(new ChangingFiles(documents), fleet)
  const configuration = yield* makeProvidedSource(files, [yield* kubeconfigSecrets(kubeconfigs, operatorNamespace)])
  const { certificate, world } = yield* startWorld(fleet, { configuration })
  const { api } = world.primary
  opened(yield* connectTo(world.primary, request(certificate)))
  yield* pass("1 second")
  const ready = () => {
    const session = at(api.peek(mirrordMultiClusterSessions, "mc-00000000000000ff"), "status", "clusterSessions")
    const entries = Object.entries(session as Readonly<Record<string, { readonly ready: boolean; error?: string }>>)
    return Object.fromEntries(entries.map(([name, { error, ready: isReady }]) => [name, error ?? isReady]))
  }
  const told = () =>
    api
      .peekAll(events)
      .filter((event) => at(event, "involvedObject", "kind") === "MirrordOperator")
      .map((event) => `${String(event["reason"])}: ${String(event["message"])}`)
  const condition = Effect.map(world.primary.operator?.describe ?? Effect.succeed({}), (operator) =>
    asObjects(at(operator, "status", "conditions")).find(({ type }) => type === "FoundClustersInUse")
  )
  return { condition, kubeconfigs, ready, told }
})

const clash =
  "Cluster b of Secret mirrord/b is not used: its name collides with that of cluster b of the configuration; rename " +
  "one of the two."

describe("a primary that finds clusters by their kubeconfigs", () => {
  it.effect("serves a session in a found default, takes a found cluster in and goes on without it", function* () {
    const { kubeconfigs, ready, told } = yield* start([], ["a"])
    assert.deepStrictEqual(ready(), { a: true })
    writeKubeconfig(kubeconfigs, "b")
    yield* pass("20 seconds")
    assert.deepStrictEqual(ready(), { a: true, b: true })
    assert.deepStrictEqual(told(), ["FleetChanged: The fleet has changed by its configuration; new: b."])
    kubeconfigs.erase(secrets, "b", operatorNamespace)
    yield* pass("20 seconds")
    assert.deepStrictEqual(ready(), { a: true, b: "it is no longer configured" })
    assert.deepStrictEqual(told(), ["FleetChanged: The fleet has changed by its configuration; gone: b."])
  })

  it.effect(
    "keeps the configured cluster where a found one has its name, and says so until that is gone",
    function* () {
      const { condition, kubeconfigs, ready, told } = yield* start(["a", "b"], ["b"])
      yield* pass("5 seconds")
      assert.deepStrictEqual(ready(), { a: true, b: true })
      assert.deepStrictEqual(told(), [`ClusterRefused: ${clash}`])
      assert.deepInclude(yield* condition, { status: "False", reason: "NotUsed", message: clash })
      kubeconfigs.erase(secrets, "b", operatorNamespace)
      yield* pass("5 seconds")
      assert.deepInclude(yield* condition, { status: "True", reason: "InUse" })
    }
  )
})
