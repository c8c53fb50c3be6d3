/** Reads the error that mirrord's own client shows. */

import type { RunningCommand } from "./harness.ts"

/** The client's error without its frame and line breaks. */
export const refusalText = (command: RunningCommand): string =>
  command
    .stderr()
    .replace(/\n\s*│ ?/g, " ")
    .replace(/\s+/g, " ")
    // A long word is broken at its hyphens and slashes.
    .replace(/([-/]) (?=[a-z0-9])/g, "$1")

/** The code of the Status that the client shows. */
export const statusCode = (text: string): number | undefined => {
  const found = /Status \{[^}]*?code: (\d+)/.exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}
