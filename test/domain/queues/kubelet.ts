import fc from "fast-check"

/** An entry of `env` with a value. */
export interface Entry {
  readonly name: string
  readonly value: string
}

/** An object of `envFrom` with its data. */
export interface MapEntry {
  readonly prefix: string
  readonly data: Readonly<Record<string, string>>
}

/** A container in small, of whose variables many refer to each other. */
export interface SmallContainer {
  readonly env: ReadonlyArray<Entry>
  readonly maps: ReadonlyArray<MapEntry>
}

const names = fc.constantFrom("A", "B", "C", "PA")
const words = fc.constantFrom("orders", "-", "$$", "$", "$(A)", "$(B)", "$(C)", "$(PA)", "$$(A)", "$(", ")")
const values = fc.array(words, { maxLength: 4 }).map((all) => all.join(""))

export const smallContainer: fc.Arbitrary<SmallContainer> = fc.record({
  env: fc.array(fc.record({ name: names, value: values }), { maxLength: 5 }),
  maps: fc.array(fc.record({ prefix: fc.constantFrom("", "P"), data: fc.dictionary(names, values, { maxKeys: 2 }) }), {
    maxLength: 2
  })
})

/** The container as Kubernetes has it, and the ConfigMaps that it reads. */
export const objectsOfContainer = ({ env, maps }: SmallContainer) => ({
  container: { env, envFrom: maps.map(({ prefix }, index) => ({ prefix, configMapRef: { name: `map${index}` } })) },
  configMaps: new Map(maps.map(({ data }, index) => [`map${index}`, data]))
})

/** The text sign by sign. A reference to a variable that is not there stays, and so does one around another. */
const expand = (text: string, scope: ReadonlyMap<string, string>): string => {
  let made = ""
  for (let at = 0; at < text.length; at++) {
    const [sign = "", next] = text.slice(at)
    const end = text.indexOf(")", at)
    if (sign !== "$") made += sign
    else if (next === "$") {
      made += "$"
      at++
    } else if (next === "(" && end > at + 2 && !text.slice(at + 2, end).includes("$")) {
      const name = text.slice(at + 2, end)
      made += scope.get(name) ?? `$(${name})`
      at = end
    } else made += sign
  }
  return made
}

/** The variables that a program gets. */
export const kubeletVariables = ({ env, maps }: SmallContainer): ReadonlyMap<string, string> => {
  const scope = new Map<string, string>()
  for (const { data, prefix } of maps) for (const [key, value] of Object.entries(data)) scope.set(prefix + key, value)
  for (const { name, value } of env) scope.set(name, expand(value, scope))
  return scope
}
