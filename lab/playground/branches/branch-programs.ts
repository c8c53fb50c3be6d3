/** Finds on this machine what the story of branches needs; nothing is installed or downloaded here. */

import { delimiter, join } from "node:path"
import { isProgram } from "../kubernetes/programs.ts"

/** Programs of this machine; undefined where it has none. */
export interface FoundPrograms {
  /** The folder of PostgreSQL's programs. */
  readonly postgresql: string | undefined
  /** mirrord's client. */
  readonly mirrord: string | undefined
}

/** mirrord's client: `MIRRORD_BIN`, or else the first on `PATH`. */
export const findMirrord = (env: Readonly<Record<string, string | undefined>>): string | undefined =>
  [env["MIRRORD_BIN"] ?? "", ...(env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "mirrord"))].find(
    isProgram
  )

/** The sentences that tell a person how to get what is missing; `undefined` if all is there. */
export const missingForBranches = ({ mirrord, postgresql }: FoundPrograms): string | undefined => {
  const sentences = [
    ...(postgresql === undefined
      ? ["PostgreSQL found neither in /usr/lib/postgresql nor in PATH: `npm run engines` provides it"]
      : []),
    ...(mirrord === undefined
      ? [
          "mirrord found neither as MIRRORD_BIN nor in PATH: get version 3.250.0 from " +
            "https://github.com/metalbear-co/mirrord/releases"
        ]
      : [])
  ]
  return sentences.length === 0 ? undefined : sentences.join("; ")
}
