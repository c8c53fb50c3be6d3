/**
 * Says which Secrets a branch may name as its source: those that the target's own containers read, key by key. The
 * right to order branches is none to read other Secrets.
 *
 * Not here: Secrets with values of the user's own, of which a branch gets its own alone (app/branches).
 */

import { quoted } from "../clean-text.ts"
import { asObjects, asString, at, type JsonObject } from "../json.ts"
import { isCredentialsSecret } from "./branch-credentials.ts"
import { type Connection, fieldOf, type ValueSource } from "./connection-source.ts"

type SecretSource = ValueSource & { readonly _tag: "Secret" }

/** The containers that run as long as the pod does. Others may have rights that the program never has. */
const lastingContainers = (template: JsonObject): ReadonlyArray<JsonObject> => [
  ...asObjects(at(template, "spec", "containers")),
  ...asObjects(at(template, "spec", "initContainers")).filter(({ restartPolicy }) => restartPolicy === "Always")
]

/** Whether a volume's list of keys has a key; without a list it has all. */
const hasItem = (items: unknown, key: string): boolean => {
  const listed = asObjects(items)
  return listed.length === 0 || listed.some((item) => item["key"] === key)
}

/** Whether a volume holds a key of a Secret. */
const holdsKey = (volume: JsonObject, { key, name }: SecretSource): boolean => {
  const { projected, secret } = volume
  return (
    (at(secret, "secretName") === name && hasItem(at(secret, "items"), key)) ||
    asObjects(at(projected, "sources")).some(
      (source) => at(source, "secret", "name") === name && hasItem(at(source, "secret", "items"), key)
    )
  )
}

/** Whether a container of the pod template reads a key of a Secret. */
const isRead = (template: JsonObject, source: SecretSource): boolean => {
  const { key, name } = source
  const holding = asObjects(at(template, "spec", "volumes")).filter((volume) => holdsKey(volume, source))
  const volumes = new Set(holding.map((volume) => asString(volume["name"])))
  return lastingContainers(template).some(({ env, envFrom, volumeMounts }) => {
    const references = asObjects(env).map((entry) => at(entry, "valueFrom", "secretKeyRef"))
    return (
      references.some((reference) => at(reference, "name") === name && at(reference, "key") === key) ||
      asObjects(envFrom).some((entry) => at(entry, "secretRef", "name") === name) ||
      asObjects(volumeMounts).some((mount) => volumes.has(asString(mount["name"])))
    )
  })
}

/** Why a branch of a target may not be made of its sources; `undefined` if it may. A sentence for the user. */
export const secretProblem = (connection: Connection, template: JsonObject): string | undefined => {
  for (const [part, sources] of connection) {
    for (const source of sources) {
      if (source._tag !== "Secret" || isCredentialsSecret(source.name) || isRead(template, source)) continue
      return (
        `${fieldOf(part)} names the key ${quoted(source.key)} of the Secret ${quoted(source.name)}, which no ` +
        "container of the target reads: name one that its pod template has in env, envFrom or a mounted volume, or " +
        "bring the value itself."
      )
    }
  }
  return undefined
}
