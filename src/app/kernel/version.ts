/**
 * The version of this release, read from package.json. The version that clients see is made in operator/describe.ts.
 */

import packageJson from "../../../package.json" with { type: "json" }

export const version: string = packageJson.version
