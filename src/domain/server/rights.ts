/**
 * The rights for the API that the operator serves: to be found and trusted by the API server, to know its users, and
 * for developers to ask it.
 */

import type { Right, RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"

const secrets = { scope: "operator-namespace", group: "", resource: "secrets" } as const

const noCertificates = "no user gets a certificate"
const notTrusted = "the API server does not trust the operator's certificate, and passes no request on"

const operator: ReadonlyArray<Right> = [
  { ...secrets, name: "mirrord-operator-user-authority", verbs: ["get"], without: noCertificates },
  { ...secrets, verbs: ["create"], without: noCertificates },
  {
    ...secrets,
    name: "mirrord-operator-serving",
    verbs: ["get", "patch"],
    when: ["ownCertificate"],
    without: notTrusted
  },
  {
    scope: "cluster",
    group: "apiregistration.k8s.io",
    resource: "apiservices",
    name: "v1.operator.metalbear.co",
    verbs: ["get", "patch"],
    when: ["ownCertificate"],
    without: notTrusted
  },
  {
    scope: "kube-system",
    group: "",
    resource: "configmaps",
    name: "extension-apiserver-authentication",
    verbs: ["list", "watch"],
    without: "every request is refused, since the API server's front proxy is not known"
  },
  {
    scope: "operator-namespace",
    group: "",
    resource: "configmaps",
    name: "mirrord-operator-users",
    verbs: ["get", "patch"],
    without: "users per day and month are counted since the operator began to lead"
  }
]

const noClient = "mirrord finds no operator"

const served = (resource: string, verbs: ReadonlyArray<string>, without: string): Right => ({
  scope: "cluster",
  group: operatorGroup,
  resource,
  verbs,
  without
})

const developer: ReadonlyArray<Right> = [
  served("mirrordoperators", ["get"], noClient),
  served("mirrordoperators", ["list"], "`kubectl get mirrordoperators` fails"),
  served("mirrordoperators/ping", ["get"], "mirrord does not measure its way to the operator"),
  served("mirrordoperators/certificate", ["create"], "older clients get no certificate, and no session"),
  served("mirrordclusteroperatorusercredentials", ["create"], "mirrord gets no certificate, and no session"),
  served("events", ["get", "list", "watch"], "`mirrord subscribe` fails")
]

export const serverRights: RightCard = { operator, developer }
