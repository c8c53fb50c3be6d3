import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeAdmitPrimary } from "../../../../src/app/sessions/member/primary-lease.ts"
import { identityNamespace } from "../../../../src/domain/fleet/cluster-identity.ts"
import { leases, namespaces } from "../../../../src/domain/resources/core-kinds.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { childAnnotations } from "../../../../src/domain/sessions/names.ts"
import { primaryLeaseName } from "../../../../src/domain/sessions/primary-claim.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { operatorNamespace as namespace } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"
import { day0, pass, SessionFleet } from "../session-fleet.ts"

const spec = {
  namespace: "default",
  owner: { userId: "u", username: "d", hostname: "h", k8sUsername: "k" },
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" },
  multiClusterParentName: "mc-00000000000000ff"
}
const annotations = (primary: string | undefined) =>
  primary === undefined ? {} : { [childAnnotations.primaryUid]: primary }
const childOf = (primary: string | undefined): MirrordClusterSession => ({
  metadata: { name: "child", annotations: annotations(primary) },
  spec
})
const holderOf = (api: MemoryKubeApi) => api.peek(leases, primaryLeaseName, namespace)?.["spec"]
const refused = { reason: "OtherPrimary", message: expect.stringMatching(/serves the primary one, and not two/) }

describe("the primary of a member", () => {
  it.effect("is the first one, over a restart, until the Lease is deleted", function* () {
    const api = new MemoryKubeApi("member")
    const admit = makeAdmitPrimary({ api, namespace, mustTell: false })
    expect(yield* admit(childOf("one"))).toBeUndefined()
    expect(holderOf(api)).toEqual({ holderIdentity: "one" })
    expect(yield* admit(childOf("two"))).toEqual(refused)
    const later = makeAdmitPrimary({ api, namespace, mustTell: false })
    expect([yield* later(childOf("one")), yield* later(childOf("two"))]).toEqual([undefined, refused])
    api.erase(leases, primaryLeaseName, namespace)
    expect(yield* admit(childOf("two"))).toBeUndefined()
    expect(holderOf(api)).toEqual({ holderIdentity: "two" })
  })

  it.effect("is one of two that come at once", function* () {
    const api = new MemoryKubeApi("member")
    const admit = makeAdmitPrimary({ api, namespace, mustTell: false })
    api.before = ({ verb }) =>
      Effect.sync(() => {
        if (verb !== "create" || holderOf(api) !== undefined) return
        api.write(leases, primaryLeaseName, { spec: { holderIdentity: "one" } }, namespace)
      })
    expect(yield* admit(childOf("two"))).toEqual(refused)
  })

  it.effect("may be any that sends no UID, unless it must; its own cluster is everybody's", function* () {
    const api = new MemoryKubeApi("member")
    api.write(leases, primaryLeaseName, { spec: { holderIdentity: "one" } }, namespace)
    api.write(namespaces, identityNamespace, {})
    api.write(namespaces, identityNamespace, { metadata: { uid: "own" } })
    const admit = makeAdmitPrimary({ api, namespace, mustTell: false })
    expect([yield* admit(childOf(undefined)), yield* admit(childOf("own"))]).toEqual([undefined, undefined])
    const strict = makeAdmitPrimary({ api, namespace, mustTell: true })
    expect(yield* strict(childOf(undefined))).toMatchObject({ reason: "OtherPrimary" })
    expect(yield* strict(childOf("one"))).toBeUndefined()
  })

  it.effect("is not known from a Lease that names nobody, which is told with its cure", function* () {
    const api = new MemoryKubeApi("member")
    const admit = makeAdmitPrimary({ api, namespace, mustTell: false })
    for (const spec of [{}, { holderIdentity: "" }, { holderIdentity: null }]) {
      api.erase(leases, primaryLeaseName, namespace)
      api.write(leases, primaryLeaseName, { spec }, namespace)
      const message = expect.stringMatching(/^the Lease mirrord-operator-primary .* names no primary .*delete lease/)
      expect(yield* admit(childOf("one"))).toEqual({ reason: "OtherPrimary", message })
    }
  })

  it.effect("is none whose UID is no UID", function* () {
    const api = new MemoryKubeApi("member")
    const admit = makeAdmitPrimary({ api, namespace, mustTell: false })
    for (const uid of ["", " one", "a\nb", "x".repeat(65)]) {
      const failure = yield* admit(childOf(uid))
      expect(failure).toMatchObject({ message: expect.stringMatching(/primary-uid is ".*must be the UID/su) })
      expect(failure?.message.length).toBeLessThan(500)
    }
    expect(holderOf(api)).toBeUndefined()
  })

  it.effect("is any where the Lease may not be read", function* () {
    const api = new MemoryKubeApi("member")
    const error = new KubeError({ cluster: "member", operation: "get", reason: "Forbidden", detail: "no" })
    api.before = ({ plural }) => (plural === leases.plural ? Effect.fail(error) : Effect.void)
    const admit = makeAdmitPrimary({ api, namespace, mustTell: false })
    expect(yield* admit(childOf("two"))).toBeUndefined()
  })
})

describe("a child of a second primary", () => {
  it.effect("gets a condition and no agent, and is looked at again until the cluster is free", function* () {
    yield* TestClock.setTime(day0)
    const fleet = new SessionFleet(["cluster-a"])
    const api = fleet.member("cluster-a")
    yield* fleet.startMember("cluster-a")
    api.write(leases, primaryLeaseName, { spec: { holderIdentity: "one" } }, namespace)
    const metadata = { annotations: annotations("two") }
    api.write(mirrordClusterSessions, "child", { metadata, spec }, undefined, day0 + 1_000)
    yield* pass(5)
    const condition = () => {
      const status = api.peek(mirrordClusterSessions, "child")?.["status"]
      return (status as { readonly conditions: ReadonlyArray<object> }).conditions[0]
    }
    expect(condition()).toMatchObject({ status: "False", ...refused })
    expect(fleet.agentsOf("cluster-a").ensured).toEqual([])
    api.erase(leases, primaryLeaseName, namespace)
    yield* pass(20)
    expect(condition()).toMatchObject({ status: "True" })
    expect(holderOf(api)).toEqual({ holderIdentity: "two" })
  })
})
