import type { Answer, ClusterFacts } from "../../../../src/domain/commands/doctor/cluster-facts.ts"
import { memberRights, noParts, ownRights } from "../../../../src/domain/commands/doctor/needed-rights.ts"

export const now = Date.UTC(2026, 10, 22)
export const day = 86_400_000

export const answered = <T>(value: T): Answer<T> => ({ _tag: "Answered", value })
export const refused = (code: number, detail = "no"): Answer<never> => ({ _tag: "Refused", code, detail })

/** A member of which nothing bad can be said. */
export const wellMember: ClusterFacts = {
  name: "cluster-a",
  part: "member",
  isDefault: true,
  role: { _tag: "Single" },
  namespace: "mirrord",
  server: "https://a.example.com:6443",
  now,
  problems: [],
  connection: {
    _tag: "Connected",
    certificate: {
      subject: "CN=kube-apiserver",
      issuer: "CN=kubernetes",
      validity: { from: now - day, until: now + 365 * day }
    },
    distrust: undefined,
    hasOwnAuthority: true,
    unchecked: false
  },
  credentials: {
    _tag: "Token",
    from: "Secret mirrord/mirrord-cluster-cluster-a",
    claims: {
      subject: "system:serviceaccount:mirrord:mirrord-operator-envoy",
      validity: { from: now, until: now + day }
    },
    renewed: false
  },
  version: answered("v1.36.3"),
  clock: { server: now, before: now, after: now + 20 },
  user: answered("system:serviceaccount:mirrord:mirrord-operator-envoy"),
  rightsOf: undefined,
  rights: memberRights([]).flatMap((right) => right.verbs.map((verb) => ({ right, verb, allowed: true }))),
  kinds: [
    {
      group: "mirrord.metalbear.co",
      version: "v1alpha",
      plural: "mirrordclustersessions",
      need: "required",
      served: answered(["v1alpha"])
    }
  ],
  operator: answered({ version: "3.250.0+braid.0.1.0", protocolVersion: "1.29.0", features: [] })
}

/** The primary's own cluster, likewise. */
export const wellPrimary: ClusterFacts = {
  ...wellMember,
  name: "primary",
  part: "own",
  isDefault: false,
  role: { _tag: "Primary", managementOnly: true, isDefault: false },
  rights: ownRights({ _tag: "Primary", managementOnly: true, isDefault: false }, noParts).flatMap((right) =>
    right.verbs.map((verb) => ({ right, verb, allowed: true }))
  ),
  operator: answered({ version: "3.250.0+braid.0.1.0", protocolVersion: "1.29.0", features: ["MultiClusterPrimary"] })
}
