/**
 * Errors of SQS and of its SDK as those of the port. They are told apart by their names: texts and codes differ between
 * servers.
 *
 * An error's words are quoted only where they can hold neither a message nor a credential: SQS repeats values that it
 * refuses, and an answer about a signature repeats the request.
 */

import type { BatchResultErrorEntry } from "@aws-sdk/client-sqs"
import { quotation } from "../../domain/clean-text.ts"
import { detailOf, withoutSecrets } from "../../domain/fleet/credentials/sdk-error.ts"
import { asNumber, at } from "../../domain/json.ts"
import { type FailedEntry, QueueError, type QueueErrorReason } from "../../ports/message-queues.ts"
import { NoIdentityError } from "./no-identity-error.ts"

/** Names of refusals of the identity itself, whatever is asked for. */
const ofIdentity = /Signature|Token|^InvalidAccessKeyId$|^UnrecognizedClient/u

/** The first that fits counts (AWS, common errors and errors of each action). */
const reasons: ReadonlyArray<readonly [RegExp, QueueErrorReason]> = [
  [/^QueueDoesNotExist$|NonExistentQueue$/u, "NoQueue"],
  [/^QueueDeletedRecently$/u, "DeletedRecently"],
  [/^QueueNameExists$|^QueueAlreadyExists$/u, "OtherAttributes"],
  [/^ReceiptHandleIsInvalid$|^MessageNotInflight$/u, "InvalidHandle"],
  [/Throttl|^OverLimit$|^TooManyRequests|^RequestLimitExceeded$/u, "Throttled"],
  [/AccessDenied|^NotAuthorized$|^AuthFailure$|OptInRequired$|^InvalidSecurity$/u, "Denied"],
  [ofIdentity, "Denied"],
  [/^Internal|^ServiceUnavailable|^ServiceFailure|Timeout/u, "Unavailable"],
  [/^Invalid|^Missing|^Validation|Batch|UnsupportedOperation$|TooLong$/u, "Invalid"]
]

/** By the name of an error, or the code of an entry; `isOfServer` decides where the name says too little. */
const reasonOf = (operation: string, name: string, isOfServer: boolean): QueueErrorReason => {
  const [, reason = isOfServer ? "Unavailable" : "Other"] = reasons.find(([pattern]) => pattern.test(name)) ?? []
  // A handle that is out of date may be a parameter whose value is invalid, without a name of its own.
  return operation === "DeleteMessageBatch" && reason === "Invalid" ? "InvalidHandle" : reason
}

/** Calls that carry no message. */
const withoutMessages = new Set(["GetQueueUrl", "GetQueueAttributes", "ListQueueTags", "CreateQueue", "DeleteQueue"])

/** A name or a code of a server. */
const shown = (name: string): string => quotation(withoutSecrets(name))

const isQuoted = (operation: string, name: string): boolean =>
  !ofIdentity.test(name) && (withoutMessages.has(operation) || name.startsWith("AccessDenied"))

/** In parentheses, why there is no answer of SQS: no connection, another protocol, a body other than its checksum. */
const unanswered = (error: Error, status: number | undefined): string => {
  if (status !== undefined && "$fault" in error) return `HTTP ${status}`
  return "code" in error && typeof error.code === "string" ? error.code : error.name
}

const described = (operation: string, cause: unknown): Pick<QueueError, "detail" | "reason"> => {
  const error = cause instanceof Error ? cause : new Error(String(cause))
  const { message, name } = error
  if (error instanceof NoIdentityError) return { reason: "Denied", detail: message }
  if (message === "Region is missing")
    return { reason: "Other", detail: "the AWS region is not known: set AWS_REGION for the operator" }
  const status = "$metadata" in error ? asNumber(at(error.$metadata, "httpStatusCode")) : undefined
  // The SDK's name for an answer without a name.
  if (!("$fault" in error) || name === "Unknown") {
    return { reason: "Unavailable", detail: `SQS gave no answer that can be used (${unanswered(error, status)})` }
  }
  const words = isQuoted(operation, name) ? detailOf({ name, message }) : `(${shown(name)})`
  return { reason: reasonOf(operation, name, (status ?? 0) >= 500), detail: `SQS refuses it ${words}` }
}

/** The failure of a call of the SDK. `queue`: its URL, or its name. */
export const sqsFailure = (operation: string, queue: string, cause: unknown): QueueError =>
  new QueueError({ operation, queue, ...described(operation, cause) })

/** Whether the identity itself is refused, which the SDK would go on to use. */
export const isOfIdentity = (cause: unknown): boolean => cause instanceof Error && ofIdentity.test(cause.name)

/** The failure of an entry of a batch. Old codes have a prefix, `AWS.SimpleQueueService.`. */
export const failedEntry =
  (operation: string) =>
  ({ Code = "", Id = "", SenderFault }: BatchResultErrorEntry): FailedEntry => ({
    Id,
    reason: reasonOf(operation, Code, SenderFault === false),
    detail: `SQS refuses it (${shown(Code)})`
  })
