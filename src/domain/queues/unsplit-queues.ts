/**
 * The danger for a session of a cluster that does not split its queues.
 *
 * Not here: why the cluster does not (domain/sessions/parent-view.ts).
 */

import { quotation, quoted } from "../clean-text.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"
import { readWish } from "./split-wish.ts"

const danger = "where its pods read the same queue as those of other clusters, they take messages of this session"

const subject = (ids: ReadonlyArray<string>): string => {
  if (ids.includes("*")) return "Its queues are"
  const named = quotation(ids.map(quoted).join(", "))
  return ids.length === 1 ? `The queue ${named} is` : `The queues ${named} are`
}

/** A sentence with the ids that the session asks for; `undefined` if it splits no queues. `metadata`: of its parent. */
export const unsplitQueues = (metadata: Pick<ObjectMeta, "annotations">): string | undefined => {
  const wish = readWish(metadata)
  if (wish === undefined) return undefined
  return `${subject([...wish.filters.keys()])} not split there: ${danger}`
}
