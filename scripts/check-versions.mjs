// @ts-check
/**
 * The part of `npm run check` that compares the versions of chart, image and operator. Changes nothing.
 */

import { readVersions } from "./release/version-places.mjs"

const { problems } = readVersions(new URL("..", import.meta.url))
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
