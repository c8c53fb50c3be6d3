/**
 * Changes the content of `clusters-config.yaml` by one entry, and leaves all others as they are.
 *
 * Not here: reading the entries (fleet/parse-members.ts), and the text of the file.
 */

import { asArray, asObject, at, isObject, type JsonObject } from "../../json.ts"

const withEntries = (value: unknown, change: (entries: ReadonlyArray<unknown>) => ReadonlyArray<unknown>) => ({
  ...asObject(value),
  clusters: change(asArray(at(value, "clusters")))
})

/** The list with an entry at its end. */
export const withEntry = (value: unknown, entry: JsonObject): JsonObject =>
  withEntries(value, (entries) => [...entries, entry])

/** The list without the entries of this name. */
export const withoutEntry = (value: unknown, name: string): JsonObject =>
  withEntries(value, (entries) => entries.filter((entry) => !isObject(entry) || entry["name"] !== name))
