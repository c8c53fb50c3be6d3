// @ts-check
/**
 * The form and the order of versions, by Semantic Versioning 2.0.0. Knows no files.
 */

/** A version without build metadata, because it is an image's tag too, and a tag has no "+". */
const pattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-z-][\da-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][\da-z-]*))*))?$/iu

/** @param {string} text */
export const isVersion = (text) => pattern.test(text)

/** @param {string} text */
const parts = (text) => {
  const [, major = "", minor = "", patch = "", before] = pattern.exec(text) ?? []
  return { numbers: [major, minor, patch].map(BigInt), before: before?.split(".") }
}

/** @template T @param {T} a @param {T} b */
const order = (a, b) => Number(a > b) - Number(a < b)

/** Numbers come before words, and in their order. @param {string | undefined} a @param {string | undefined} b */
const compareIdentifiers = (a, b) => {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  const [aNumber, bNumber] = [/^\d+$/u.test(a), /^\d+$/u.test(b)]
  if (aNumber && bNumber) return order(BigInt(a), BigInt(b))
  return Number(bNumber) - Number(aNumber) || order(a, b)
}

/**
 * Negative: `a` comes first (semver.org §11). Both must be versions. @param {string} a @param {string} b @returns
 * {number}
 */
export const compareVersions = (a, b) => {
  const [left, right] = [parts(a), parts(b)]
  for (const [index, number] of left.numbers.entries()) {
    const result = order(number, right.numbers[index] ?? number)
    if (result !== 0) return result
  }
  const [before, after] = [left.before, right.before]
  if (before === undefined || after === undefined) return Number(before === undefined) - Number(after === undefined)
  for (let index = 0; index < Math.max(before.length, after.length); index++) {
    const result = compareIdentifiers(before[index], after[index])
    if (result !== 0) return result
  }
  return 0
}
