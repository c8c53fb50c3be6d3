/**
 * Variables of containers whose values the kubelet reads from a file of a volume, which another container of the same
 * pod has written there: `env[].valueFrom.fileKeyRef`, of Kubernetes 1.34 and newer. No other pod has that file.
 *
 * Not here: the consequences for copies, branches and agents.
 */

import { asString, at, type JsonObject } from "./json.ts"

/** Whether an entry of `env` has its value from a file of its pod. */
export const isFromFile = (entry: JsonObject): boolean =>
  (at(entry, "valueFrom", "fileKeyRef") ?? undefined) !== undefined

/** The name of the first such variable. */
export const firstFromFile = (env: ReadonlyArray<JsonObject>): string | undefined => {
  const entry = env.find(isFromFile)
  return entry && (asString(entry["name"]) ?? "")
}
