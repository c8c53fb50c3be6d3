// @ts-check
// Part of `npm run check`: chart, image and operator have one version.
import { readVersions } from "./release/version-places.mjs"

const { problems } = readVersions(new URL("..", import.meta.url))
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
