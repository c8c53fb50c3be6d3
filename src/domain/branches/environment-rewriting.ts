/**
 * Changes the variables of a session so that they lead to its branches. A variable whose new value cannot be proved to
 * lead there is a refusal, since the program would use the database of the target.
 *
 * Not here: which variables are changed (environment-plan.ts), and the messages that carry them
 * (environment-answers.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { matchesGlob } from "../policies/glob.ts"
import type { Span } from "../policies/regex.ts"
import { encoded, insistsOnTls, isUrlOf, leadsTo, mayStray, urlHost } from "./branch-address.ts"
import { type EnvironmentPlan, isPlace, type VariableEdit } from "./environment-plan.ts"

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
  { edits, places }: EnvironmentPlan,
  variables: ReadonlyMap<string, string>,
  wanted: WantedVariables
): Result.Result<RewrittenEnvironment, string> => {
  const changed = new Map(variables)
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
