/**
 * The hash by which names are made from texts, for the domain, which may not import node:crypto. Not for secrets.
 */

import { createHash } from "node:crypto"

/** Lower-case hex of the SHA-256 of a text's UTF-8 bytes. */
export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex")
