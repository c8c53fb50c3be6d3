// @ts-check
/**
 * Decides what an image is made of once Debian has removed a pinned package, as each point release does. Writes no
 * file; make-image.mjs does.
 */

/**
 * @import {
 *   Architecture,
 *   Pinned
 * } from "./debian-base.mjs"
 * @typedef {{ readonly node: string | undefined; readonly debian: ReadonlyArray<Pinned> | undefined }} Pin `undefined`:
 *   the newest
 *
 * @typedef {Partial<Record<Architecture, Pin>>} Pins
 */

/** The packages that apt does not have in the version that was asked for. @param {unknown} error */
const removedPackages = (error) => {
  const message = error instanceof Error ? error.message : String(error)
  return [...message.matchAll(/^E: Version '(.*)' for '(.*)' was not found$/gmu)].map(
    ([, version, name]) => `${name} ${version}`
  )
}

/**
 * Makes something of the pins. Where Debian has removed a pinned package, it is made again of Debian's newest packages;
 * Node stays pinned, since npm removes no version.
 *
 * @template T
 * @param {(pins: Pins) => Promise<T>} make
 * @param {Pins} pins
 * @param {boolean} isStrict whether it may be made of the pins alone, as a release is
 * @returns {Promise<{ readonly made: T; readonly removed: ReadonlyArray<string> }>} `removed`: the packages for which
 *   others were taken, by name and version; none where the pins were used
 */
export const makeOfPins = async (make, pins, isStrict) => {
  try {
    return { made: await make(pins), removed: [] }
  } catch (error) {
    const removed = removedPackages(error)
    if (removed.length === 0) throw error
    if (isStrict)
      throw new Error(
        `Debian has removed ${removed.join(", ")}, and a release is made of pinned packages alone; run ` +
          "`npm run image -- --update`, and commit the file with the versions",
        { cause: error }
      )
    const newest = Object.entries(pins).map(([name, { node }]) => [name, { node, debian: undefined }])
    return { made: await make(Object.fromEntries(newest)), removed }
  }
}
