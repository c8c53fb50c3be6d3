/**
 * The variables of a workload's containers that name its queues. A variable that cannot be read is a refusal: the
 * program would go on reading the original queue.
 *
 * Not here: the queues inside of a value (queue-references.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { asObjects, asString, at, type JsonObject } from "../json.ts"
import { isInfraContainer } from "../targets/container-choice.ts"
import { type ConfigMaps, type ContainerEnvironment, containerEnvironment } from "./container-environment.ts"
import type { ConfiguredQueue, SplitConfiguration, ValueForm, VariableSource } from "./split-configuration.ts"

/** A variable of a container that names queues. */
export interface QueueVariable {
  /** The id of its queue in the configuration. */
  readonly id: string
  readonly container: string
  readonly variable: string
  /** Its value before the split, or the fallback where the template has none. */
  readonly value: string
  readonly form: ValueForm
}

/** A pod template, and the ConfigMaps of its namespace. */
export interface TemplateSource {
  readonly template: JsonObject
  readonly configMaps: ConfigMaps
}

interface Container {
  readonly name: string
  readonly environment: ContainerEnvironment
  /** Whether a configuration that names no containers means it. */
  readonly isUsual: boolean
}

/** All containers of a pod template by name. */
export const templateContainersOf = (template: JsonObject): ReadonlyArray<readonly [string, JsonObject]> =>
  ["containers", "initContainers"].flatMap((field) =>
    asObjects(at(template, "spec", field)).map((one) => [asString(one["name"]) ?? "", one] as const)
  )

const containersOf = ({ configMaps, template }: TemplateSource): ReadonlyArray<Container> => {
  const beginning = new Set(
    asObjects(at(template, "spec", "initContainers")).filter(({ restartPolicy }) => restartPolicy !== "Always")
  )
  return templateContainersOf(template).map(([name, container]) => ({
    name,
    environment: containerEnvironment(container, configMaps),
    // An init container that ends reads no queue while the workload runs.
    isUsual: !isInfraContainer(name) && !beginning.has(container)
  }))
}

const listed = (texts: ReadonlyArray<string>): string => texts.map(quoted).join(", ")

/** The containers that a source means, which must exist where it names them. */
const meantContainers = (
  where: string,
  { containers: names }: VariableSource,
  all: ReadonlyArray<Container>
): Result.Result<ReadonlyArray<Container>, string> => {
  if (names === undefined) return Result.succeed(all.filter(({ isUsual }) => isUsual))
  const unknown = names.find((name) => !all.some((container) => container.name === name))
  return unknown === undefined
    ? Result.succeed(all.filter(({ name }) => names.includes(name)))
    : Result.fail(
        `${where} names the container ${quoted(unknown)}, which the workload does not have; it has ` +
          `${listed(all.map(({ name }) => name))}.`
      )
}

const absent = (where: string, { variable }: VariableSource, containers: ReadonlyArray<Container>): string => {
  const what =
    variable._tag === "Named" ? `the variable ${quoted(variable.name)}` : `a variable like ${quoted(variable.pattern)}`
  const unread = [...new Set(containers.flatMap(({ environment }) => environment.unread))]
  const names =
    containers.length === 0 ? "any container" : `the container ${listed(containers.map(({ name }) => name))}`
  const hidden = unread.length === 0 ? "" : `; the operator does not see whether it is in ${unread.join(" or ")}`
  return (
    `${where} needs ${what}, which the pod template and its ConfigMaps do not set in ${names}${hidden}. Set it ` +
    "there: one that the image sets cannot be changed."
  )
}

/** A variable with its value, or the reason why it has none that can be read. */
const readValue = (where: string, container: Container, name: string): Result.Result<string, string> => {
  const value = container.environment.variables.get(name)
  if (value?._tag === "Known") return Result.succeed(value.text)
  return Result.fail(
    `${where} cannot be split: the variable ${quoted(name)} of the container ${quoted(container.name)} ` +
      `${value?.why ?? "is not set"}. Set it as a value of the pod template, or in a ConfigMap.`
  )
}

const variablesOf = (
  where: string,
  id: string,
  source: VariableSource,
  all: ReadonlyArray<Container>
): Result.Result<ReadonlyArray<QueueVariable>, string> =>
  Result.gen(function* () {
    const { containers, form, variable } = source
    const meant = yield* meantContainers(where, source, all)
    const fits = (name: string) => (variable._tag === "Named" ? name === variable.name : variable.matches(name))
    const found: Array<QueueVariable> = []
    const lacking: Array<Container> = []
    for (const container of meant) {
      const names = [...container.environment.variables.keys()].filter(fits)
      if (names.length === 0) lacking.push(container)
      for (const name of names) {
        const value = yield* readValue(where, container, name)
        found.push({ id, container: container.name, variable: name, value, form })
      }
    }
    // Of containers that are not named one with the variable is enough.
    if (found.length > 0 && (containers === undefined || lacking.length === 0)) return found
    if (variable._tag === "Like" || variable.fallback === undefined || meant.length === 0) {
      return yield* Result.fail(absent(where, source, lacking))
    }
    const { fallback: value, name } = variable
    return [...found, ...lacking.map((container) => ({ id, container: container.name, variable: name, value, form }))]
  })

/** Whether two claims of a variable change it in the same way. JSON leaves the compiled patterns out. */
const isSame = (a: QueueVariable, b: QueueVariable): boolean =>
  a.id === b.id && a.value === b.value && JSON.stringify(a.form) === JSON.stringify(b.form)

/** The variables without repetitions. Two queues, or two forms, cannot share one: the last would win. */
const unshared = (
  origin: string,
  variables: ReadonlyArray<QueueVariable>
): Result.Result<ReadonlyArray<QueueVariable>, string> => {
  const claims = new Map<string, QueueVariable>()
  for (const variable of variables) {
    const key = `${variable.container}/${variable.variable}`
    const claim = claims.get(key) ?? variable
    if (!isSame(claim, variable)) {
      const { id } = variable
      const queues = claim.id === id ? `${quoted(id)} in two ways` : `both ${quoted(claim.id)} and ${quoted(id)}`
      return Result.fail(
        `${origin} claims the variable ${quoted(variable.variable)} of the container ${quoted(variable.container)} ` +
          `for ${queues}: let one queue have it.`
      )
    }
    claims.set(key, claim)
  }
  return Result.succeed([...claims.values()])
}

/** The variables of all queues of a configuration. The failure is a sentence that names queue and variable. */
export const queueVariables = (
  { origin, queues }: Pick<SplitConfiguration, "origin"> & { readonly queues: ReadonlyArray<ConfiguredQueue> },
  source: TemplateSource
): Result.Result<ReadonlyArray<QueueVariable>, string> => {
  const containers = containersOf(source)
  const found = queues.flatMap(({ id, sources }) =>
    sources.map((one) => variablesOf(`The queue ${quoted(id)} of ${origin}`, id, one, containers))
  )
  return Result.flatMap(Result.all(found), (all) => unshared(origin, all.flat()))
}
