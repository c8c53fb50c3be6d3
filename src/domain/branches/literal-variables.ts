/**
 * The variables of a container whose values stand in its pod. Those from Secrets and ConfigMaps are not read.
 *
 * Not here: the variables that the copy of a branch reads (source-environment.ts).
 */

import { asObjects, asString, at, type JsonObject } from "../json.ts"

/** The container's variables with values that refer to nothing, by name. The last entry of a name counts. */
export const literalVariables = (pod: JsonObject, container: string): ReadonlyMap<string, string> => {
  const found = asObjects(at(pod, "spec", "containers")).find(({ name }) => name === container)
  const entries = new Map(asObjects(found?.["env"]).map((entry) => [asString(entry["name"]), asString(entry["value"])]))
  return new Map(
    [...entries].flatMap(([name, value]) =>
      name === undefined || value === undefined || value.includes("$") ? [] : [[name, value] as const]
    )
  )
}
