/**
 * The field selector of a list of sessions (operator-api.md §4.2): `spec.session.key=KEY`, as `mirrord session list
 * --key` sends it. A backslash before `\`, `,` or `=` takes their meaning away.
 *
 * Not here: the list.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"

const field = "spec.session.key"

/** The key that sessions are to have; `undefined` if any will do. The failure is a sentence. */
export const selectedKey = (selector: string | null): Result.Result<string | undefined, string> => {
  if (selector === null || selector === "") return Result.succeed(undefined)
  const value = /^spec\.session\.key==?((?:[^\\,=]|\\[\\,=])*)$/u.exec(selector)?.[1]
  return value === undefined
    ? Result.fail(`The field selector is ${quoted(selector)}; sessions are selected by ${field}=KEY alone.`)
    : Result.succeed(value.replaceAll(/\\(.)/gu, "$1"))
}
