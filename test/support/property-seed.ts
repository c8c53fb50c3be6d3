import seeds from "../seeds.json" with { type: "json" }

/** Seed of all properties: that of record (`test/seeds.json`), or `BRAID_TEST_SEED` if that is set. */
export const propertySeed = (): number => {
  const given = process.env["BRAID_TEST_SEED"]
  if (given === undefined || given === "") return seeds.properties
  const seed = Number(given)
  // fast-check takes 32 bits.
  if (!Number.isInteger(seed) || seed !== (seed | 0))
    throw new Error(`BRAID_TEST_SEED: ${given} found, a whole number of 32 bits wanted, for example 7`)
  return seed
}
