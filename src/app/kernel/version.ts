import packageJson from "../../../package.json" with { type: "json" }

/** Our own release. */
export const version: string = packageJson.version
