/**
 * Reads which variables name a queue. A registry's entry is the same as a reference of a split config by other names.
 *
 * Not here: the variables of a workload (queue-variables.ts).
 */

import * as Result from "effect/Result"
import type { PatternCompiler, ValueForm, VariableSource } from "./split-configuration.ts"

/** A reference to variables as users write it; `null` counts as missing. */
export interface VariableReference {
  readonly env?: string | null | undefined
  readonly envLike?: string | null | undefined
  readonly containers?: ReadonlyArray<string> | null | undefined
  readonly fallback?: string | null | undefined
  readonly valuePattern?: string | null | undefined
  readonly valueSelector?: string | null | undefined
}

/** The program that takes every text of a JSON object. It needs no jq. */
export const everyText = ".[]"

const isGiven = (text: string | null | undefined): text is string =>
  text !== undefined && text !== null && text.trim() !== ""

const readForm = (
  where: string,
  { valuePattern, valueSelector }: VariableReference,
  { finder }: PatternCompiler
): Result.Result<ValueForm, string> => {
  if (isGiven(valuePattern) && isGiven(valueSelector)) {
    return Result.fail(`${where} has both valuePattern and valueSelector: keep the one that finds its name.`)
  }
  if (isGiven(valuePattern)) {
    return Result.mapBoth(finder(valuePattern, ["value"]), {
      onFailure: (problem) => `${where} has a valuePattern that cannot be used: ${problem}.`,
      onSuccess: (find) => ({ _tag: "Part", pattern: valuePattern, find })
    })
  }
  if (!isGiven(valueSelector)) return Result.succeed({ _tag: "Whole" })
  const program = valueSelector.trim()
  return Result.succeed(program === everyText ? { _tag: "JsonMap" } : { _tag: "Jq", program })
}

const readVariable = (
  where: string,
  { env, envLike, fallback }: VariableReference,
  { matcher }: PatternCompiler
): Result.Result<VariableSource["variable"], string> => {
  if (isGiven(env) === isGiven(envLike)) {
    const found = isGiven(env) ? "both a name and a pattern" : "neither a name nor a pattern"
    return Result.fail(`${where} has ${found} of its variable; it must have one of them.`)
  }
  if (isGiven(env)) return Result.succeed({ _tag: "Named", name: env, fallback: fallback ?? undefined })
  if (isGiven(fallback)) {
    return Result.fail(`${where} has a fallback for a pattern, which names no variable: name the variable itself.`)
  }
  const pattern = envLike ?? ""
  return Result.mapBoth(matcher(pattern), {
    onFailure: (problem) => `${where} has a pattern of variables that cannot be used: ${problem}.`,
    onSuccess: (matches) => ({ _tag: "Like", pattern, matches })
  })
}

/** Reads one reference. `where` names the queue and its object, at the beginning of the sentence of a refusal. */
export const readVariableSource = (
  where: string,
  reference: VariableReference,
  patterns: PatternCompiler
): Result.Result<VariableSource, string> =>
  Result.gen(function* () {
    const variable = yield* readVariable(where, reference, patterns)
    const form = yield* readForm(where, reference, patterns)
    const containers = reference.containers ?? []
    return { variable, form, containers: containers.length === 0 ? undefined : containers }
  })
