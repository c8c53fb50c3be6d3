/** The objects of the Kubernetes benchmarks: sessions as they look in production. */

import { Effect } from "effect"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import type { KubeApi, KubeError } from "../../src/ports/kube-api.ts"

export const sessionRef = mirrordClusterSessions
const field = (index: number): string => index.toString(16).padStart(16, "0")
export const nameOf = (index: number): string => `mc-${field(index)}-cluster-a`

/** A session in the middle of its life: made by a primary, taken by a member's operator, Ready. */
const session = (index: number) => ({
  apiVersion: `${sessionRef.group}/${sessionRef.version}`,
  kind: "MirrordClusterSession",
  metadata: {
    name: nameOf(index),
    labels: { "operator.metalbear.co/session": field(index), "operator.metalbear.co/cluster": "cluster-a" },
    annotations: { "operator.metalbear.co/owner-pod": "mirrord-operator-7d9c8b6f5-x2x4z" },
    finalizers: ["operator.metalbear.co/session"]
  },
  spec: {
    namespace: `team-${index % 50}`,
    owner: {
      userId: `user-${index % 200}`,
      username: "ann",
      hostname: `laptop-${index % 200}`,
      k8sUsername: `ann-${index % 200}@example.com`
    },
    target: { apiVersion: "apps/v1", kind: "Deployment", name: `service-${index % 300}`, container: "main" },
    key: `key-${index}`,
    clientCliVersion: "3.250.0",
    multiClusterParentName: `mc-${field(index)}`
  }
})

const condition = (type: string) => ({
  type,
  status: "True",
  reason: "AsWanted",
  message: "every agent is there",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  observedGeneration: 1
})
const status = {
  connectedTimestamp: "2026-01-02T03:04:05Z",
  observedGeneration: 1,
  conditions: [condition("Ready"), condition("TargetFound"), condition("AgentsStarted")]
}

/** Makes so many sessions with their statuses; `made` is called after each. */
export const makeSessions = (api: KubeApi, count: number, made: () => void): Effect.Effect<void, KubeError> =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    (index) =>
      api
        .create(sessionRef, session(index))
        .pipe(
          Effect.andThen(api.mergePatch(sessionRef, nameOf(index), { status }, { subresource: "status" })),
          Effect.andThen(Effect.sync(made))
        ),
    { concurrency: 16, discard: true }
  )
