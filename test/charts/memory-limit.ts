import { defaults } from "./chart-values.ts"
import { at } from "./json.ts"

/** The chart's limit of the operator's memory, in bytes. */
export const memoryLimit =
  Number(/^(\d+)Mi$/u.exec(String(at(defaults, "operator", "limits", "memory")))?.[1]) * 1024 * 1024
