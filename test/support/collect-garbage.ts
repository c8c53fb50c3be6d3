import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")

/** Collects all garbage, so that what is left is kept by somebody. */
export const collectGarbage = runInNewContext("gc") as () => void
