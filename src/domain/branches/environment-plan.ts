/**
 * Says which variables of a session lead to its branches, and what each of them has to hold instead of the source's
 * address. Made once for a connection; the variables themselves come later.
 *
 * Not here: changing the variables (environment-rewriting.ts), and the form of addresses (branch-address.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { newUrl, rewrittenUrl } from "./branch-address.ts"
import type { BranchRequest } from "./branch-request.ts"
import type { ValuePattern } from "./connection-source.ts"
import type { AddressForm, BranchAccess, BranchAddress } from "./dialect.ts"

/** A branch to which a session leads. */
export interface SessionBranch {
  /** The name of its object. */
  readonly name: string
  readonly request: Pick<BranchRequest, "connection" | "dialect" | "queryParameters">
  readonly access: BranchAccess
}

/** The change of one variable for one part of a branch's connection. */
export interface VariableEdit {
  readonly branch: string
  readonly part: string
  readonly address: BranchAddress
  /** Port of the engine where an address has none. */
  readonly defaultPort: number
  /** The part of the variable that is changed; `undefined` if all of it is. */
  readonly pattern: ValuePattern | undefined
  /** Whether the variable is set where the target has none. */
  readonly isInjected: boolean
  /**
   * The text in the place of another, or of none. `undefined` if there is none to be set. The failure goes on after
   * "The variable … ".
   */
  readonly text: (old: string | undefined) => Result.Result<string | undefined, string>
}

/** The changes of a session's variables. */
export interface EnvironmentPlan {
  readonly edits: ReadonlyMap<string, ReadonlyArray<VariableEdit>>
  /** The variables that say where the database is, by branch. */
  readonly places: ReadonlyMap<string, ReadonlyArray<string>>
  /** All variables that the connections of the branches name, also those that stay as they are. */
  readonly named: ReadonlySet<string>
}

/** The parts of a connection that say where the database is. */
export const isPlace = (part: string): boolean => part === "url" || part === "host"

/** A text that is more than a name may hold the source's address. */
const databaseName = /^[^:/@=?&;]*$/u

const textOf = (part: string, address: BranchAddress): VariableEdit["text"] => {
  const { database, form, host, password, port, query, user } = address
  const always = (text: string) => () => Result.succeed(text)
  switch (part) {
    case "url":
      return (old) => (old === undefined ? Result.succeed(newUrl(address)) : rewrittenUrl(address, old))
    case "host":
      return always(host)
    case "port":
      return (old) => Result.succeed(String(form.portFor?.("", old?.trim() ?? "") ?? port))
    case "user":
      return always(user)
    case "password":
      return always(Redacted.value(password))
    case "database":
      if (database !== undefined) return always(database)
      return (old) =>
        old === undefined || databaseName.test(old)
          ? Result.succeed(old)
          : Result.fail("holds more than the name of a database")
    default: {
      const own = query[part] ?? (Object.hasOwn(form.own, part) ? form.own[part] : undefined)
      return own === undefined ? () => Result.fail("is of a part that a branch does not have") : always(own)
    }
  }
}

/** Variables of a login stay as they are where a branch asks for none. */
const isLeft = (part: string, { hasNoLogin }: AddressForm): boolean =>
  hasNoLogin === true && (part === "user" || part === "password")

const editsOf = ({
  access,
  name,
  request: { connection, dialect, queryParameters }
}: SessionBranch): ReadonlyArray<readonly [variable: string, edit: VariableEdit]> => {
  const address = { ...access, form: dialect.address, query: queryParameters }
  return [...connection].flatMap(([part, sources]) => {
    if (isLeft(part, address.form)) return []
    const text = textOf(part, address)
    return sources.flatMap((source): ReadonlyArray<readonly [string, VariableEdit]> => {
      if (source.variable === undefined) return []
      const pattern = source._tag === "Pattern" ? source.pattern : undefined
      // Without a login programs find the source even where no variable says so.
      const isInjected = source._tag === "Secret" || (part === "url" && address.form.hasNoLogin === true)
      const edit = { branch: name, part, address, defaultPort: dialect.port, pattern, isInjected, text }
      return [[source.variable, edit]]
    })
  })
}

const described = ({ branch, part }: VariableEdit): string => `the ${part} of branch ${branch}`

/** Why the changes of a variable cannot all be made; `undefined` if they can. */
const problemOf = (variable: string, edits: ReadonlyArray<VariableEdit>): string | undefined => {
  const whole = edits.find(({ pattern }) => pattern === undefined)
  const other = edits.find(
    ({ branch, part, pattern }) =>
      whole !== undefined && (pattern !== undefined || branch !== whole.branch || part !== whole.part)
  )
  return whole === undefined || other === undefined
    ? undefined
    : `The variable ${variable} is declared twice: as ${described(whole)} and as ${described(other)}. ` +
        "Declare it once, or both parts by patterns."
}

/** The plan for all branches of a session. The failure is a sentence for the user. */
export const environmentPlan = (branches: ReadonlyArray<SessionBranch>): Result.Result<EnvironmentPlan, string> => {
  const edits = new Map<string, ReadonlyArray<VariableEdit>>()
  const places = new Map<string, Array<string>>(branches.map(({ name }) => [name, []]))
  for (const [variable, edit] of branches.flatMap(editsOf)) {
    edits.set(variable, [...(edits.get(variable) ?? []), edit])
    if (isPlace(edit.part)) places.get(edit.branch)?.push(variable)
  }
  const named = new Set(
    branches
      .flatMap(({ request }) => [...request.connection.values()].flat())
      .flatMap((source) => source.variable ?? [])
  )
  const problem = [...edits].map(([variable, all]) => problemOf(variable, all)).find((found) => found !== undefined)
  return problem === undefined ? Result.succeed({ edits, places, named }) : Result.fail(problem)
}
