import { describe, expect, it } from "vitest"
import { childAnnotations } from "../../../src/domain/sessions/names.ts"
import { judgeClaim, needsAdmission, type PrimaryClaim } from "../../../src/domain/sessions/primary-claim.ts"

const verdict = (change: Partial<PrimaryClaim>) =>
  judgeClaim({ primary: "p", own: "m", holder: undefined, mustTell: false, namespace: "mirrord", ...change })
const refusal = (change: Partial<PrimaryClaim>): string => {
  const found = verdict(change)
  return found._tag === "Refused" ? found.failure.message : found._tag
}

describe("the claim of a primary to a cluster", () => {
  it("is recorded where the cluster is free, and holds", () => {
    expect(verdict({})).toEqual({ _tag: "ToRecord", primary: "p" })
    expect(verdict({ holder: "p" })).toEqual({ _tag: "Admitted" })
  })

  it("is refused where another primary was first, with both and the command that gives the cluster up", () => {
    expect(refusal({ holder: "q" })).toBe(
      "this cluster serves the primary q, and not p (UIDs of their namespaces kube-system); " +
        "`kubectl delete lease mirrord-operator-primary -n mirrord` in it gives it to the next primary"
    )
  })

  it("is needless in the primary's own cluster, whoever holds it", () => {
    expect(verdict({ primary: "m" })).toEqual({ _tag: "Admitted" })
    expect(verdict({ primary: "m", holder: "q" })).toEqual({ _tag: "Admitted" })
  })

  it("is not asked of primaries that send none, unless they must", () => {
    expect(verdict({ primary: undefined, holder: "q" })).toEqual({ _tag: "Admitted" })
    expect(refusal({ primary: undefined, mustTell: true })).toMatch(/does not say which cluster it is/)
  })

  it("concerns children, and not users' own sessions", () => {
    const metadata = { name: "s", annotations: { [childAnnotations.primaryUid]: "p" } }
    const spec = { namespace: "default", owner: { username: "ann", hostname: "h", k8sUsername: "ann", userId: "1" } }
    const child = { ...spec, multiClusterParentName: "mc-1" }
    expect(needsAdmission({ metadata, spec }, true)).toBe(false)
    expect(needsAdmission({ metadata, spec: child }, false)).toBe(true)
    expect(needsAdmission({ metadata: { name: "s" }, spec: child }, false)).toBe(false)
    expect(needsAdmission({ metadata: { name: "s" }, spec: child }, true)).toBe(true)
  })
})
