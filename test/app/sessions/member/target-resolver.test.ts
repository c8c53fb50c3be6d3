/** Targets that cannot be one: the sentence for their user, and the code of the answer. */

import { Effect } from "effect"
import { describe, expect } from "vitest"
import { resolveTarget } from "../../../../src/app/sessions/member/target-resolver.ts"
import { deployments, jobs, rollouts, services } from "../../../../src/domain/resources/core-kinds.ts"
import { explainFailure } from "../../../../src/domain/resources/session-failure.ts"
import { failureStatus } from "../../../../src/domain/sessions/failure-status.ts"
import { it } from "../../../support/effect-it.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

const reference = (kind: string, apiVersion = "apps/v1") => ({ workloadRef: { apiVersion, kind, name: "gone" } })

describe("a target that cannot be one", () => {
  it.effect.each([
    [
      "Service",
      services,
      {},
      400,
      "service/x cannot be a target: its field spec.selector is missing or empty; name the workload behind it"
    ],
    ["Service", services, { type: "ExternalName" }, 400, "; name the workload behind it; then run the command again."],
    [
      "Deployment",
      deployments,
      { selector: { matchExpressions: [{ key: "app", operator: "Exists" }] } },
      400,
      "its field spec.selector.matchLabels is missing or empty; name one of its pods"
    ],
    [
      "Rollout",
      rollouts,
      reference("Deployment"),
      404,
      "rollout/x refers to deployment/gone (spec.workloadRef), and there is no deployment/gone in namespace shop"
    ],
    ["Rollout", rollouts, reference("ReplicaSet"), 404, "there is no replicaset/gone in namespace shop"],
    [
      "Rollout",
      rollouts,
      reference("PodTemplate", "v1"),
      400,
      "refers to a workload of unknown kind v1 PodTemplate; name one of its pods"
    ],
    ["Rollout", rollouts, { ...reference("Deployment"), template: {} }, 400, "take one of them out"],
    ["Job", jobs, {}, 400, "set feature.copy_target"]
  ] as const)("such as a %s is the user's to put right", function* ([kind, resource, spec, code, sentence]) {
    const api = new MemoryKubeApi("c")
    api.write(resource, "x", { spec }, "shop")
    const { group, version } = resource
    const target = { apiVersion: group === "" ? version : `${group}/${version}`, kind, name: "x", container: "" }
    const failure = yield* Effect.flip(resolveTarget(api, { spec: { namespace: "shop", target } }))
    const status = failureStatus({ ...failure, message: explainFailure("cluster-a", failure) })
    expect([status.code, status.message]).toEqual([code, expect.stringContaining(sentence)])
    expect(status.message).not.toContain("operator's log")
  })
})
