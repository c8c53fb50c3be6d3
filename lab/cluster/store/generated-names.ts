/**
 * Names for `generateName` and uids, from a source of uniform numbers in [0, 1): a seed repeats them. Whether a name is
 * allowed is decided in `checks/object-metadata.ts`.
 */

// No vowels and no look-alikes, as in k8s.io/apimachinery `util/rand`.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
const maxGeneratedBase = 58

const pick = (alphabet: string, random: () => number): string => alphabet.charAt(Math.floor(random() * alphabet.length))

export const generatedName = (base: string, random: () => number): string =>
  base.slice(0, maxGeneratedBase) + Array.from({ length: 5 }, () => pick(suffixAlphabet, random)).join("")

/** A version 4 UUID from a source of uniform numbers. */
export const randomUid = (random: () => number): string => {
  const hex = Array.from({ length: 32 }, () => pick("0123456789abcdef", random))
  hex[12] = "4"
  hex[16] = pick("89ab", random)
  const text = hex.join("")
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-")
}
