/**
 * Name of a branch's pod, which its Secret shares. Each resource has its own, also where it has the name of an earlier
 * resource: its pod may still be there.
 */

import { withoutEnd } from "../clean-text.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"

const maxPart = 200
const uidPart = 8

export const branchPodName = ({ name, uid = "" }: ObjectMeta): string =>
  `${withoutEnd(name.slice(0, maxPart), "-.")}-${uid.replaceAll("-", "").slice(-uidPart)}`
