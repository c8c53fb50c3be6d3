import { fileURLToPath } from "node:url"

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The release before this one; README.md says how its files were made. */
export const previousRelease = {
  version: "0.1.0",
  chart: file("mirrord-operator-0.1.0.tgz"),
  /** An archive, with the operator's program at {@link programInCli}. */
  cli: file("braid-cli-0.1.0.tgz")
}

/** Where the archive of a release's commands has the program. */
export const programInCli = "package/app/braid.mjs"
