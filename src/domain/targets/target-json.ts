/**
 * Reads and writes a target as objects hold it: an object with the kind as its key (operator-api.md §9.2).
 *
 * Not here: the text forms of a target (target-path.ts).
 */

import * as Result from "effect/Result"
import { asString, isObject } from "../json.ts"
import { parseTargetName } from "./target-path.ts"
import { type Target, type TargetKind, targetKinds } from "./target.ts"

/** The keys that differ from the kind in a target path. */
const otherKeys: Readonly<Partial<Record<TargetKind, string>>> = {
  cronjob: "cron_job",
  statefulset: "stateful_set",
  replicaset: "replica_set"
}

const keyOf = (kind: TargetKind): string => otherKeys[kind] ?? kind

const textMap = (value: unknown): Readonly<Record<string, string>> | undefined =>
  isObject(value) && Object.values(value).every((text) => typeof text === "string")
    ? (value as Readonly<Record<string, string>>)
    : undefined

const usage = `it must be null or an object with one of the keys ${targetKinds.map(keyOf).join(", ")} or labels`

/** `null` is targetless. Fails with a sentence without its full stop. */
export const parseTargetJson = (value: unknown): Result.Result<Target, string> => {
  if (value === null || value === undefined) return Result.succeed({ _tag: "Targetless" })
  if (!isObject(value)) return Result.fail(usage)
  const container = value["container"] ?? undefined
  if (container !== undefined && typeof container !== "string") return Result.fail("its container must be a text")
  const keys = Object.keys(value).filter((key) => key !== "container")
  const [key = ""] = keys
  if (keys.length !== 1) return Result.fail(usage)
  if (key === "labels") {
    const labels = textMap(value["labels"])
    return labels === undefined
      ? Result.fail("its labels must be texts")
      : Result.mapError(parseTargetName("label", { labels, container }), ({ message }) => message)
  }
  const kind = targetKinds.find((known) => keyOf(known) === key)
  const name = asString(value[key])
  if (kind === undefined || name === undefined) return Result.fail(usage)
  const suffix = container === undefined ? "" : `.container.${container}`
  return Result.mapError(parseTargetName(`${kind}.${name}${suffix}`), ({ message }) => message)
}

/** The form that {@link parseTargetJson} reads. */
export const targetJson = (target: Target): object | null => {
  if (target._tag === "Targetless") return null
  const { container = null } = target
  if (target._tag === "Workload") return { [keyOf(target.kind)]: target.name, container }
  return { labels: target.labels, ...(container === null ? {} : { container }) }
}
