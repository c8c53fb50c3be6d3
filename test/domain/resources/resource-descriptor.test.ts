/** How objects of an API server are read: every kind, unknown fields and null, and what is said of garbage. */

import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { customResources } from "../../../src/domain/resources/custom-resource-definitions.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { apiVersionOf, readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { publishedKinds, withField } from "../../compat/samples.ts"

const owner = { userId: "u", username: "n", hostname: "h", k8sUsername: "k" }

describe("readResource", () => {
  const session = {
    apiVersion: "mirrord.metalbear.co/v1alpha",
    kind: "MirrordClusterSession",
    metadata: { name: "x", managedFields: [] },
    spec: { namespace: "d", owner: { ...owner, more: 1 }, target: null, future: {} },
    status: null
  }

  it("lets unknown fields through and null where it is legal", () => {
    expect(Result.isSuccess(readResource(mirrordClusterSessions, session))).toBe(true)
    expect(apiVersionOf(mirrordClusterSessions)).toBe("mirrord.metalbear.co/v1alpha")
    expect(apiVersionOf({ group: "", version: "v1" })).toBe("v1")
  })

  it("reads what the API server stores of every kind, and keeps what is open in the published schemas", () => {
    const unreadable = customResources.flatMap((resource, index) =>
      (publishedKinds[index]?.valid ?? []).flatMap(({ dropped, name, ...sample }) => {
        const object = dropped.reduce<unknown>((part, path) => withField(part, path), {
          ...sample,
          metadata: { name: "x" }
        })
        const result = readResource(resource, object)
        return Result.isFailure(result) ? [`${resource.plural}, ${name}: ${result.failure.message}`] : []
      })
    )
    expect(unreadable).toEqual([])
    const spec = publishedKinds.find(({ plural }) => plural === "branchdatabases")?.valid[0]?.spec
    const read = Result.getOrThrow(readResource(branchDatabases, { metadata: { name: "x" }, spec })).spec
    expect(read).toMatchObject({
      migrations: { flavor: "flyway", archive: "aGk=" },
      connectionSource: { params: { host: { env: { variable: "HOST" } } } },
      postgresOptions: { iamAuth: { type: "aws_rds", region: {} } }
    })
  })

  it("names every field of garbage at once and no value", () => {
    const result = readResource(mirrordMultiClusterSessions, {
      metadata: { name: 1 },
      spec: { owner, namespace: "d", target: "SECRET", clusters: ["a", 2], primaryCluster: "p" }
    })
    if (Result.isSuccess(result)) throw new Error("accepted")
    expect(result.failure.problems.map(({ path }) => path)).toEqual([
      "metadata.name",
      "spec.target",
      "spec.targetAlias",
      "spec.clusters[1]"
    ])
    expect(result.failure.message).not.toContain("SECRET")
    for (const garbage of [null, 1, "x", [], {}])
      expect(Result.isFailure(readResource(mirrordMultiClusterSessions, garbage))).toBe(true)
  })

  it("reads a MirrordOperator with camelCase inside connected_clusters and refuses a wrong deprecated feature", () => {
    const license = { name: "braid", organization: "o", expire_at: "2099-12-31", fingerprint: "f" }
    const spec = {
      operator_version: "3.250.0+braid.0.1.0",
      default_namespace: "default",
      license,
      supported_features: ["ProxyApi", "Unheard"]
    }
    const lastCheck = "2026-01-27T09:22:55.824115967+00:00"
    const clusters = [
      { name: "a", lastCheck, connected: { operatorVersion: "3.250.0" } },
      { name: "b", lastCheck, error: { message: "down" } }
    ]
    const read = (object: object) => readResource(mirrordOperators, { metadata: {}, ...object })
    expect(
      Result.getOrThrow(read({ spec, status: { sessions: [], connected_clusters: clusters } })).status
        ?.connected_clusters
    ).toEqual(clusters)
    expect(Result.isFailure(read({ spec: { ...spec, features: ["CopyTarget"] } }))).toBe(true)
    expect(Result.isFailure(read({ spec, status: {} }))).toBe(true)
    expect(
      Result.isFailure(
        read({
          spec,
          status: { sessions: [], connected_clusters: [{ name: "a", lastCheck, connected: { operator_version: "1" } }] }
        })
      )
    ).toBe(true)
  })
})
