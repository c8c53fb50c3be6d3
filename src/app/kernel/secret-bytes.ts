/**
 * Where random bytes for passwords come from: the system's own source, which cannot be guessed. A simulated world
 * provides bytes that follow from its seed.
 *
 * Not here: chance that may be guessed, such as pauses, which is Effect's `Random`.
 */

import { randomBytes } from "node:crypto"
import { Context } from "effect"

/** Makes so many bytes. */
export const CurrentSecretBytes = Context.Reference<(count: number) => Uint8Array>("braid/app/CurrentSecretBytes", {
  defaultValue: () => randomBytes
})
