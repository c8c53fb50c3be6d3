/** The rights for tokens that a primary renews: the member makes the next one, and the primary's cluster keeps it. */

import type { RightCard } from "../../catalogue/right.ts"

export const credentialRights: RightCard = {
  operator: [
    {
      // The Secret with the first token is the user's, or Helm's.
      scope: "operator-namespace",
      group: "",
      resource: "secrets",
      name: "mirrord-cluster-<cluster>-refreshed",
      verbs: ["patch"],
      when: ["renewsTokens"],
      without: "the last token that the operator got by itself is lost with the process"
    }
  ],
  member: [
    {
      scope: "operator-namespace",
      group: "",
      resource: "serviceaccounts/token",
      name: "mirrord-operator-envoy",
      verbs: ["create"],
      when: ["memberAccount"],
      without: "the primary's token is not renewed, and ends"
    }
  ]
}
