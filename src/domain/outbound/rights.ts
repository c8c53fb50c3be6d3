/**
 * The rights for tunnels. A primary keeps its authority, the hashes of tokens and the keys of members in Secrets; a
 * member keeps its certificate, and acts as the account that a primary has in other members, never with the operator's
 * rights.
 */

import type { RightCard } from "../catalogue/right.ts"
import { outboundSettings } from "./settings.ts"

export const outboundRights: RightCard = {
  operator: [
    {
      // Tokens are named after their ids.
      scope: "operator-namespace",
      group: "",
      resource: "secrets",
      verbs: ["get", "create", "patch", "delete"],
      when: ["primary"],
      whileOn: outboundSettings.takesTunnels,
      without: "no member that dials out can join"
    },
    {
      // The right to create cannot be limited to a name.
      scope: "operator-namespace",
      group: "",
      resource: "secrets",
      verbs: ["get", "create", "patch"],
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
    }
  ]
}
