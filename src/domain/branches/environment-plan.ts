/**
 * The variables of a session that lead to its branches: what each has to hold instead of the source's address, made
 * once for a connection, and the change itself. A variable whose new value cannot be proved to lead to the branch is a
 * refusal, since the program would use the database of the target. Variables that name queues have their new values
 * already.
 *
 * Not here: the messages that carry the variables (environment-answers.ts), the form of addresses (branch-address.ts),
 * and the variables that the copy of a branch reads (source-environment.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { asObjects, asString, at, type JsonObject } from "../json.ts"
import { matchesGlob } from "../policies/glob.ts"
import type { Span } from "../regex.ts"
import { encoded, insistsOnTls, isUrlOf, leadsTo, mayStray, newUrl, rewrittenUrl, urlHost } from "./branch-address.ts"
import type { BranchRequest } from "./branch-request.ts"
import type { ValuePattern } from "./connection-source.ts"
import type { AddressForm, BranchAccess, BranchAddress } from "./dialect.ts"

/** The container's variables with values that refer to nothing, by name. The last entry of a name counts. */
export const literalVariables = (pod: JsonObject, container: string): ReadonlyMap<string, string> => {
  const found = asObjects(at(pod, "spec", "containers")).find(({ name }) => name === container)
  const entries = new Map(asObjects(found?.["env"]).map((entry) => [asString(entry["name"]), asString(entry["value"])]))
  return new Map(
    [...entries].flatMap(([name, value]) =>
      name === undefined || value === undefined || value.includes("$") ? [] : [[name, value] as const]
    )
  )
}

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
  /** The values of variables that name queues of the session. None of them is in `edits`. */
  readonly queues: ReadonlyMap<string, string>
}

const noBranches: EnvironmentPlan = { edits: new Map(), places: new Map(), named: new Set(), queues: new Map() }

/** The parts of a connection that say where the database is. */
const isPlace = (part: string): boolean => part === "url" || part === "host"

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
  return problem === undefined ? Result.succeed({ ...noBranches, edits, places, named }) : Result.fail(problem)
}

/**
 * The plan with the values of the variables that name queues of the session; `undefined` if no variable changes. The
 * failure is a sentence for the user.
 */
export const withQueues = (
  plan: EnvironmentPlan | undefined,
  queues: ReadonlyMap<string, string>
): Result.Result<EnvironmentPlan | undefined, string> => {
  const [shared] = [...(plan?.edits ?? [])].filter(([variable]) => queues.has(variable))
  if (shared === undefined) return Result.succeed(queues.size === 0 ? plan : { ...noBranches, ...plan, queues })
  const [variable, edits] = shared
  return Result.fail(
    `The variable ${variable} names a queue that is split, and is to hold ${edits.map(described).join(" and ")}: ` +
      "take either feature.split_queues out, or that branch out of feature.db_branches."
  )
}

/** The variables that a client asks for, by patterns; without `select` all of them. `filter` wins. */
export interface WantedVariables {
  readonly filter: ReadonlySet<string>
  readonly select: ReadonlySet<string>
}

export const everyVariable: WantedVariables = { filter: new Set(), select: new Set() }

/** A branch to which no variable leads. `places`: those that its connection names, none of which there is. */
export interface UnusedBranch {
  readonly branch: string
  readonly places: ReadonlyArray<string>
}

export interface RewrittenEnvironment {
  readonly variables: ReadonlyMap<string, string>
  /** The branches to which no variable leads, although the client asked for one that should. */
  readonly unused: ReadonlyArray<UnusedBranch>
}

const matchesAny = (patterns: ReadonlySet<string>, name: string): boolean =>
  [...patterns].some((pattern) => matchesGlob(pattern, name))

const isWanted = ({ filter, select }: WantedVariables, name: string): boolean =>
  !matchesAny(filter, name) && (select.size === 0 || matchesAny(select, name))

/** A text in the place of a span. */
interface Replacement extends Span {
  readonly edit: VariableEdit
  readonly text: string
}

