/** The language of stories: the list of its verbs, which are in `verbs/` by what they are about. */

import type { Verb } from "./verb.ts"
import { apiServerVerbs } from "./verbs/api-servers.ts"
import { branchVerbs } from "./verbs/branches.ts"
import { courseVerbs } from "./verbs/course.ts"
import { fleetVerbs } from "./verbs/fleet.ts"
import { networkVerbs } from "./verbs/network.ts"
import { operatorVerbs } from "./verbs/operators.ts"
import { outboundVerbs } from "./verbs/outbound.ts"
import { planVerbs } from "./verbs/plan.ts"
import { programVerbs } from "./verbs/programs.ts"
import { sessionVerbs } from "./verbs/sessions.ts"
import { workloadVerbs } from "./verbs/workloads.ts"

/** Every verb, in the order of the docs; random stories draw their acts in this order too. */
export const verbs: ReadonlyArray<Verb> = [
  ...planVerbs,
  ...sessionVerbs,
  ...programVerbs,
  ...courseVerbs,
  ...networkVerbs,
  ...operatorVerbs,
  ...apiServerVerbs,
  ...workloadVerbs,
  ...branchVerbs,
  ...fleetVerbs,
  ...outboundVerbs
]
