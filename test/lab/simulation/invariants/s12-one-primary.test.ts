import { expect, it } from "vitest"
import { onePrimary } from "../../../../lab/simulation/invariants/s12-one-primary.ts"
import { identityNamespace } from "../../../../src/domain/fleet/cluster-identity.ts"
import { leases, namespaces } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions, readyCondition } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { childAnnotations } from "../../../../src/domain/sessions/names.ts"
import { primaryLeaseName } from "../../../../src/domain/sessions/primary-claim.ts"
import { childObject, committed, find, parent } from "./fixture.ts"

const held = (holderIdentity: string) =>
  committed("b", leases, { metadata: { name: primaryLeaseName }, spec: { holderIdentity } })
const freed = committed("b", leases, undefined, { metadata: { name: primaryLeaseName } })
const own = (uid: string) => committed("b", namespaces, { metadata: { name: identityNamespace, uid } })

const becomesReady = () => {
  const child = childObject(`${parent}-b`)
  const { annotations } = child.metadata
  const before = {
    ...child,
    metadata: { ...child.metadata, annotations: { ...annotations, [childAnnotations.primaryUid]: "p" } }
  }
  const condition = { type: readyCondition, status: "True", reason: "AgentUsable", message: "" }
  return committed("b", mirrordClusterSessions, { ...before, status: { conditions: [condition] } }, before)
}

it("S12 finds a ready child of another primary than the cluster serves", () => {
  expect(find(onePrimary, [held("q"), becomesReady()])).toBe(
    `${parent}-b of the primary p is ready in b, which serves q.`
  )
})

it("S12 holds for the primary that the cluster serves, for its own primary, and for a free cluster", () => {
  expect(find(onePrimary, [becomesReady(), held("p"), becomesReady()])).toBeUndefined()
  expect(find(onePrimary, [held("q"), own("p"), becomesReady()])).toBeUndefined()
  expect(find(onePrimary, [held("q"), freed, becomesReady()])).toBeUndefined()
})
