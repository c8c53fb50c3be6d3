/**
 * The variables that change with a split: those that name queues, and those whose values refer to them. A value that
 * refers to a changed one follows it explicitly, since it would otherwise depend on the place of the entry, and a local
 * program gets values that the kubelet has already put together.
 *
 * Not here: the objects that carry the values. They write each with `literalValue`, in the place of the entry of its
 * name, or behind the others.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { containerEnvironment, type VariableValue } from "./container-environment.ts"
import type { QueuesOfVariable } from "./queue-references.ts"
import { templateContainersOf, type TemplateSource } from "./queue-variables.ts"

/** The new values by name of the variable, as a program reads them. */
export type VariableUpdates = ReadonlyMap<string, string>

/** The name of the temporary queue in place of a queue; `undefined` if it has none. */
export type TemporaryName = (reference: string) => string | undefined

/** The new value of a variable that names queues. */
const rewritten = (
  { container, references, variable, write }: QueuesOfVariable,
  temporaryName: TemporaryName
): Result.Result<readonly [string, string], string> => {
  const texts = references.map(({ renamed, text }) => {
    const name = temporaryName(text)
    return name === undefined
      ? Result.fail(
          `The queue ${quoted(text)}, which the variable ${quoted(variable)} of the container ${quoted(container)} ` +
            "names, has no temporary queue: the program would read the original. Start the session again."
        )
      : Result.succeed(renamed(name))
  })
  return Result.map(Result.all(texts), (all) => [variable, write(all)])
}

const textOf = (value: VariableValue | undefined): string | undefined =>
  value?._tag === "Known" ? value.text : undefined

/** The changes with the variables that refer to them. */
const withFollowers = (
  name: string,
  { configMaps, template }: TemplateSource,
  changes: VariableUpdates
): Result.Result<VariableUpdates, string> => {
  const container = new Map(templateContainersOf(template)).get(name) ?? {}
  const before = containerEnvironment(container, configMaps).variables
  // A value that a later one replaces is not changed, nor are those that refer to it.
  const change = (variable: string, text: string): string =>
    (text === textOf(before.get(variable)) ? changes.get(variable) : undefined) ?? text
  const updates = new Map(changes)
  for (const [variable, value] of containerEnvironment(container, configMaps, change).variables) {
    if (value._tag === "Known") {
      if (textOf(before.get(variable)) !== value.text) updates.set(variable, value.text)
      continue
    }
    const changed = [...value.refers].find((one) => updates.has(one))
    if (changed === undefined) continue
    return Result.fail(
      `The variable ${quoted(variable)} of the container ${quoted(name)} refers to $(${changed}), which names a ` +
        `queue, and ${value.why}: its new value is not known. Let it refer to values of the pod template alone.`
    )
  }
  return Result.succeed(updates)
}

/**
 * The updates of each container that names queues: for its pods with the names of the workload's temporary queues, for
 * a local program, which has the variables of one container, with those of its session. The failure is a sentence.
 */
export const environmentUpdates = (
  variables: ReadonlyArray<QueuesOfVariable>,
  source: TemplateSource,
  temporaryName: TemporaryName
): Result.Result<ReadonlyMap<string, VariableUpdates>, string> =>
  Result.gen(function* () {
    const updates = new Map<string, VariableUpdates>()
    for (const name of new Set(variables.map(({ container }) => container))) {
      const own = variables.filter(({ container }) => container === name)
      const changes = yield* Result.all(own.map((variable) => rewritten(variable, temporaryName)))
      updates.set(name, yield* withFollowers(name, source, new Map(changes)))
    }
    return updates
  })
