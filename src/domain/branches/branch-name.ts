/**
 * Name of a branch's pod, which its Secret shares. It is unique per UID of the resource: the pod of a deleted namesake
 * may still exist.
 */

import { withoutEnd } from "../clean-text.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"

const maxPart = 200
const uidPart = 8

export const branchPodName = ({ name, uid = "" }: ObjectMeta): string =>
  `${withoutEnd(name.slice(0, maxPart), "-.")}-${uid.replaceAll("-", "").slice(-uidPart)}`
