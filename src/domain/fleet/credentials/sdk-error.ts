/**
 * Errors of a cloud's SDK as parts of our sentences, without secrets.
 *
 * Not here: what they mean (eks-failure.ts, aks-failure.ts).
 */

import { quotation } from "../../clean-text.ts"

/** An error of a cloud's SDK or of the system. */
export interface SdkError {
  /** Such as `AccessDenied`, the code of STS, or `ENOENT`, the code of the system. */
  readonly name: string
  readonly message: string
}

/** Longest message of an SDK that is looked at, UTF-16 code units. */
const longest = 2_000

/** JWTs, keys and session tokens. A path has a dot and an ARN a colon before it is so long. */
const isSecret = (word: string): boolean => word.startsWith("eyJ") || word.split(".").some(({ length }) => length >= 40)

/** The text with `…` for each word that may be a token or a key. */
export const withoutSecrets = (text: string): string =>
  text
    .slice(0, longest)
    .split(/([^\w+/=.-])/u)
    .map((word) => (isSecret(word) ? "…" : word))
    .join("")

/** Name and message in parentheses. Errors of the system begin their message with their name. */
export const detailOf = ({ message, name }: SdkError): string => {
  const words = message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message
  return `(${quotation(withoutSecrets(name))}: ${quotation(withoutSecrets(words))})`
}
