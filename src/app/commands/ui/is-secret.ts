/** Compares secrets of the page and of the API of `braid ui`, in the same time whatever a text is. */

import { createHash, timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"

const hash = (text: string): Buffer => createHash("sha256").update(text).digest()

export const isSecret = (secret: Redacted.Redacted, text: string | undefined): boolean =>
  timingSafeEqual(hash(Redacted.value(secret)), hash(text ?? ""))
