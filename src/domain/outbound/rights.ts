/**
 * The rights for tunnels, beside that of making Secrets. A primary keeps its authority, the hashes of tokens and the
 * keys of members in Secrets; a member keeps its certificate, and acts as the account that a primary has in other
 * members, or as people of listed groups, never with the operator's rights.
 */

import type { RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"
import { outboundSettings } from "./settings.ts"

const forPeople = {
  scope: "cluster",
  verbs: ["impersonate"],
  when: ["people"],
  without: "requests of people through the primary are refused by this cluster's API server"
} as const

export const outboundRights: RightCard = {
  operator: [
    {
      // Members that `braid join` adds are not among the chart's values, so no name can be given.
      scope: "operator-namespace",
      group: "",
      resource: "secrets",
      verbs: ["get", "patch"],
      when: ["primary"],
      whileOn: outboundSettings.takesTunnels,
      without: "no member that dials out can join"
    },
    {
      scope: "cluster",
      group: operatorGroup,
      resource: "mirrordclusters",
      verbs: ["get"],
      when: ["primary"],
      whileOn: outboundSettings.takesTunnels,
      without: "`helm test` fails, as `braid doctor` sees members that dial out through these objects alone"
    },
    {
      scope: "operator-namespace",
      group: "",
      resource: "secrets",
      name: "mirrord-outbound-identity",
      verbs: ["get", "patch"],
      whileOn: outboundSettings.dialsOut,
      without: "the certificate for the tunnel is lost with the process, and the token works once"
    },
    {
      scope: "operator-namespace",
      group: "",
      resource: "serviceaccounts",
      name: "mirrord-operator-envoy",
      verbs: ["impersonate"],
      whileOn: outboundSettings.dialsOut,
      without: "the primary's requests are refused by this cluster's API server"
    },
    // No right on users can be bounded by a prefix; their names give nothing that is not bound to them.
    { ...forPeople, group: "", resource: "users" },
    { ...forPeople, group: "", resource: "groups", name: "<people-group>" },
    { ...forPeople, group: "authentication.k8s.io", resource: "uids" },
    { ...forPeople, group: "authentication.k8s.io", resource: "userextras/<extra-key>" }
  ]
}