/** The text of an edit inside of a value, which may be a URL. */
const inValue = ({ address, part }: VariableEdit, text: string, value: string): string => {
  if (part === "url" || !isUrlOf(address.form, value)) return text
  return part === "host" ? urlHost(text) : encoded(text)
}

const replacementOf = (value: string, edit: VariableEdit): Result.Result<ReadonlyArray<Replacement>, string> =>
  Result.gen(function* () {
    const { part, pattern } = edit
    const span = pattern?.find(value)
    if (span === undefined) {
      return yield* Result.fail(`does not hold what the pattern ${quoted(pattern?.text ?? "")} of its ${part} finds`)
    }
    if (isPlace(part) && span.start === span.end)
      return yield* Result.fail(`has no ${part} where its pattern finds one`)
    const text = yield* edit.text(value.slice(span.start, span.end))
    return text === undefined ? [] : [{ ...span, edit, text: inValue(edit, text, value) }]
  })

/** Whether a value that was changed in parts leads to the branch, as far as it can be read. */
const isProved = (value: string, { address, defaultPort }: VariableEdit): boolean =>
  !mayStray(address, value) && (!isUrlOf(address.form, value) || leadsTo(address, value, defaultPort))

/** All spans are those of the original value. */
const withParts = (value: string, edits: ReadonlyArray<VariableEdit>): Result.Result<string, string> =>
  Result.gen(function* () {
    const found = yield* Result.all(edits.map((edit) => replacementOf(value, edit)))
    const replacements = found.flat().sort((a, b) => a.start - b.start || a.end - b.end)
    let [text, end] = ["", 0]
    for (const replacement of replacements) {
      if (replacement.start < end) return yield* Result.fail("has patterns that find the same text")
      text += value.slice(end, replacement.start) + replacement.text
      end = replacement.end
    }
    text += value.slice(end)
    if (!edits.every((edit) => isProved(text, edit))) {
      return yield* Result.fail("still leads elsewhere with the parts that its patterns find")
    }
    const word = edits.flatMap(({ address: { form } }) => insistsOnTls(form, text) ?? [])[0]
    return word === undefined
      ? text
      : yield* Result.fail(`insists on TLS by ${word}, which is none of its parts, and the branch has none`)
  })

/** The new value of a variable; `undefined` if it is not set. */
const newValue = (
  value: string | undefined,
  edits: ReadonlyArray<VariableEdit>
): Result.Result<string | undefined, string> => {
  const whole = edits.find(({ isInjected, pattern }) => pattern === undefined && (value !== undefined || isInjected))
  if (whole !== undefined) return whole.text(value)
  return value === undefined ? Result.succeed(value) : withParts(value, edits)
}

/** The sentence of a refusal. It never quotes a value. */
const refusal = (variable: string, edits: ReadonlyArray<VariableEdit>, problem: string): string =>
  `The variable ${variable} cannot lead to branch ${edits[0]?.branch ?? ""}: it ${problem}.`

/** The variables as the session gets them. The failure is a sentence that names the variable. */
export const rewriteEnvironment = (
  { edits, places, queues }: EnvironmentPlan,
  variables: ReadonlyMap<string, string>,
  wanted: WantedVariables
): Result.Result<RewrittenEnvironment, string> => {
  const changed = new Map(variables)
  for (const [variable, value] of queues) {
    if (variables.has(variable) || isWanted(wanted, variable)) changed.set(variable, value)
  }
  for (const [variable, all] of edits) {
    const value = variables.get(variable)
    if (value === undefined && !isWanted(wanted, variable)) continue
    const rewritten = newValue(value, all)
    if (Result.isFailure(rewritten)) return Result.fail(refusal(variable, all, rewritten.failure))
    if (rewritten.success !== undefined) changed.set(variable, rewritten.success)
  }
  const unused = [...places].flatMap(([branch, names]): ReadonlyArray<UnusedBranch> => {
    const isAsked = names.length === 0 || names.some((name) => isWanted(wanted, name))
    return isAsked && !names.some((name) => changed.has(name)) ? [{ branch, places: names }] : []
  })
  return Result.succeed({ variables: changed, unused })
}
