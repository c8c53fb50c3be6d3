/**
 * Keeps the parts of one connection on one side: a server that the user names by values of their own never gets a login
 * of the target's.
 *
 * Not here: which Secrets of the target a branch may name (source-secrets.ts).
 */

import { isCredentialsSecret } from "./branch-credentials.ts"
import { type Connection, fieldOf, type ValueSource } from "./connection-source.ts"

/** The copy reads the first source of a part. */
const firstOf = (connection: Connection, part: string): ValueSource | undefined => connection.get(part)?.[0]

const isOwn = (source: ValueSource): boolean => source._tag === "Secret" && isCredentialsSecret(source.name)

/**
 * The parts that say where the server is. All others are sent there, the name of the database as well. A server of the
 * target's may get any value of the user's.
 */
const places = ["host", "port"]

/** Why the parts of a connection may not be used together; `undefined` if they may. A sentence for the user. */
export const sidesProblem = (connection: Connection): string | undefined => {
  const find = (parts: Iterable<string>, own: boolean): string | undefined =>
    [...parts].find((part) => {
      const source = firstOf(connection, part)
      return source !== undefined && isOwn(source) === own
    })
  const place = find(places, true)
  const other = find(connection.keys(), false)
  if (place === undefined || other === undefined) return undefined
  return (
    `${fieldOf(place)} is a value of your own, and the ${other} is the target's, which a server of your choice would ` +
    `get: take the ${place} from the target as well, or bring all parts as values of your own.`
  )
}
