import type { Verb } from "./verb.ts"
import { cluster } from "./verbs/cluster.ts"
import { session } from "./verbs/session.ts"
import { steal } from "./verbs/steal.ts"
import { tick } from "./verbs/tick.ts"

/** The language of stories: every verb, in the order of the docs. */
export const verbs: ReadonlyArray<Verb> = [cluster, session, steal, tick]
