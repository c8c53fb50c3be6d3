/**
 * Masks for the frames that this process sends as a client: unpredictable, as RFC 6455 §10.3 demands.
 */

import { randomFillSync } from "node:crypto"

/** Keys that are drawn at once: a call for each frame would cost more than the frame. */
const keys = new Int32Array(1024)
let used = keys.length

/** The next key, its first byte lowest. */
export const nextMaskKey = (): number => {
  if (used === keys.length) {
    randomFillSync(keys)
    used = 0
  }
  return keys[used++] ?? 0
}
