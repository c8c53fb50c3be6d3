/**
 * The texts of a connect request beside its parameters: refused where they are no names, cut where they are only shown.
 *
 * Not here: the parameters (connect-request.ts), and whether the target is one (target/target-path.ts).
 */

import * as Result from "effect/Result"
import { cleanText, quoted, textLimits } from "../clean-text.ts"
import { isDnsLabel } from "../fleet/cluster-name.ts"

/** Texts that a client chooses. */
export interface ConnectTexts {
  readonly namespace: string
  /** The target as the URL names it. */
  readonly target: string
  readonly clientVersion: string | undefined
  readonly clientName: string | undefined
  readonly clientHostname: string | undefined
}

const name = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : cleanText(text, textLimits.name)

/**
 * The request with texts that may be stored and shown; what a real client sends stays byte for byte. The failure is a
 * sentence for the user.
 */
export const boundedTexts = <R extends ConnectTexts>(request: R): Result.Result<R, string> => {
  const { clientHostname, clientName, clientVersion, namespace, target } = request
  if (!isDnsLabel(namespace)) {
    return Result.fail(
      `The namespace ${quoted(namespace)} cannot be one: a namespace has 1 to 63 lower-case letters, digits and ` +
        "hyphens, and no hyphen at its ends."
    )
  }
  if (target.length > textLimits.targetName) {
    return Result.fail(
      `The target ${quoted(target)} has ${target.length} characters; at most ${textLimits.targetName} are taken.`
    )
  }
  return Result.succeed({
    ...request,
    clientVersion: name(clientVersion),
    clientName: name(clientName),
    clientHostname: name(clientHostname)
  })
}
