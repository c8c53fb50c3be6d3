/** A world and events by hand, for tests of single invariants. */

import type { Commit } from "../../../../lab/memory/memory-objects.ts"
import { hear, type Invariant } from "../../../../lab/simulation/invariants/invariant.ts"
import type { PortCall, TimedEvent, WorldEvent } from "../../../../lab/simulation/world/world-event.ts"
import { type WorldPlan, defaultPlan, World } from "../../../../lab/simulation/world/world.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { childAnnotations, parentFinalizer, parentName } from "../../../../src/domain/sessions/names.ts"
import type { SessionId } from "../../../../src/domain/sessions/session-id.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"

export const sessionId = 0xabcn
export const parent = parentName(sessionId as SessionId)
const parents = mirrordMultiClusterSessions.plural
export const children = mirrordClusterSessions.plural

/** Clusters a (default) and b, and a primary of its own. Time stands still unless a test lets it pass. */
export const makeWorld = (more: Partial<WorldPlan> = {}): World =>
  new World({
    ...defaultPlan,
    seed: "test",
    clusters: [
      { name: "a", pods: 1 },
      { name: "b", pods: 1 }
    ],
    defaultCluster: "a",
    ...more
  })

export const at = (ms: number, event: WorldEvent): TimedEvent => ({ ...event, at: ms })

/** The first violation that a checker finds in some events. */
export const find = (
  invariant: Invariant,
  events: ReadonlyArray<TimedEvent>,
  world: World = makeWorld()
): string | undefined => {
  const checker = invariant.begin(() => world)
  for (const event of events) {
    const found = hear(checker, event)
    if (found !== undefined) return found
  }
  return undefined
}

/** The violations that a checker finds at rest after some events. */
export const findAtRest = (
  invariant: Invariant,
  world: World,
  moment: "healed" | "left" = "healed",
  events: ReadonlyArray<TimedEvent> = []
): ReadonlyArray<string> => {
  const checker = invariant.begin(() => world)
  for (const event of events) hear(checker, event)
  return checker.atRest?.(moment) ?? []
}

let index = 0
export const called = (ms: number, call: Partial<PortCall>, process = "operator-primary-1"): TimedEvent =>
  at(ms, { _tag: "Called", process, call: portCall(call) })

const portCall = (call: Partial<PortCall>): PortCall => ({
  operator: "primary",
  index: index++,
  to: "primary",
  verb: "get",
  group: "operator.metalbear.co",
  resource: parents,
  namespace: undefined,
  name: parent,
  subresource: undefined,
  body: undefined,
  ...call
})

/** A call and its answer. */
export const asked = (
  ms: number,
  call: Partial<PortCall>,
  outcome: Extract<WorldEvent, { _tag: "Answered" }>["outcome"] = "ok"
): ReadonlyArray<TimedEvent> => {
  const full = portCall(call)
  return [
    at(ms, { _tag: "Called", process: `operator-${full.operator}-1`, call: full }),
    at(ms, { _tag: "Answered", call: full, outcome })
  ]
}

export const committed = (
  cluster: string,
  ref: Commit["ref"],
  after: KubeObject | undefined,
  before?: KubeObject,
  ms = 0
): TimedEvent => at(ms, { _tag: "Committed", cluster, commit: { version: 1, ref, before, after } })

export const parentObject = (status: object = {}, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  metadata: {
    name: parent,
    uid: "primary-uid-9",
    generation: 1,
    finalizers: [parentFinalizer],
    labels: { "operator.metalbear.co/owner": "mirrord-operator" },
    ...metadata
  },
  spec: { clusters: ["a", "b"], defaultCluster: "a", targetAlias: "deployment.myapp" },
  status
})

export const childObject = (name: string, parentUid = "primary-uid-9", parentOf: string = parent): KubeObject => ({
  metadata: {
    name,
    uid: "a-uid-77",
    generation: 1,
    annotations: { [childAnnotations.parentUid]: parentUid },
    labels: { "operator.metalbear.co/owner": "mirrord-operator" }
  },
  spec: { namespace: "default", multiClusterParentName: parentOf }
})

export const ready = (observedGeneration: number, status = "True"): object => ({
  type: "Ready",
  status,
  reason: "Ready",
  message: "",
  observedGeneration,
  lastTransitionTime: "2026-01-01T00:00:00Z"
})

export { mirrordClusterSessions, mirrordMultiClusterSessions }
