import { createHash } from "node:crypto"
import { isCi, testedCommit } from "./tested-commit.ts"

/**
 * Seed of all properties: `BRAID_TEST_SEED` if that is set, and with `CI=true` one that follows from the commit, so
 * that a commit that is tested again sees the same cases. Otherwise `undefined`: fast-check draws another one each
 * time, and says it when a property fails.
 */
export const propertySeed = (): number | undefined => {
  const given = process.env["BRAID_TEST_SEED"]
  if (given !== undefined && given !== "") {
    const seed = Number(given)
    // fast-check takes 32 bits.
    if (!Number.isInteger(seed) || seed !== (seed | 0))
      throw new Error(`BRAID_TEST_SEED: ${given} found, a whole number of 32 bits wanted, for example 7`)
    return seed
  }
  return isCi ? createHash("sha256").update(testedCommit()).digest().readInt32BE() : undefined
}
