/**
 * The rights of developers on kinds that are there for clients, and in which the operator does no more than to say so:
 * previews, and splits of queues.
 */

import type { Right, RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "./operator-api.ts"

const noPreviews = "`mirrord preview` fails before it says why there are none"
const previews = { scope: "target-namespace", when: ["previews"], without: noPreviews } as const

const developer: ReadonlyArray<Right> = [
  {
    scope: "target-namespace",
    group: operatorGroup,
    resource: "queuesplits",
    verbs: ["get", "list"],
    without: "`mirrord queues status` fails"
  },
  { ...previews, group: operatorGroup, resource: "previews", verbs: ["get"] },
  { ...previews, group: operatorGroup, resource: "previewsecretmounts", verbs: ["create"] },
  {
    ...previews,
    group: "preview.mirrord.metalbear.co",
    resource: "previewsessions",
    verbs: ["create", "delete", "get", "list", "watch"]
  }
]

export const clientKindRights: RightCard = { developer }
