import { parseDocument } from "yaml"
import type { ConfigurationDocument, parseFleetConfiguration } from "../../src/domain/fleet/parse-configuration.ts"
import type { Rendered } from "./chart.ts"

const documentOf = (text: string | undefined): ConfigurationDocument => {
  if (text === undefined || text.trim() === "") return { _tag: "Absent" }
  const document = parseDocument(text)
  const [error] = document.errors
  return error === undefined ? { _tag: "Parsed", value: document.toJS() as unknown } : { _tag: "NotYaml", reason: error.message }
}

/** What the operator of a rendered chart reads at its start; nothing when it is no primary. */
export const configurationOf = (rendered: Rendered): Parameters<typeof parseFleetConfiguration>[0] | undefined => {
  const file = (variable: string): string | undefined => {
    const path = rendered.env[variable]
    return typeof path === "string" ? rendered.file(path.replace("/mirrord-config/", "")) : undefined
  }
  if (rendered.env["MIRRORD_MULTICLUSTER_CONFIG"] === undefined) return undefined
  return { multiCluster: documentOf(file("MIRRORD_MULTICLUSTER_CONFIG")), clusters: documentOf(file("MIRRORD_CLUSTERS_CONFIG")) }
}
